//! Requests that are too large to buffer, of sessions that must be checked first.

use std::sync::atomic::Ordering;
use std::time::Duration;

use belay_core::{Body, Event, Verdict};

use crate::support::{Bench, Peer, bench_with, ok};

const LIMIT: usize = 64 * 1024;
const OPENCODE: &str =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nUser-Agent: opencode/1.18.33 x\r\nX-Session-Id: ses_1\r\n";

/// A body that is larger than all buffers, without repetition.
fn large() -> String {
    let filler: String = (0..600_000).map(|n| format!("{n} ")).collect();
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{filler}"}}],"tools":[1]}}"#)
}

fn chunked(body: &str) -> String {
    let (first, second) = body.split_at(body.len() / 2);
    format!("{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n", first.len(), second.len())
}

/// The request in both framings: its head, and its body as it is sent.
fn requests() -> [(String, String); 2] {
    let body = large();
    [
        (format!("{OPENCODE}Content-Length: {}\r\n\r\n", body.len()), body.clone()),
        (format!("{OPENCODE}Transfer-Encoding: chunked\r\n\r\n"), chunked(&body)),
    ]
}

/// A relay with a small buffer limit.
async fn forgetful(hold: Duration) -> Bench {
    bench_with(|config| (config.inspected, config.buffered, config.hold) = (LIMIT, 16 * LIMIT, hold)).await
}

fn held() -> Verdict {
    Verdict::Hold { incident: "inc-1".to_owned(), reason: "Held.".to_owned(), until: None, plan_required: false }
}

fn asked(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event.body, Body::ModelAsked(_)))
}

/// Sends a request in the background.
fn sending(mut client: Peer, head: String, body: String) -> tokio::task::JoinHandle<Peer> {
    tokio::spawn(async move {
        client.send(head).await;
        client.send(body).await;
        client
    })
}

/// Reads a request and responds to it.
async fn serve(bench: &Bench, body: &str) {
    let mut upstream = bench.accept().await;
    upstream.read_head().await;
    let got = upstream.read_exactly(body.len()).await;
    assert!(got == body.as_bytes(), "the body has changed on its way");
    upstream.send(ok("fine")).await;
}

#[tokio::test]
async fn one_passes_byte_for_byte_while_a_budget_is_shared() {
    for (head, body) in requests() {
        let bench = forgetful(Duration::ZERO).await;
        bench.judge.outdated.store(true, Ordering::Relaxed);
        let sending = sending(bench.client().await, head, body.clone());
        serve(&bench, &body).await;
        sending.await.unwrap().read_to("fine").await;
        assert_eq!(bench.judge.wait_for_events(asked).await.len(), 1, "it was asked about once");
    }
}

#[tokio::test]
async fn one_that_began_before_others_had_spent_anything_is_not_sent_back() {
    let (head, body) = requests()[0].clone();
    let bench = forgetful(Duration::ZERO).await;
    let (begun, rest) = body.split_at(body.len() / 2);
    let mut client = bench.client().await;
    client.send(head).await;
    let mut upstream = bench.accept().await;
    let sending = sending(client, begun.to_owned(), String::new());
    upstream.read_head().await;
    let mut got = upstream.read_exactly(begun.len()).await;
    bench.judge.outdated.store(true, Ordering::Relaxed);
    let sending = self::sending(sending.await.unwrap(), rest.to_owned(), String::new());
    got.extend(upstream.read_exactly(rest.len()).await);
    assert!(got == body.as_bytes(), "the body has changed on its way");
    upstream.send(ok("fine")).await;
    sending.await.unwrap().read_to("fine").await;
}

#[tokio::test]
async fn a_held_one_goes_on_when_a_person_lets_it_and_is_refused_otherwise() {
    for (head, body) in requests() {
        let bench = forgetful(Duration::from_secs(600)).await;
        bench.judge.rule("opencode:ses_1", held());
        let sending = sending(bench.client().await, head.clone(), body.clone());
        bench.judge.wait_for_events(asked).await;
        bench.judge.rule("opencode:ses_1", Verdict::Go);
        serve(&bench, &body).await;
        sending.await.unwrap().read_to("fine").await;

        let bench = forgetful(Duration::ZERO).await;
        bench.judge.rule("opencode:ses_1", held());
        let sending = self::sending(bench.client().await, head, body);
        assert_eq!(sending.await.unwrap().complaint().await.0, "HTTP/1.1 402 Payment Required");
    }
}
