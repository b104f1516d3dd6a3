//! Events recorded from relayed conversations.

use belay_core::event::{Author, Usage};
use belay_core::{Body, Event};

use crate::support::{Bench, Peer, bench, ok};

const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"npm test\"}"}}]}"#;
const RESULT: &str = r#"{"role":"tool","tool_call_id":"call_1","content":"1 failing"}"#;
const ANSWER: &str = r#"{"id":"chatcmpl-1","model":"m-1","choices":[{"message":{"content":"Done."},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;

fn opencode(messages: &[&str], tools: &str) -> String {
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"system","content":"s"}},{{"role":"user","content":"Fix the tests"}}{}]{tools}}}"#,
        messages.iter().map(|message| format!(",{message}")).collect::<String>()
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nUser-Agent: opencode/1.18.33 x\r\nX-Session-Id: ses_1\r\nAuthorization: Bearer k\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

const TOOLS: &str = r#","tools":[{"type":"function"}]"#;

fn json(body: &str) -> String {
    ok(body).replacen("\r\n", "\r\nContent-Type: application/json\r\n", 1)
}

/// Sends a request through the relay and responds to it.
async fn turn(bench: &Bench, client: &mut Peer, upstream: &mut Option<Peer>, request: &str, answer: &str) {
    client.send(request).await;
    if upstream.is_none() {
        *upstream = Some(bench.accept().await);
    }
    let upstream = upstream.as_mut().unwrap();
    upstream.read_to(request.rsplit("\r\n\r\n").next().unwrap()).await;
    upstream.send(answer).await;
    client.read_exactly(answer.len()).await;
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.body.kind()).collect()
}

fn answers(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event.body, Body::ModelAnswered(_))).count()
}

#[tokio::test]
async fn a_question_is_known_while_its_upstream_thinks_and_when_nobody_waits_for_an_answer() {
    let bench = bench().await;
    let is_question = |event: &Event| matches!(event.body, Body::ModelAsked(_));
    let questions = |events: &[Event]| events.iter().filter(|event| is_question(event)).count();
    let mut client = bench.client().await;
    client.send(opencode(&[], TOOLS)).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(TOOLS).await;
    bench.judge.wait_for_events(|events| questions(events) == 1).await;
    let mut other = bench.client().await;
    other.send(opencode(&[CALL, RESULT], TOOLS)).await;
    bench.accept().await.read_to(TOOLS).await;
    other.reset();
    bench.judge.wait_for_events(|events| questions(events) == 2).await;
}

#[tokio::test]
async fn an_answer_that_begins_at_once_and_then_takes_its_time_is_looked_at_meanwhile() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(opencode(&[], TOOLS)).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(TOOLS).await;
    let answer = json(ANSWER);
    let (begins, ends) = answer.split_at(answer.len() - 10);
    upstream.send(begins).await;
    let events = bench.judge.wait_for_events(|events| kinds(events).contains(&"model_asked")).await;
    assert_eq!(answers(&events), 0);
    upstream.send(ends).await;
    client.read_exactly(answer.len()).await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 1).await;
    let Some(Body::ModelAnswered(answer)) = events.last().map(|event| &event.body) else { panic!() };
    assert_eq!(answer.text.as_str(), "Done.");
}

#[tokio::test]
async fn an_answer_that_broke_off_at_once_is_told_with_its_question() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(opencode(&[], TOOLS)).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(TOOLS).await;
    let text = "data: {\"id\":\"c-1\",\"choices\":[{\"delta\":{\"content\":\"Working\"}}]}\n\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    upstream.send(format!("{head}{:x}\r\n{text}\r\n", text.len())).await;
    drop(upstream);
    client.closed().await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 1).await;
    assert_eq!(kinds(&events), ["session_started", "model_asked", "prompt", "model_answered"]);
    let Some(Body::ModelAnswered(answer)) = events.last().map(|event| &event.body) else { panic!() };
    assert_eq!((answer.text.as_str(), answer.stop.as_deref()), ("Working", None));
}

