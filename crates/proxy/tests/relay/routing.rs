//! Routing of requests.

use belay_proxy::{AllowAll, Auth, Config, Relay, UpstreamConfig};

use crate::support::{bench, bench_with, post};

/// The target of a request to `path` as the upstream receives it.
async fn arrives(path: &str, line: &str) -> String {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{line}\r\n")).await;
    let head = bench.accept().await.read_head().await;
    head.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn the_upstream_follows_from_prefix_path_or_header() {
    for (path, line, arrived) in [
        ("/v1/messages?beta=true", "", "/anthropic/v1/messages?beta=true"),
        ("/v1/messages/count_tokens", "", "/anthropic/v1/messages/count_tokens"),
        ("/v1/responses", "", "/openai/v1/responses"),
        ("/v1/chat/completions", "", "/openai/v1/chat/completions"),
        ("/v1beta/models/g:streamGenerateContent?alt=sse", "", "/gemini/v1beta/models/g:streamGenerateContent?alt=sse"),
        ("/v1/models/g:generateContent?key=k", "", "/gemini/v1/models/g:generateContent?key=k"),
        ("/v1/models/g:countTokens", "", "/gemini/v1/models/g:countTokens"),
        ("/v1/models/ft:gpt-4o:org::id", "", "/openai/v1/models/ft:gpt-4o:org::id"),
        ("/v1/models", "", "/openai/v1/models"),
        ("/v1/models", "Anthropic-Version: 2023-06-01\r\n", "/anthropic/v1/models"),
        ("/anthropic/v1/responses", "", "/anthropic/v1/responses"),
        ("/gemini/anything?x=/openai/", "", "/gemini/anything?x=/openai/"),
        ("/s/run-1/v1/responses", "", "/openai/v1/responses"),
        ("/s/run-1/anthropic/api/hello", "", "/anthropic/api/hello"),
        ("/s/run-1/codex/responses", "", "/openai/v1/responses"),
        ("/s/run-1/codex/responses", "ChatGPT-Account-Id: a\r\n", "/chatgpt/responses"),
        ("/v1/responses", "ChatGPT-Account-Id: a\r\n", "/chatgpt/responses"),
    ] {
        assert_eq!(arrives(path, line).await, arrived, "{path} {line}");
    }
}

#[tokio::test]
async fn our_own_paths_are_ours() {
    for path in ["/", "/healthz", "/readyz", "/metrics", "/api", "/api/sessions", "/v1/watchdog", "/v1/watchdog/events"]
    {
        let bench = bench().await;
        let mut client = bench.client().await;
        client.send(post(path, "{}")).await;
        assert!(client.read_all().await.ends_with(&format!("ours: {path}")), "{path}");
    }
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(client.read_all().await.ends_with("ours: /style.css"));
}

#[tokio::test]
async fn a_path_of_nobody_is_answered_with_what_would_work() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/chat/completions", "")).await;
    let (status, error) = client.complaint().await;
    assert_eq!(status, "HTTP/1.1 404 Not Found");
    assert!(error["message"].as_str().unwrap().contains("/openai/, /anthropic/, /gemini/"), "{error}");
}

#[tokio::test]
async fn a_request_through_us_as_a_web_proxy_is_refused() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("CONNECT api.openai.com:443 HTTP/1.1\r\nHost: api.openai.com\r\n\r\n").await;
    let (_, error) = client.complaint().await;
    assert!(error["message"].as_str().unwrap().contains("not as HTTP_PROXY"), "{error}");
}

#[tokio::test]
async fn a_configured_key_goes_to_its_own_upstream_only() {
    let bench = bench_with(|config| config.upstreams[0].auth = Auth::bearer("sk-ours")).await;
    let mut client = bench.client().await;
    client.send("GET /v1/models HTTP/1.1\r\nHost: localhost:8787\r\nAuthorization: Bearer sk-client\r\n\r\n").await;
    let mut upstream = bench.accept().await;
    let head = upstream.read_head().await;
    assert!(head.contains("authorization: Bearer sk-ours") && !head.contains("sk-client"), "{head}");
    upstream.send(crate::support::ok("")).await;
    client.read_head().await;
    client.send("GET /anthropic/v1/models HTTP/1.1\r\nHost: h\r\nX-Api-Key: sk-client\r\n\r\n").await;
    let head = bench.accept().await.read_head().await;
    assert!(head.contains("X-Api-Key: sk-client") && !head.contains("sk-ours"), "{head}");
}

