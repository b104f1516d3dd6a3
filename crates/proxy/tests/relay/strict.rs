//! Ambiguous input of peers, and its strict handling.

use std::time::Duration;

use belay_core::Verdict;

use crate::support::{bench, bench_with, ok, post};

#[tokio::test]
async fn a_wish_for_another_version_of_http_is_not_passed_on() {
    // Some clients send this with the first request to a plain http URL; an upstream that accepted it would bypass the
    // inspection.
    let bench = bench().await;
    let mut client = bench.client().await;
    let wish = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQ\r\n";
    client.send(post("/v1/responses", "{}").replace("Content-Length", &format!("{wish}Content-Length"))).await;
    let mut upstream = bench.accept().await;
    let head = upstream.read_to("\r\n\r\n{}").await.to_ascii_lowercase();
    assert!(!head.contains("upgrade") && !head.contains("http2"), "{head}");
    upstream.send(ok("fine")).await;
    assert!(client.read_to("fine").await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn another_protocol_that_nobody_asked_for_is_garbage() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/embeddings", "{}")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("{}").await;
    upstream.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: own\r\n\r\n").await;
    let (status, error) = client.complaint().await;
    assert_eq!(
        (status.as_str(), &error["code"]),
        ("HTTP/1.1 502 Bad Gateway", &"upstream_invalid_response".into()),
        "{error}"
    );
    upstream.closed().await;
    // The next request does not go to that connection.
    client.send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n").await;
    assert!(client.complaint().await.0.contains("404"));
}

#[tokio::test]
async fn an_upstream_that_never_gets_to_the_point_is_given_up() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/embeddings", "{}")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("{}").await;
    let flood = tokio::spawn(async move {
        let hint = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "x".repeat(8000));
        while tokio::io::AsyncWriteExt::write_all(&mut upstream.0, hint.as_bytes()).await.is_ok() {}
    });
    let all = client.read_to("\"type\":\"error\"}").await;
    assert!(all.contains("103 Early Hints") && all.contains("upstream_invalid_response"), "{}", all.len());
    flood.await.unwrap();
}

#[tokio::test]
async fn an_old_client_gets_one_answer_and_the_end_of_its_connection() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("POST /v1/embeddings HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}").await;
    let mut upstream = bench.accept().await;
    let head = upstream.read_to("\r\n\r\n{}").await;
    assert!(head.starts_with("POST /openai/v1/embeddings HTTP/1.0\r\n") && !head.contains("eep-alive"), "{head}");
    upstream.send(ok("fine")).await;
    let answer = client.read_all().await;
    assert!(answer.ends_with("fine") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn answers_without_a_body_leave_the_connection_open() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let mut upstream = None;
    for status in ["204 No Content", "304 Not Modified"] {
        client.send("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        let mut peer = match upstream.take() {
            Some(peer) => peer,
            None => bench.accept().await,
        };
        peer.read_head().await;
        peer.send(format!("HTTP/1.1 {status}\r\nETag: \"x\"\r\nContent-Length: 5\r\n\r\n")).await;
        assert!(client.read_head().await.contains(status));
        upstream = Some(peer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_sends_what_it_promised_is_answered_and_let_go() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf").await;
    let answer = tokio::time::timeout(Duration::from_secs(120), client.read_all()).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_held_client_that_never_sends_what_it_promised_is_let_go() {
    let bench = bench_with(|config| config.hold = Duration::from_secs(45)).await;
    let (incident, reason) = ("inc-1".to_owned(), "It loops.".to_owned());
    bench.judge.rule("opencode:ses_1", Verdict::Hold { incident, reason, until: None, plan_required: false });
    let mut client = bench.client().await;
    let opencode = "User-Agent: opencode/1.18.33 x\r\nX-Session-Id: ses_1\r\nContent-Length: 1000";
    client.send(post("/v1/chat/completions", "half").replace("Content-Length: 4", opencode)).await;
    let answer = tokio::time::timeout(Duration::from_secs(3600), client.read_all()).await.expect("an end");
    assert_eq!(answer, "", "nobody knows what it would have asked");
}

#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_is_not_awaited() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let since = tokio::time::Instant::now();
    for byte in "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow:".bytes() {
        client.send([byte]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(client.read_all().await, "");
    assert!(since.elapsed() < Duration::from_secs(60), "{:?}", since.elapsed());
}