#[tokio::test]
async fn a_growing_conversation_is_told_once() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let mut upstream = None;
    turn(&bench, &mut client, &mut upstream, &opencode(&[], TOOLS), &json(ANSWER)).await;
    turn(&bench, &mut client, &mut upstream, &opencode(&[CALL, RESULT], TOOLS), &json(ANSWER)).await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 2).await;
    assert_eq!(
        kinds(&events),
        [
            "session_started",
            "model_asked",
            "prompt",
            "model_answered",
            "model_asked",
            "tool_called",
            "tool_returned",
            "model_answered"
        ]
    );
    assert!(events.iter().all(|event| event.session.to_string() == "opencode:ses_1"));
    let Body::Prompt(prompt) = &events[2].body else { panic!() };
    assert_eq!((prompt.by, prompt.text.as_str()), (Author::Person, "Fix the tests"));
    let Body::ToolCalled(call) = &events[5].body else { panic!() };
    assert_eq!((call.call.as_deref(), call.tool.name.as_str()), (Some("call_1"), "bash"));
    let Body::ModelAnswered(answer) = &events[7].body else { panic!() };
    assert_eq!(answer.usage, Some(Usage { input: 10, output: 2, ..Usage::default() }));
    assert_eq!(
        (answer.model.as_deref(), answer.stop.as_deref(), answer.text.as_str()),
        (Some("m-1"), Some("stop"), "Done.")
    );
    assert!(!serde_json::to_string(&events).unwrap().contains("Bearer"), "no credential is recorded");
}

#[tokio::test]
async fn a_title_is_no_turn() {
    let bench = bench().await;
    let mut client = bench.client().await;
    turn(&bench, &mut client, &mut None, &opencode(&[], ""), &json(ANSWER)).await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 1).await;
    assert_eq!(kinds(&events), ["model_asked", "model_answered"]);
    let Body::ModelAsked(asked) = &events[0].body else { panic!() };
    assert!(asked.auxiliary);
}

#[tokio::test]
async fn what_is_beside_the_conversation_is_not_recorded() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let count = "POST /v1/messages/count_tokens HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}";
    turn(&bench, &mut client, &mut None, count, &ok("{}")).await;
    turn(&bench, &mut client, &mut None, &opencode(&[], TOOLS), &json(ANSWER)).await;
    let story = bench.judge.story().await;
    assert!(story.len() == 4 && story.iter().all(|reported| reported.starts_with("opencode:ses_1 ")), "{story:?}");
}

#[tokio::test]
async fn a_failure_is_recorded_with_the_apis_own_words() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let body = r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#;
    let answer = format!(
        "HTTP/1.1 529 Overloaded\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    turn(&bench, &mut client, &mut None, &opencode(&[], TOOLS), &answer).await;
    let failed = |event: &Event| matches!(event.body, Body::ModelFailed(_));
    let events = bench.judge.wait_for_events(|events| events.iter().any(failed)).await;
    let Some(Body::ModelFailed(failure)) = events.last().map(|event| &event.body) else { panic!() };
    assert_eq!((failure.status, failure.message.as_str()), (Some(529), "Overloaded"));
}

#[tokio::test]
async fn an_answer_the_agent_did_not_wait_for_is_recorded_as_far_as_it_came() {
    let bench = bench().await;
    let mut client = bench.client().await;
    client.send(opencode(&[], TOOLS)).await;
    let mut upstream = bench.accept().await;
    upstream.read_to("]}").await;
    upstream.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"id\":\"c-1\",\"choices\":[{\"delta\":{\"content\":\"Half\"}}]}\n\n").await;
    client.read_to("\n\n").await;
    drop(client);
    upstream.closed().await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 1).await;
    let Some(Body::ModelAnswered(answer)) = events.last().map(|event| &event.body) else { panic!() };
    assert_eq!((answer.response.as_deref(), answer.text.as_str()), (Some("c-1"), "Half"));
    let length = opencode(&[], TOOLS).rsplit("\r\n\r\n").next().unwrap().len() as u64;
    assert_eq!(tokens(&events), Some((length / 4, 0, 1)), "and so is what it cost, near enough");
}

/// The tokens of the only response: input, cached input and output.
fn tokens(events: &[Event]) -> Option<(u64, u64, u64)> {
    let answer = events.iter().rev().find_map(|event| match &event.body {
        Body::ModelAnswered(answer) => Some(answer),
        _ => None,
    });
    answer?.usage.map(|usage| (usage.input, usage.cache_read, usage.output))
}

fn stream(events: &str) -> String {
    ok(events).replacen("\r\n", "\r\nContent-Type: text/event-stream\r\n", 1)
}