/// Why an upstream is refused, if it is.
fn refusal(upstream: UpstreamConfig) -> Option<String> {
    let config = Config { upstreams: vec![upstream], ..Config::default() };
    let relay = Relay::new(&config, std::sync::Arc::new(Nobody), std::sync::Arc::new(AllowAll));
    relay.err().map(|error| error.to_string())
}

#[test]
fn names_and_keys_that_could_not_work_are_refused_with_a_reason() {
    for (name, fits) in
        [("lab", true), ("my-gateway.2", true), ("v1", false), ("api", false), ("a/b", false), ("", false)]
    {
        let refused = refusal(UpstreamConfig::new(name, "https://x.example"));
        assert_eq!(refused.is_none(), fits, "{name}: {refused:?}");
    }
    for (name, value, fits) in [
        ("x-api-key", "sk-secret", true),
        ("x api key", "sk-secret", false),
        ("", "sk-secret", false),
        ("x-api-key", "sk-secret\r\nx-more: 1", false),
        ("x-api-key", " ", false),
    ] {
        let auth = Auth::Header { name: name.to_owned(), value: value.to_owned() };
        let refused = refusal(UpstreamConfig { auth, ..UpstreamConfig::new("lab", "https://x.example") });
        assert_eq!(refused.is_none(), fits, "{name}: {refused:?}");
        assert!(!refused.unwrap_or_default().contains("secret"), "the key is repeated");
    }
}

#[test]
fn upstreams_that_would_leak_keys_are_refused_with_a_reason() {
    let refusal = |url: &str| refusal(UpstreamConfig::new("x", url));
    for (url, reason) in [
        ("http://models.example.com/v1", "in clear"),
        ("http://192.168.1.7:11434", "in clear"),
        ("http://169.254.169.254/latest", "no model API lives"),
        ("https://[fd00:ec2::254]/", "no model API lives"),
        ("https://[::ffff:169.254.169.254]/", "no model API lives"),
        ("https://0.0.0.0/", "no model API lives"),
        ("https://168.63.129.16/", "no model API lives"),
        ("https://100.100.100.200/", "no model API lives"),
        ("https://user:secret@example.com", "must not contain credentials"),
        ("ftp://example.com", "must start with https:// or http://"),
        ("https://", "host is missing"),
        ("https://example.com:99999", "port is not a number"),
        ("https://example.com/?key=1", "must not have a query"),
        ("https://exa mple.com", "characters that are not allowed in URLs"),
    ] {
        let refusal = refusal(url).unwrap_or_else(|| panic!("{url} was accepted"));
        assert!(refusal.contains(reason), "{url}: {refusal}");
        assert!(!refusal.contains("secret"), "{refusal}");
    }
    for url in ["http://localhost:11434", "http://127.0.0.1:1/v1/", "http://[::1]:8080", "https://api.example.com/base"]
    {
        assert_eq!(refusal(url), None, "{url}");
    }
}

struct Nobody;

impl belay_proxy::LocalService for Nobody {
    fn serve(
        &self,
        _: belay_proxy::PrefixedIo,
        _: belay_net::PeerUser,
    ) -> std::pin::Pin<Box<dyn std::future::Future<Output = Option<belay_proxy::PrefixedIo>> + Send>> {
        Box::pin(async { None })
    }
}

#[tokio::test]
async fn a_run_asks_the_upstream_its_user_had_chosen() {
    let bench = bench().await;
    let own = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/gateway", own.local_addr().unwrap());
    bench.relay.begin_run("claude-code:r-1", &[UpstreamConfig::new("anthropic", url)]).unwrap();
    let mut client = bench.client().await;
    let request = "POST /s/claude-code:r-1/anthropic/v1/messages HTTP/1.1\r\nHost: h\r\nX-Claude-Code-Session-Id: s-1\r\nContent-Length: 2\r\n\r\n{}";
    client.send(request).await;
    let (io, _) = own.accept().await.unwrap();
    assert!(crate::support::Peer(io).read_head().await.starts_with("POST /gateway/v1/messages "));
    assert_eq!(bench.relay.run_session("claude-code:r-1").unwrap().to_string(), "claude-code:s-1");
    let mut other = bench.client().await;
    other.send(request.replace("r-1", "r-2")).await;
    assert!(bench.accept().await.read_head().await.starts_with("POST /anthropic/v1/messages "));
}
