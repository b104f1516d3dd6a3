//! Keys go only to their own upstream.

use belay_proxy::{Auth, UpstreamConfig};

use crate::support::{bench, bench_with, ok, post};

#[tokio::test]
async fn a_redirect_is_the_clients_business() {
    let bench = bench().await;
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = bench.client().await;
    client.send("GET /v1/models HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer sk-client\r\n\r\n").await;
    let mut upstream = bench.accept().await;
    upstream.read_head().await;
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n",
        elsewhere.local_addr().unwrap()
    );
    upstream.send(&answer).await;
    assert_eq!(client.read_head().await, answer);
    // The next request goes to the same upstream, and no other got a connection.
    client.send(post("/v1/responses", "next")).await;
    upstream.read_to("next").await;
    elsewhere.into_std().unwrap().accept().expect_err("the redirect was followed");
}

#[tokio::test]
async fn a_request_that_would_come_back_to_us_is_refused() {
    let bench = bench().await;
    let url = format!("http://{}/openai", bench.address);
    bench.relay.begin_run("codex:r-1", &[UpstreamConfig::new("openai", url)]).unwrap();
    let mut client = bench.client().await;
    client.send(post("/s/codex:r-1/openai/v1/responses", "x")).await;
    let (status, error) = client.complaint().await;
    assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 502 Bad Gateway", &"upstream_is_belay".into()));
}

#[tokio::test]
async fn no_page_in_a_browser_asks_with_a_configured_key() {
    let bench = bench_with(|config| config.upstreams[0].auth = Auth::bearer("sk-ours")).await;
    for lines in [
        "Host: 127.0.0.1:8787\r\nOrigin: https://evil.example\r\n",
        "Host: localhost:8787\r\nOrigin: null\r\n",
        "Host: rebound.evil.example:8787\r\n",
        "Host: [::1].evil.example\r\n",
        "Host: localhost:8787\r\nOrigin: http://localhost:3000\r\n",
        "Host: 127.0.0.1\r\nOrigin: http://[::1]:1\r\n",
        "Host: 127.0.0.1:8787\r\nSec-Fetch-Site: cross-site\r\n",
        "Host: localhost:8787\r\nSec-Fetch-Site: same-site\r\n",
    ] {
        let mut client = bench.client().await;
        client.send(format!("POST /v1/responses HTTP/1.1\r\n{lines}Content-Length: 2\r\n\r\n{{}}")).await;
        let (status, error) = client.complaint().await;
        assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 403 Forbidden", &"browser_origin".into()), "{lines}");
    }
    for lines in [
        "Host: localhost:8787\r\nOrigin: http://localhost:8787\r\nSec-Fetch-Site: same-origin\r\n",
        "Host: [::1]:8787\r\n",
        "Host: 127.0.0.1\r\nSec-Fetch-Site: none\r\n",
    ] {
        let mut client = bench.client().await;
        client.send(format!("GET /v1/models HTTP/1.1\r\n{lines}\r\n")).await;
        assert!(bench.accept().await.read_head().await.contains("authorization: Bearer sk-ours"), "{lines}");
    }
    // A page with its own key does not use the configured one.
    let mut client = bench.client().await;
    client.send("GET /anthropic/v1/models HTTP/1.1\r\nHost: h\r\nOrigin: https://a.example\r\n\r\n").await;
    bench.accept().await.read_head().await;
}

#[tokio::test]
async fn a_path_cannot_leave_the_base_path_of_its_upstream() {
    let bench = bench().await;
    bench.relay.begin_run("codex:r-1", &[]).unwrap();
    for path in [
        "/openai/../admin",
        "/openai/v1/../../admin",
        "/openai/v1/models/..",
        "/openai/%2e%2e/admin",
        "/openai/.%2E/admin",
        "/openai/v1%2f..%2f..%2fadmin",
        "/openai/v1%2F%2e%2e/x",
        "/openai/v1\\..\\admin",
        "/openai/..;a=b/admin",
        "/s/codex:r-1/openai/../admin",
        "/v1/responses/../../admin",
    ] {
        let mut client = bench.client().await;
        client.send(post(path, "{}")).await;
        let (status, error) = client.complaint().await;
        assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 400 Bad Request", &"parent_segment".into()), "{path}");
    }
    for path in ["/openai/v1/files/a..b", "/openai/v1/%2e/x", "/openai/v1/...", "/openai/v1/x?up=/../y"] {
        let mut client = bench.client().await;
        client.send(post(path, "{}")).await;
        let relayed = bench.accept().await.read_head().await;
        assert!(relayed.starts_with(&format!("POST {path} ")), "{relayed}");
    }
}

