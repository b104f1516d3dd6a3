//! Load: long streams, many streams, small pieces, little memory.

use std::sync::Arc;
use std::time::Duration;

use belay_core::{Body, Event};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Barrier;

use crate::support::{Bench, Peer, bench, bench_with, ok, post};

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A request of an agent that sends session ids.
fn ask(session: usize) -> String {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"tools":[1]}"#;
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nUser-Agent: opencode/1\r\nX-Session-Id: ses_{session}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The usage of a stream, from its events.
fn answers(events: &[Event]) -> Vec<(String, u64)> {
    let answer = |event: &Event| match &event.body {
        Body::ModelAnswered(answer) => Some((event.session.id.to_string(), answer.usage?.output)),
        _ => None,
    };
    events.iter().filter_map(answer).collect()
}

#[tokio::test]
async fn idle_connections_give_way_and_busy_ones_do_not() {
    let bench = bench_with(|config| config.max_connections = 4).await;
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(bench.client().await);
    }
    let mut busy = Vec::new();
    for session in 0..4 {
        let mut client = bench.client().await;
        client.send(ask(session)).await;
        let mut upstream = bench.accept().await;
        upstream.read_to(r#""tools":[1]}"#).await;
        busy.push((client, upstream));
    }
    for client in &mut idle {
        client.closed().await;
    }
    let mut late = bench.client().await;
    let (status, error) = late.complaint().await;
    assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 503 Service Unavailable", &"too_many_connections".into()));
    late.closed().await;
    for (client, upstream) in &mut busy {
        upstream.send(ok("{}")).await;
        client.read_to("{}").await;
    }
    let mut next = bench.client().await;
    next.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n").await;
    assert!(next.read_all().await.ends_with("ours: /healthz"));
}