const UNTOLD: &str = "data: {\"id\":\"c-2\",\"choices\":[{\"delta\":{\"content\":\"Sixteen letters.\"}}]}\n\n\
data: {\"id\":\"c-2\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[tokio::test]
async fn a_stream_that_tells_no_usage_is_booked_by_an_estimate() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let request = opencode(&[], TOOLS);
    let length = request.rsplit("\r\n\r\n").next().unwrap().len() as u64;
    turn(&bench, &mut client, &mut None, &request, &stream(UNTOLD)).await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 1).await;
    assert_eq!(tokens(&events), Some((length / 4, 0, 4)));
}

#[tokio::test]
async fn an_estimate_takes_as_much_from_the_cache_as_the_answer_before() {
    let bench = bench().await;
    let (mut client, mut upstream) = (bench.client().await, None);
    let reported =
        ANSWER.replace("\"prompt_tokens\":10", "\"prompt_tokens\":10,\"prompt_tokens_details\":{\"cached_tokens\":5}");
    turn(&bench, &mut client, &mut upstream, &opencode(&[], TOOLS), &json(&reported)).await;
    // A title request in between, without cache hits.
    turn(&bench, &mut client, &mut upstream, &opencode(&[], ""), &json(&ANSWER.replace("-1", "-t"))).await;
    let request = opencode(&[CALL, RESULT], TOOLS);
    let length = request.rsplit("\r\n\r\n").next().unwrap().len() as u64;
    turn(&bench, &mut client, &mut upstream, &request, &stream(UNTOLD)).await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 3).await;
    let (all, cached) = (length / 4, length / 4 / 2);
    assert_eq!(tokens(&events), Some((all - cached, cached, 4)));
}

#[tokio::test]
async fn an_estimate_of_a_title_takes_nothing_from_the_cache_of_the_conversation() {
    let bench = bench().await;
    let (mut client, mut upstream) = (bench.client().await, None);
    let reported =
        ANSWER.replace("\"prompt_tokens\":10", "\"prompt_tokens\":10,\"prompt_tokens_details\":{\"cached_tokens\":5}");
    turn(&bench, &mut client, &mut upstream, &opencode(&[], TOOLS), &json(&reported)).await;
    let request = opencode(&[], "");
    let length = request.rsplit("\r\n\r\n").next().unwrap().len() as u64;
    turn(&bench, &mut client, &mut upstream, &request, &stream(UNTOLD)).await;
    let events = bench.judge.wait_for_events(|events| answers(events) == 2).await;
    assert_eq!(tokens(&events), Some((length / 4, 0, 4)));
}

#[tokio::test]
async fn what_says_nothing_and_what_fails_is_no_spending() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let empty = "data: {\"id\":\"c-3\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    turn(&bench, &mut client, &mut None, &opencode(&[], TOOLS), &stream(empty)).await;
    let failed = json(r#"{"error":{"message":"Who are you?"}}"#).replacen("200 OK", "401 Unauthorized", 1);
    let mut other = bench.client().await;
    turn(&bench, &mut other, &mut None, &opencode(&[CALL, RESULT], TOOLS), &failed).await;
    let reported = |event: &Event| matches!(event.body, Body::ModelFailed(_));
    let events = bench.judge.wait_for_events(|events| answers(events) == 1 && events.iter().any(reported)).await;
    assert_eq!(tokens(&events), None, "{events:?}");
}

#[tokio::test]
async fn a_compressed_request_is_read_and_passed_on_as_it_is() {
    use std::io::Write;
    let bench = bench().await;
    let mut client = bench.client().await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"tools":[1]}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(body.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    client
        .send(format!("POST /s/pi:run-1/v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", packed.len()))
        .await;
    client.send(&packed).await;
    let mut upstream = bench.accept().await;
    assert!(upstream.read_head().await.contains("Content-Encoding: gzip"));
    assert_eq!(upstream.read_exactly(packed.len()).await, packed);
    upstream.send(json(ANSWER)).await;
    assert_eq!(
        bench.judge.story().await,
        ["pi:run-1 session_started", "pi:run-1 model_asked", "pi:run-1 prompt", "pi:run-1 model_answered"]
    );
}

#[tokio::test]
async fn a_shape_nobody_knows_passes_untouched() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let request =
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nX-Loop-Session: s\r\nContent-Length: 9\r\n\r\nnot JSON!";
    turn(&bench, &mut client, &mut None, request, &json(ANSWER)).await;
    assert_eq!(bench.judge.story().await, ["legacy:s model_asked", "legacy:s model_answered"]);
}