#[tokio::test]
async fn no_page_in_a_browser_speaks_for_a_session() {
    let bench = bench().await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"metadata":{"session_id":"s"}}"#;
    let origins = [
        ("https://evil.example", false),
        ("http://evil.example:8787", false),
        ("http://localhost.evil.example", false),
        ("null", false),
        ("http://localhost:3000", true),
        ("http://127.0.0.1:8787", true),
        ("vscode-webview://1a2b", true),
    ];
    for (index, (origin, _)) in origins.iter().enumerate() {
        let mut client = bench.client().await;
        let lines = format!("Origin: {origin}\r\nX-Loop-Session: s{index}\r\nContent-Length");
        client.send(post("/openai/v1/chat/completions", body).replace("Content-Length", &lines)).await;
        let mut upstream = bench.accept().await;
        assert!(upstream.read_to(body).await.contains(origin), "it passes with whatever it brings");
        upstream.send(ok("{}").replacen("\r\n", "\r\nContent-Type: application/json\r\n", 1)).await;
        client.read_to("{}").await;
    }
    let received = origins.iter().enumerate().filter(|(_, (_, received))| *received);
    let sessions: Vec<String> = received.map(|(index, _)| format!("s{index}")).collect();
    let asked = |event: &&belay_core::Event| matches!(event.body, belay_core::Body::ModelAsked(_));
    let events = bench.judge.wait_for_events(|events| events.iter().filter(asked).count() >= sessions.len()).await;
    let known: Vec<&str> = events.iter().filter(asked).map(|event| &*event.session.id).collect();
    assert_eq!(known, sessions);
}

#[tokio::test]
async fn a_key_of_one_provider_is_not_given_to_another() {
    let anthropic = UpstreamConfig::new("anthropic", "https://api.anthropic.com");
    let bench = bench_with(|config| config.upstreams = vec![anthropic]).await;
    let mut client = bench.client().await;
    for (query, key) in [
        ("", "Authorization: Bearer sk-proj-1"),
        ("", "authorization: bearer sk-svcacct-1"),
        ("", "X-Api-Key: sk-or-1"),
        ("", "api-key: sk-proj-1"),
        ("", "x-goog-api-key: AIzaX"),
        ("?alt=sse&key=AIzaX", "X-Other: AIzaX"),
    ] {
        let head = format!("POST /v1/messages{query} HTTP/1.1\r\nHost: h\r\n{key}\r\nContent-Length: 2");
        client.send(format!("{head}\r\n\r\n{{}}")).await;
        let (status, error) = client.complaint().await;
        assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 400 Bad Request", &"foreign_key".into()));
        assert!(!error.to_string().contains(key.rsplit(' ').next().unwrap()), "the key is repeated: {error}");
    }
}

#[tokio::test]
async fn no_key_is_recorded_whichever_header_carries_it() {
    let bench = bench().await;
    let names = ["Authorization", "X-Api-Key", "x-goog-api-key", "api-key", "Cookie", "chatgpt-account-id"];
    for (index, name) in names.iter().enumerate() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"tools":[1]}"#;
        let mut client = bench.client().await;
        client
            .send(format!(
                "POST /openai/v1/chat/completions HTTP/1.1\r\nHost: h\r\nX-Session-Id: ses_{index}\r\nUser-Agent: opencode/1\r\n{name}: very-secret\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ))
            .await;
        let mut upstream = bench.accept().await;
        assert!(upstream.read_head().await.contains("very-secret"));
        upstream.read_to(body).await;
        upstream.send(ok("{}").replacen("\r\n", "\r\nContent-Type: application/json\r\n", 1)).await;
        client.read_to("{}").await;
    }
    let asked = |event: &belay_core::Event| matches!(event.body, belay_core::Body::ModelAsked(_));
    let events =
        bench.judge.wait_for_events(|events| events.iter().filter(|event| asked(event)).count() == names.len()).await;
    assert!(!serde_json::to_string(&events).unwrap().contains("very-secret"));
}
