//! Concurrent sessions with turns of every kind: each is recorded once and in order, regardless of its result.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use belay_core::{Body, Event};
use tokio::io::AsyncReadExt;

use crate::support::{Bench, Peer, TEST_TIMEOUT, bench};

const SESSIONS: usize = 8;
const TURNS: usize = 24;

/// The results of consecutive turns.
const FATES: [&str; 7] = ["at once", "thinks", "at once", "pauses", "breaks", "pauses and breaks", "left"];

#[tokio::test]
async fn every_turn_is_told_once() {
    told_once(&Arc::new(bench().await)).await;
}

#[tokio::test]
async fn every_turn_is_told_once_where_there_is_a_limit() {
    let bench = Arc::new(bench().await);
    *bench.judge.left.lock().unwrap() = Some(1_000_000_000);
    told_once(&bench).await;
}

#[tokio::test]
async fn every_turn_is_told_once_where_each_has_to_be_asked_about() {
    let bench = Arc::new(bench().await);
    bench.judge.outdated.store(true, Ordering::Relaxed);
    told_once(&bench).await;
}

async fn told_once(bench: &Arc<Bench>) {
    let upstream = tokio::spawn(serve(Arc::clone(bench)));
    let mut sessions = tokio::task::JoinSet::new();
    for session in 0..SESSIONS {
        let bench = Arc::clone(bench);
        sessions.spawn(async move { converse(&bench, session).await });
    }
    sessions.join_all().await;
    upstream.abort();
    tokio::time::timeout(TEST_TIMEOUT, bench.relay.wait_idle()).await.expect("all to be over");
    bench.relay.flush_recorder(TEST_TIMEOUT);
    let events = bench.judge.wait_for_events(|_| true).await;
    for session in 0..SESSIONS {
        let id = format!("s{session}");
        check(&events.iter().filter(|event| *event.session.id == *id).collect::<Vec<_>>());
    }
}

fn check(events: &[&Event]) {
    let count = |kind: &str| events.iter().filter(|event| event.body.kind() == kind).count();
    let all = TURNS + TURNS.div_ceil(3);
    let counts = ["session_started", "prompt", "model_asked", "model_answered"].map(count);
    assert_eq!(counts, [1, TURNS, all, all], "{:?}", events[0].session);
    let mut asked = HashSet::new();
    let mut answered = HashSet::new();
    for event in events {
        match &event.body {
            Body::ModelAsked(question) => assert!(asked.insert(&question.request)),
            Body::ModelAnswered(answer) => {
                assert!(asked.contains(&answer.request), "an answer before its question");
                assert!(answered.insert(&answer.response), "the same answer twice");
            }
            _ => {}
        }
    }
}

/// The turns of one session, with an auxiliary request at every third.
async fn converse(bench: &Bench, session: usize) {
    let mut client = bench.client().await;
    let mut messages = String::new();
    for turn in 0..TURNS {
        let comma = if turn == 0 { "" } else { "," };
        // Some requests are short, and later ones are not.
        let padding = "x".repeat(if turn % 5 == 4 { 4000 } else { 0 });
        write!(messages, r#"{comma}{{"role":"user","content":"turn {turn} {padding}"}}"#).unwrap();
        let fate = FATES[(session + turn) % FATES.len()];
        let is_chunked = (session + turn).is_multiple_of(4);
        client.send(request(session, turn, fate, &format!(r#"[{messages}],"tools":[1]"#), is_chunked)).await;
        if turn.is_multiple_of(3) {
            let mut aside = bench.client().await;
            let title = r#"[{"role":"user","content":"Give it a title"}]"#;
            aside.send(request(session, turn, "title", title, false)).await;
            aside.read_to("0\r\n\r\n").await;
        }
        match fate {
            "breaks" | "pauses and breaks" => client.closed().await,
            "left" => drop(client.read_to("piece 1").await),
            _ => {
                client.read_to("0\r\n\r\n").await;
                continue;
            }
        }
        client = bench.client().await;
    }
}

fn request(session: usize, turn: usize, fate: &str, messages: &str, is_chunked: bool) -> String {
    let body = format!(r#"{{"model":"m","messages":{messages}}}"#);
    let (framing, body) = match is_chunked {
        true => ("Transfer-Encoding: chunked".to_owned(), format!("{}0\r\n\r\n", chunk(&body))),
        false => (format!("Content-Length: {}", body.len()), body),
    };
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nUser-Agent: opencode/1 x\r\nX-Session-Id: s{session}\r\n\
         X-Turn: {turn}\r\nX-Fate: {fate}\r\n{framing}\r\n\r\n{body}"
    )
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

async fn serve(bench: Arc<Bench>) {
    loop {
        let peer = Peer(bench.upstream.accept().await.unwrap().0);
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { answer(&bench, peer).await });
    }
}

/// Responds to each request as it specifies, until either side closes.
async fn answer(bench: &Bench, mut peer: Peer) -> Option<()> {
    loop {
        let head = head(&mut peer).await?;
        let line = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        match line("Content-Length: ") {
            Some(length) => drop(peer.read_exactly(length.parse().unwrap()).await),
            None => drop(peer.read_to("\r\n0\r\n\r\n").await),
        }
        let (session, turn, fate) = (line("X-Session-Id: ")?, line("X-Turn: ")?, line("X-Fate: ")?);
        let piece = |n: u8| {
            let id = format!("{session}-{turn}-{}", fate == "title");
            let event =
                format!("data: {{\"id\":\"{id}\",\"choices\":[{{\"delta\":{{\"content\":\"piece {n}\"}}}}]}}\n\n");
            chunk(&event)
        };
        if fate == "thinks" {
            is_asked(bench, session, turn).await;
        }
        let mut text =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
        text += &piece(1);
        if fate.starts_with("pauses") {
            send(&mut peer, &text).await?;
            text.clear();
            is_asked(bench, session, turn).await;
        }
        text += &piece(2);
        if fate.ends_with("breaks") {
            return send(&mut peer, &text).await;
        }
        send(&mut peer, &format!("{text}{}0\r\n\r\n", chunk("data: [DONE]\n\n"))).await?;
    }
}

/// Waits until the supervisor has observed this turn.
async fn is_asked(bench: &Bench, session: &str, turn: &str) {
    let turn: usize = turn.parse().unwrap();
    let is_turn = |event: &&Event| {
        *event.session.id == *session && matches!(&event.body, Body::ModelAsked(asked) if !asked.auxiliary)
    };
    bench.judge.wait_for_events(|events| events.iter().filter(is_turn).count() > turn).await;
}

async fn head(peer: &mut Peer) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(peer.0.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

async fn send(peer: &mut Peer, text: &str) -> Option<()> {
    tokio::io::AsyncWriteExt::write_all(&mut peer.0, text.as_bytes()).await.ok()
}
