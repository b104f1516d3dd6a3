//! Byte-for-byte relaying.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{bench, bench_with, ok, post};

#[tokio::test]
async fn request_and_answer_pass_byte_for_byte() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client
        .send("POST /v1/responses HTTP/1.1\r\nHost: localhost:8787\r\nauthorization: Bearer k\r\nX-Odd:  Spacing \r\nContent-Length: 16\r\n\r\n{\"a\" : 1.0e3  }\n")
        .await;
    let mut upstream = bench.accept().await;
    let host = bench.upstream.local_addr().unwrap();
    assert_eq!(
        upstream.read_head().await,
        format!(
            "POST /openai/v1/responses HTTP/1.1\r\nHost: {host}\r\nauthorization: Bearer k\r\nX-Odd:  Spacing \r\nContent-Length: 16\r\n\r\n"
        )
    );
    assert_eq!(upstream.read_exactly(16).await, b"{\"a\" : 1.0e3  }\n");
    let answer = "HTTP/1.1 201 Made It\r\nX-Request-Id: 7\r\nContent-Length: 5\r\n\r\n\x00bin\x7f";
    upstream.send(answer).await;
    assert_eq!(client.read_exactly(answer.len()).await, answer.as_bytes());
}

#[tokio::test]
async fn chunked_bodies_keep_chunks_extensions_and_trailers_both_ways() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let body = "5;ext=1\r\nhello\r\n00A\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n";
    client.send(format!("POST /v1/responses HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{body}")).await;
    let mut upstream = bench.accept().await;
    upstream.read_head().await;
    assert_eq!(upstream.read_exactly(body.len()).await, body.as_bytes());
    let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n{body}");
    upstream.send(&answer).await;
    assert_eq!(client.read_exactly(answer.len()).await, answer.as_bytes());
    // Both connections are used again.
    client.send(post("/v1/responses", "again")).await;
    upstream.read_to("again").await;
}

#[tokio::test]
async fn an_answer_arrives_as_it_is_made() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/chat/completions", "{}")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("{}").await;
    upstream.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    client.read_head().await;
    for part in ["8\r\ndata: 1\n\r\n", "9\r\n\ndata: 22\r\n", "2\r\n\n\n\r\n"] {
        // Each part arrives before the next one is sent.
        upstream.send(part).await;
        assert_eq!(client.read_exactly(part.len()).await, part.as_bytes());
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send([post("/v1/responses", "one"), post("/v1/responses", "two")].concat()).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("one").await;
    upstream.send(ok("1")).await;
    upstream.read_to("two").await;
    upstream.send(ok("2")).await;
    assert_eq!(client.read_exactly(2 * ok("1").len()).await, [ok("1"), ok("2")].concat().as_bytes());
}

#[tokio::test]
async fn a_client_that_waits_for_a_go_ahead_gets_the_upstreams() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("POST /v1/responses HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n").await;
    let mut upstream = bench.accept().await;
    assert!(upstream.read_head().await.contains("Expect: 100-continue"));
    upstream.send("HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(client.read_head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("body").await;
    upstream.read_to("body").await;
    upstream.send(ok("fine")).await;
    assert_eq!(client.read_to("fine").await, ok("fine"));
}

#[tokio::test]
async fn an_upstream_that_refuses_before_the_end_of_the_body_is_heard() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("POST /v1/responses HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nbeginning").await;
    let mut upstream = bench.accept().await;
    upstream.read_to("beginning").await;
    upstream.send("HTTP/1.1 413 Too Much\r\nContent-Length: 4\r\n\r\nstop").await;
    assert_eq!(client.read_to("stop").await, "HTTP/1.1 413 Too Much\r\nContent-Length: 4\r\n\r\nstop");
    client.closed().await;
}

#[tokio::test]
async fn another_protocol_is_relayed_both_ways() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client
        .send("GET /openai/v1/realtime HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        .await;
    let mut upstream = bench.accept().await;
    let head = upstream.read_head().await;
    assert!(head.contains("\r\nUpgrade: websocket\r\n") && head.contains("\r\nconnection: upgrade\r\n"), "{head}");
    upstream.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nearly").await;
    let head = client.read_head().await;
    assert!(head.contains("\r\nUpgrade: websocket\r\n") && head.contains("\r\nconnection: upgrade\r\n"), "{head}");
    assert_eq!(client.read_exactly(5).await, b"early");
    client.send([1, 2, 3]).await;
    assert_eq!(upstream.read_exactly(3).await, [1, 2, 3]);
    upstream.send([4, 5]).await;
    assert_eq!(client.read_exactly(2).await, [4, 5]);
}

#[tokio::test]
async fn a_socket_that_would_carry_turns_is_declined_unless_the_user_wants_it() {
    let upgrade = "GET /v1/responses HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let strict = bench().await;
    let mut client = strict.client().await;
    client.send(upgrade).await;
    assert_eq!(client.complaint().await.0, "HTTP/1.1 426 Upgrade Required");
    let open = bench_with(|config| config.sockets = true).await;
    let mut client = open.client().await;
    client.send(upgrade).await;
    assert!(open.accept().await.read_head().await.contains("Upgrade: websocket"));
}

#[tokio::test]
async fn a_head_request_has_no_body_to_wait_for() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send("HEAD /v1/models HTTP/1.1\r\nHost: h\r\n\r\n").await;
    let mut upstream = bench.accept().await;
    upstream.read_head().await;
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n").await;
    client.read_head().await;
    client.send(post("/v1/responses", "next")).await;
    upstream.read_to("next").await;
}

#[tokio::test]
async fn an_answer_without_marks_ends_with_the_connection() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(post("/v1/responses", "x")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("x").await;
    upstream.send("HTTP/1.0 200 OK\r\n\r\nuntil the end").await;
    drop(upstream);
    assert_eq!(client.read_all().await, "HTTP/1.0 200 OK\r\nconnection: close\r\n\r\nuntil the end");
}

/// Pseudo-random bytes, so that a shifted or repeated piece cannot go unnoticed.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Sends `body` up and down at the same time and checks that it arrives.
async fn there_and_back(inspected: usize) {
    let bench = bench_with(|config| config.inspected = inspected).await;
    let body = noise(80 * 1024 * 1024);
    let client = bench.client().await;
    let (mut read, mut write) = client.0.into_split();
    let sender = {
        let body = body.clone();
        tokio::spawn(async move {
            write
                .write_all(
                    format!("POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(),
                )
                .await
                .unwrap();
            write.write_all(&body).await.unwrap();
            write
        })
    };
    let mut upstream = bench.accept().await;
    upstream.read_head().await;
    assert!(upstream.read_exactly(body.len()).await == body);
    let _open = sender.await.unwrap();
    let back = body.clone();
    tokio::spawn(async move {
        upstream.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", back.len())).await;
        upstream.send(&back).await;
        upstream
    });
    let mut answer = vec![0; "HTTP/1.1 200 OK\r\nContent-Length: 83886080\r\n\r\n".len() + body.len()];
    read.read_exact(&mut answer).await.unwrap();
    assert!(answer.ends_with(&body));
}

#[tokio::test]
async fn a_large_body_that_is_kept_passes_unchanged() {
    there_and_back(128 * 1024 * 1024).await;
}

#[tokio::test]
async fn a_large_body_that_is_not_kept_passes_unchanged() {
    there_and_back(1024 * 1024).await;
}