#[tokio::test]
async fn a_stream_that_is_cut_at_any_byte_arrives_whole_and_is_understood() {
    let bench = bench().await;
    let answer = [
        STREAM,
        &chunk("data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\r\n\r\n"),
        &chunk("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,"),
        &chunk("\"completion_tokens\":7}}\n\ndata: [DONE]\n\n"),
        "0\r\n\r\n",
    ]
    .concat();
    let mut client = bench.client().await;
    let mut upstream: Option<Peer> = None;
    for cut in 1..answer.len() {
        client.send(ask(cut)).await;
        if upstream.is_none() {
            upstream = Some(bench.accept().await);
        }
        let upstream = upstream.as_mut().unwrap();
        upstream.read_to(r#""tools":[1]}"#).await;
        upstream.send(&answer[..cut]).await;
        // Received bytes are relayed without waiting for more, once the head is complete.
        if cut > STREAM.len() {
            assert_eq!(client.read_exactly(cut).await, answer.as_bytes()[..cut]);
            upstream.send(&answer[cut..]).await;
            assert_eq!(client.read_exactly(answer.len() - cut).await, answer.as_bytes()[cut..]);
        } else {
            upstream.send(&answer[cut..]).await;
            assert_eq!(client.read_exactly(answer.len()).await, answer.as_bytes());
        }
    }
    let events = bench.judge.wait_for_events(|events| answers(events).len() >= answer.len() - 1).await;
    let mut received = answers(&events);
    received.sort();
    received.dedup();
    assert_eq!(received.len(), answer.len() - 1, "each once");
    assert!(received.iter().all(|(_, output)| *output == 7));
}

/// Sends `total` bytes of a response through the relay in pieces and monitors its buffered bytes.
async fn pour(bench: &Bench, head: String, piece: Vec<u8>, total: usize) -> usize {
    let mut client = bench.client().await;
    client.send(ask(1)).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(r#""tools":[1]}"#).await;
    let pouring = tokio::spawn(async move {
        upstream.send(head).await;
        let mut sent = 0;
        while sent < total {
            upstream.0.write_all(&piece).await.unwrap();
            sent += piece.len();
        }
        sent
    });
    let mut got = client.read_head().await.len();
    let head = got;
    let (mut most, mut sink) = (0, vec![0; 256 * 1024]);
    while !pouring.is_finished() || got < head + total {
        let n = tokio::time::timeout(Duration::from_secs(60), client.0.read(&mut sink)).await.unwrap().unwrap();
        if n == 0 {
            break;
        }
        got += n;
        most = most.max(bench.relay.bytes_buffered());
    }
    assert_eq!(got, head + pouring.await.unwrap());
    most
}

#[tokio::test]
async fn a_gigabyte_passes_through_a_small_buffer() {
    const GB: usize = 1024 * 1024 * 1024;
    let bench = bench().await;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {GB}\r\n\r\n");
    let most = pour(&bench, head, vec![7; 1024 * 1024], GB).await;
    assert!(most <= 512 * 1024, "{most} bytes were kept");
}

#[tokio::test]
async fn an_event_without_end_is_given_up_and_passes_all_the_same() {
    const TOTAL: usize = 48 * 1024 * 1024;
    let bench = bench().await;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {TOTAL}\r\n\r\n");
    let most = pour(&bench, head, vec![b'x'; 1024 * 1024], TOTAL).await;
    assert!(most <= 12 * 1024 * 1024, "{most} bytes were kept");
}

#[tokio::test]
async fn requests_beyond_the_budget_of_memory_pass_without_being_kept() {
    let bench = bench_with(|config| config.buffered = 1024 * 1024).await;
    let body = "y".repeat(4 * 1024 * 1024);
    let mut client = bench.client().await;
    let sending = tokio::spawn(async move {
        client.send(post("/v1/responses", &body)).await;
        (client, body)
    });
    let mut upstream = bench.accept().await;
    upstream.read_head().await;
    let mut got = Vec::new();
    while got.len() < 4 * 1024 * 1024 {
        upstream.0.read_buf(&mut got).await.unwrap();
        assert!(bench.relay.bytes_buffered() <= 1024 * 1024 + 512 * 1024, "{}", bench.relay.bytes_buffered());
    }
    let (mut client, body) = sending.await.unwrap();
    assert!(got == body.as_bytes());
    upstream.send(ok("fine")).await;
    client.read_to("fine").await;
}

#[tokio::test]
async fn five_hundred_streams_at_once_each_get_their_own() {
    const STREAMS: usize = 500;
    // Both ends of both connections of every stream are in this process.
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let enough = rustix::process::Rlimit { current: files.maximum, ..files };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, enough).unwrap();
    let bench = Arc::new(bench().await);
    let all_begun = Arc::new(Barrier::new(2 * STREAMS));
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..STREAMS {
        let (bench, all_begun) = (Arc::clone(&bench), Arc::clone(&all_begun));
        tasks.spawn(async move {
            let mut client = bench.client().await;
            client.send(ask(index)).await;
            client.read_to("begin\n\n\r\n").await;
            // No stream continues before all have started.
            all_begun.wait().await;
            let rest = client.read_to("0\r\n\r\n").await;
            assert!(rest.contains(&format!("\"completion_tokens\":{index}}}")), "{rest}");
        });
    }
    let upstreams = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..STREAMS {
                let mut upstream = bench.accept().await;
                let all_begun = Arc::clone(&all_begun);
                tasks.spawn(async move {
                    let head = upstream.read_to(r#""tools":[1]}"#).await;
                    let index = head.split("ses_").nth(1).unwrap().split('\r').next().unwrap().to_owned();
                    upstream.send(format!("{STREAM}{}", chunk("data: begin\n\n"))).await;
                    all_begun.wait().await;
                    let usage = format!(
                        "data: {{\"id\":\"c\",\"choices\":[],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":{index}}}}}\n\n"
                    );
                    upstream.send(format!("{}0\r\n\r\n", chunk(&usage))).await;
                    upstream
                });
            }
            tasks.join_all().await
        })
    };
    tasks.join_all().await;
    let _open = upstreams.await.unwrap();
    let events = bench.judge.wait_for_events(|events| answers(events).len() >= STREAMS).await;
    let mut received: Vec<(usize, u64)> = answers(&events)
        .into_iter()
        .map(|(session, output)| (session.trim_start_matches("ses_").parse().unwrap(), output))
        .collect();
    received.sort();
    assert_eq!(received, (0..STREAMS).map(|index| (index, index as u64)).collect::<Vec<_>>(), "each once, as its own");
}
