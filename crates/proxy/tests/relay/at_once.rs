//! Responses that arrive before their request was inspected or complete.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use belay_core::{Body, Event, Verdict};
use tokio::sync::oneshot;

use crate::support::{Bench, Peer, TEST_TIMEOUT, bench, bench_with, ok};

const END: &str = r#""tools":[1]}"#;

fn request(session: &str, messages: &[&str]) -> String {
    let body = format!(r#"{{"model":"m","messages":[{}],{END}"#, messages.join(","));
    head(session, &body)
}

fn head(session: &str, body: &str) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nUser-Agent: opencode/1.18.33 x\r\nX-Session-Id: {session}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

const PROMPT: &str = r#"{"role":"user","content":"Fix"}"#;

fn answer() -> String {
    let body = r#"{"id":"c-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;
    ok(body).replace("Content-Length", "Content-Type: application/json\r\nContent-Length")
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.body.kind()).collect()
}

fn answers(events: &[Event]) -> usize {
    kinds(events).iter().filter(|kind| **kind == "model_answered").count()
}

async fn settled(bench: &Bench) -> Vec<Event> {
    bench.judge.wait_for_events(|events| answers(events) > 0).await
}

/// Responds to the next request, and waits until the client has the response.
async fn answered(upstream: &mut Peer, client: &mut Peer) {
    upstream.read_to(END).await;
    upstream.send(answer()).await;
    client.read_exactly(answer().len()).await;
}

#[tokio::test]
async fn a_request_that_was_held_and_let_go_is_not_asked_twice() {
    let bench = bench_with(|config| config.hold = Duration::from_secs(600)).await;
    let hold =
        Verdict::Hold { incident: "i".to_owned(), reason: "Held.".to_owned(), until: None, plan_required: false };
    bench.judge.rule("opencode:s", hold);
    let mut client = bench.client().await;
    client.send(request("s", &[PROMPT])).await;
    bench.judge.wait_for_events(|events| kinds(events).contains(&"model_asked")).await;
    bench.judge.rule("opencode:s", Verdict::Go);
    answered(&mut bench.accept().await, &mut client).await;
    // When it was held and released.
    let expected = ["session_started", "prompt", "model_asked", "model_asked", "model_answered"];
    assert_eq!(kinds(&settled(&bench).await), expected);
}

#[tokio::test]
async fn a_nudge_is_no_word_of_the_agent() {
    let bench = bench().await;
    let nudge = Verdict::Nudge { finding: "f".to_owned(), message: "Read the error first.".to_owned() };
    bench.judge.rule("opencode:s", nudge);
    let mut client = bench.client().await;
    client.send(request("s", &[PROMPT])).await;
    answered(&mut bench.accept().await, &mut client).await;
    let expected = ["session_started", "prompt", "model_asked", "delivered", "model_answered"];
    assert_eq!(kinds(&settled(&bench).await), expected);
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const WORKING: &str = "data: {\"id\":\"c-1\",\"choices\":[{\"delta\":{\"content\":\"Working\"}}]}\n\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[tokio::test]
async fn an_answer_that_is_stopped_where_it_cannot_be_ended_is_told_as_far_as_it_came() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(request("s", &[PROMPT])).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(END).await;
    let begun = format!("{STREAM}{}", chunk(&format!("{WORKING}data: {{")));
    upstream.send(&begun).await;
    client.read_to("data: {\r\n").await;
    bench.judge.rule("opencode:s", Verdict::Stop { incident: "i".to_owned(), reason: "Killed.".to_owned() });
    client.closed().await;
    assert_eq!(kinds(&settled(&bench).await), ["session_started", "model_asked", "prompt", "model_answered"]);
}

/// Too large to be buffered.
#[tokio::test]
async fn a_long_request_and_its_answer_are_told_once_each_time() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, "Fix all of it. ".repeat(10_000));
    client.send(request("s", &[&long])).await;
    let mut upstream = bench.accept().await;
    answered(&mut upstream, &mut client).await;
    let more = r#"{"role":"user","content":"And this"}"#;
    client.send(request("s", &[&long, more])).await;
    answered(&mut upstream, &mut client).await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 2).await;
    let once = ["model_asked", "prompt", "model_answered"];
    assert_eq!(kinds(&events), [&["session_started"][..], &once, &once].concat());
}

/// The relay shuts down.
#[test]
fn an_answer_that_is_dropped_on_its_way_is_told_as_far_as_it_came() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (bench, _client, _upstream) = runtime.block_on(async {
        let bench = bench().await;
        let mut client = bench.client().await;
        client.send(request("s", &[PROMPT])).await;
        let mut upstream = bench.accept().await;
        upstream.read_to(END).await;
        upstream.send(format!("{STREAM}{}", chunk(WORKING))).await;
        client.read_to("\n\n\r\n").await;
        (bench, client, upstream)
    });
    drop(runtime);
    bench.relay.flush_recorder(TEST_TIMEOUT);
    let later = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let events = later.block_on(settled(&bench));
    assert_eq!(kinds(&events), ["session_started", "model_asked", "prompt", "model_answered"]);
}

