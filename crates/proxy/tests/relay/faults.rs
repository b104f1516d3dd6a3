//! Failing upstreams and disconnecting clients.

use std::time::Duration;

use belay_proxy::UpstreamConfig;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::support::{bench, bench_with, ok, post};

#[tokio::test]
async fn an_upstream_that_is_down_is_named_and_the_connection_goes_on() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let bench = bench_with(|config| config.upstreams.push(UpstreamConfig::new("down", format!("http://{free}")))).await;
    let mut client = bench.client().await;
    client.send(post("/down/v1/responses", "question")).await;
    let (status, error) = client.complaint().await;
    assert_eq!(status, "HTTP/1.1 502 Bad Gateway");
    assert_eq!(error["code"], "upstream_refused");
    assert_eq!(
        error["message"],
        format!(
            "Belay could not get an answer from http://{free}: {free} refused the connection; is the server running?."
        )
    );
    client.send(post("/v1/responses", "next")).await;
    bench.accept().await.read_to("next").await;
}

#[tokio::test]
async fn an_upstream_that_hangs_up_without_a_word_is_reported() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("x").await;
    drop(upstream);
    let (status, error) = client.complaint().await;
    assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 502 Bad Gateway", &"upstream_closed".into()));
}

#[tokio::test]
async fn a_reset_before_the_answer_is_reported_and_one_within_it_is_passed_on() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("x").await;
    upstream.reset();
    let (status, error) = client.complaint().await;
    assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 502 Bad Gateway", &"upstream_closed".into()));
    client.send(post("/v1/responses", "y")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("y").await;
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").await;
    client.read_to("half").await;
    upstream.reset();
    assert_eq!(client.read_all().await, "", "nothing is made up");
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_recorded_once() {
    let bench = bench().await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"tools":[1]}"#;
    let ask = post("/v1/chat/completions", body).replacen("\r\n", "\r\nX-Loop-Session: s\r\n", 1);
    let answer = ok(r#"{"id":"c-1","choices":[]}"#).replacen("\r\n", "\r\nContent-Type: application/json\r\n", 1);
    let mut client = bench.client().await;
    client.send(&ask).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(body).await;
    upstream.send(&answer).await;
    client.read_exactly(answer.len()).await;
    // The pooled connection accepts the next request and is closed before a response.
    client.send(&ask).await;
    upstream.read_to(body).await;
    drop(upstream);
    let mut upstream = bench.accept().await;
    upstream.read_to(body).await;
    upstream.send(answer.replace("c-1", "c-2")).await;
    client.read_exactly(answer.len()).await;
    let answered = |event: &belay_core::Event| event.body.kind() == "model_answered";
    let events = bench.judge.wait_for_events(|events| events.iter().filter(|event| answered(event)).count() == 2).await;
    let kinds: Vec<_> = events.iter().map(|event| event.body.kind()).collect();
    assert_eq!(
        kinds,
        ["session_started", "model_asked", "prompt", "model_answered", "model_asked", "model_answered"],
        "the prompt once, each question once"
    );
}

#[tokio::test]
async fn a_client_that_leaves_while_we_connect_is_let_go() {
    // The listener never accepts: the kernel establishes the connection, and the handshake hangs.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", silent.local_addr().unwrap());
    let bench = bench_with(|config| config.upstreams.push(UpstreamConfig::new("silent", url))).await;
    let mut client = bench.client().await;
    client.send(post("/silent/v1/responses", "x")).await;
    let mut upstream = crate::support::Peer(silent.accept().await.unwrap().0);
    drop(client);
    upstream.closed().await;
}

#[tokio::test]
async fn garbage_is_not_passed_on() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("x").await;
    upstream.send("SSH-2.0-OpenSSH_9.2\r\n\r\n").await;
    let (status, error) = client.complaint().await;
    assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 502 Bad Gateway", &"upstream_invalid_response".into()));
}

#[tokio::test]
async fn an_answer_that_breaks_off_breaks_off_for_the_client_too() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("x").await;
    upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal").await;
    assert!(client.read_to("hal").await.starts_with("HTTP/1.1 200 OK"));
    drop(upstream);
    assert_eq!(client.read_all().await, "");
}

#[tokio::test]
async fn an_upstream_that_stalls_is_given_up_after_the_configured_time() {
    let bench = bench_with(|config| config.upstreams[0].quiet = Duration::from_secs(1)).await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let _upstream = bench.accept().await;
    let (status, error) = client.complaint().await;
    assert_eq!(status, "HTTP/1.1 504 Gateway Timeout");
    assert!(error["message"].as_str().unwrap().contains("sent nothing for 1 s"), "{error}");
}

#[tokio::test]
async fn a_client_that_leaves_while_it_waits_ends_the_request_upstream() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("x").await;
    drop(client);
    upstream.closed().await;
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_ends_the_answer_upstream() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("x").await;
    upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n").await;
    client.read_to("hello\r\n").await;
    drop(client);
    upstream.closed().await;
}

#[tokio::test]
async fn a_client_that_leaves_while_it_sends_ends_the_request_upstream() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("POST /v1/responses HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf").await;
    let mut upstream = bench.accept().await;
    upstream.read_to("half").await;
    drop(client);
    upstream.closed().await;
}

#[tokio::test]
async fn a_pooled_connection_that_the_upstream_closed_costs_nobody_a_failure() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "one")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("one").await;
    upstream.send(ok("first")).await;
    client.read_to("first").await;
    // The upstream reads the next request and closes the connection instead of responding.
    client.send(post("/v1/responses", "two")).await;
    upstream.read_to("two").await;
    drop(upstream);
    let mut second = bench.accept().await;
    second.read_to("two").await;
    second.send(ok("second")).await;
    assert!(client.read_to("second").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_slow_reader_holds_up_the_upstream_instead_of_filling_memory() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("x").await;
    upstream.send("HTTP/1.1 200 OK\r\n\r\n").await;
    // Write until nothing moves any more: sockets and one buffer are full, the client has read nothing.
    let piece = vec![b'x'; 1024 * 1024];
    let mut sent = 0;
    while let Ok(n) = tokio::time::timeout(Duration::from_millis(500), upstream.0.write(&piece)).await {
        sent += n.unwrap();
        assert!(sent < 100 * 1024 * 1024, "the relay takes everything in");
    }
    assert!(bench.relay.bytes_buffered() <= 256 * 1024, "{} bytes buffered", bench.relay.bytes_buffered());
    drop(upstream);
    assert_eq!(client.read_all().await.bytes().filter(|byte| *byte == b'x').count(), sent);
}

#[tokio::test]
async fn a_body_that_breaks_its_framing_is_refused() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("POST /v1/responses HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello").await;
    let (status, error) = client.complaint().await;
    assert_eq!(status, "HTTP/1.1 400 Bad Request");
    assert!(error["message"].as_str().unwrap().contains("chunk size"), "{error}");
    client.closed().await;
}

#[tokio::test]
async fn a_head_that_is_no_http_is_refused() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("\x16\x03\x01\x02\x00\x01").await;
    assert_eq!(client.complaint().await.0, "HTTP/1.1 400 Bad Request");
    client.closed().await;
}