/// The agent has the last byte, and exits, before the response is recorded.
#[tokio::test]
async fn a_run_is_drained_when_its_last_response_is_recorded() {
    let bench = bench().await;
    bench.relay.begin_run("opencode:run", &[]).unwrap();
    let mut client = bench.client().await;
    client.send(request("s", &[PROMPT]).replace("/v1/", "/s/opencode:run/v1/")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(END).await;
    upstream.send(format!("{STREAM}{}", chunk(WORKING))).await;
    client.read_to("\n\n\r\n").await;
    let drain = |timeout| {
        let relay = Arc::clone(&bench.relay);
        tokio::task::spawn_blocking(move || relay.drain_run("opencode:run", timeout))
    };
    assert!(!drain(Duration::from_millis(1)).await.unwrap(), "its response is open");
    let drained = drain(TEST_TIMEOUT);
    upstream.send(chunk("data: [DONE]\n\n") + "0\r\n\r\n").await;
    assert!(drained.await.unwrap());
    assert_eq!(answers(&bench.judge.events()), 1);
}

#[tokio::test]
async fn an_answer_that_comes_before_the_end_of_its_question_keeps_nothing_of_it_back() {
    let bench = bench().await;
    let body = format!(r#"{{"model":"m","messages":[{PROMPT}],"x":"{}",{END}"#, "x".repeat(200_000));
    let request = head("s", &body);
    let (first, rest) = request.split_at(request.len() - 100);
    let mut client = bench.client().await;
    client.send(first).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(r#","x":"xxx"#).await;
    let answer = answer();
    let (begins, ends) = answer.split_at(answer.len() - 5);
    upstream.send(begins).await;
    client.read_exactly(begins.len()).await;
    client.send(rest).await;
    upstream.read_to(END).await;
    upstream.send(ends).await;
    client.read_exactly(ends.len()).await;
    assert_eq!(kinds(&settled(&bench).await), ["model_asked", "model_answered"]);
}

#[tokio::test]
async fn a_refusal_that_comes_before_the_end_of_its_question_is_told() {
    let bench = bench().await;
    let request = head("s", &format!("{{\"x\":\"{}", "x".repeat(200_000)));
    let mut client = bench.client().await;
    client.send(&request[..request.len() - 100]).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(r#"{"x":"xxx"#).await;
    upstream.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n").await;
    client.read_head().await;
    assert_eq!(bench.judge.story().await, ["opencode:s model_asked", "opencode:s model_failed"]);
}

#[tokio::test]
async fn requests_that_are_read_in_another_order_than_they_came_are_told_once() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let ((paused, is_paused), (word, awaited)) = (oneshot::channel(), mpsc::channel());
    *bench.judge.pause.lock().unwrap() = Some((paused, awaited));
    client.send(request("another", &[PROMPT])).await;
    let mut upstream = bench.accept().await;
    answered(&mut upstream, &mut client).await;
    is_paused.await.unwrap();
    // From here on the recorder is blocked. A long request does not wait for it.
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, "long ".repeat(5000));
    let next = r#"{"role":"user","content":"next"}"#;
    for messages in [&[PROMPT][..], &[PROMPT, &long]] {
        client.send(request("s", messages)).await;
        answered(&mut upstream, &mut client).await;
    }
    drop(word);
    bench.judge.wait_for_events(|events| answers(events) == 3).await;
    client.send(request("s", &[PROMPT, &long, next])).await;
    answered(&mut upstream, &mut client).await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 4).await;
    let prompts = |event: &&Event| &*event.session.id == "s" && event.body.kind() == "prompt";
    assert_eq!(events.iter().filter(prompts).count(), 3, "{:?}", kinds(&events));
}

#[tokio::test]
async fn what_is_asked_beside_a_conversation_changes_nothing_of_what_is_known_of_it() {
    let bench = bench().await;
    let aside = |messages: &str| head("s", &format!(r#"{{"model":"m","messages":[{messages}]}}"#));
    let mut client = bench.client().await;
    let mut upstream = None;
    let next = r#"{"role":"user","content":"next"}"#;
    let requests = [
        aside(PROMPT),
        request("s", &[PROMPT]),
        aside(r#"{"role":"user","content":"Give it a title"}"#),
        request("s", &[PROMPT, next]),
    ];
    for request in requests {
        client.send(&request).await;
        if upstream.is_none() {
            upstream = Some(bench.accept().await);
        }
        let upstream = upstream.as_mut().unwrap();
        upstream.read_to(request.rsplit("\r\n\r\n").next().unwrap()).await;
        upstream.send(answer()).await;
        client.read_exactly(answer().len()).await;
    }
    let events = bench.judge.wait_for_events(|events| answers(events) == 4).await;
    let reported: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Prompt(prompt) => Some(prompt.text.as_str()),
            Body::SessionStarted(_) => Some("started"),
            Body::ModelAsked(asked) => Some(if asked.auxiliary { "aside" } else { "asked" }),
            _ => None,
        })
        .collect();
    assert_eq!(reported, ["aside", "started", "asked", "Fix", "aside", "asked", "next"]);
}

#[tokio::test]
async fn a_connection_that_did_not_take_all_of_a_question_is_not_asked_again() {
    let bench = bench().await;
    let mut client = bench.client().await;
    // More than the socket buffers hold.
    let large = head("s", &"x".repeat(32 * 1024 * 1024));
    let ((), mut upstream) = tokio::join!(client.send(large), bench.accept());
    upstream.read_head().await;
    upstream.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n").await;
    client.read_head().await;
    // The client's connection stays open only if its request was complete by then.
    let mut other = bench.client().await;
    other.send(request("s", &[PROMPT])).await;
    bench.accept().await.read_to(END).await;
}
