//! Interventions by the proxy.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use belay_core::{Body, Event, Timestamp, Verdict};

use crate::support::{Bench, Peer, TEST_TIMEOUT, bench, bench_with, ok};

fn hold(reason: &str) -> Verdict {
    Verdict::Hold { incident: "inc-1".to_owned(), reason: reason.to_owned(), until: None, plan_required: false }
}

fn request(lines: &str) -> String {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"tools":[1]}"#;
    format!("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len())
}

const OPENCODE: &str = "User-Agent: opencode/1.18.33 x\r\nX-Session-Id: ses_1\r\n";
const CODEX: &str = "User-Agent: codex_exec/0.166.0 (x)\r\nThread-Id: 01a1\r\n";

#[tokio::test]
async fn a_paused_session_gets_the_refusal_its_agent_takes_as_final() {
    let bench = bench().await;
    bench.judge.rule("opencode:ses_1", hold("Held: the same test failed six times."));
    bench.judge.rule("codex:01a1", hold("Held: the same test failed six times."));
    let mut client = bench.client().await;
    client.send(request(OPENCODE)).await;
    let (status, error) = client.complaint().await;
    assert_eq!(status, "HTTP/1.1 402 Payment Required");
    assert_eq!(
        (&error["code"], &error["message"]),
        (&"belay_paused".into(), &"Held: the same test failed six times.".into())
    );
    client.send(request(CODEX)).await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain"), "{head}");
    client.read_to("six times.").await;
    // Requests of other sessions continue on the same connection.
    client.send(request("User-Agent: opencode/1.18.33 x\r\nX-Session-Id: ses_2\r\n")).await;
    bench.accept().await.read_to("}").await;
}

#[tokio::test]
async fn a_fault_of_whoever_judges_lifts_no_pause_and_holds_nobody_else() {
    let bench = bench().await;
    bench.judge.rule("opencode:ses_1", hold("Held: the same test failed six times."));
    let nudge = Verdict::Nudge { finding: "f".to_owned(), message: "Try something else.".to_owned() };
    bench.judge.rule("opencode:ses_2", nudge);
    let stop = Verdict::Stop { incident: "i".to_owned(), reason: "Stopped.".to_owned() };
    bench.judge.rule("opencode:ses_3", stop);
    bench.judge.faulty.store(true, Ordering::Relaxed);
    let mut client = bench.client().await;
    let of = |session: &str| request(&OPENCODE.replace("ses_1", session));
    for (session, code) in [("ses_1", "belay_paused"), ("ses_3", "belay_killed")] {
        client.send(of(session)).await;
        let (status, error) = client.complaint().await;
        assert_eq!((status.as_str(), error["code"].as_str()), ("HTTP/1.1 402 Payment Required", Some(code)));
        assert!(error["message"].as_str().unwrap().contains("Run `belay show` for details"), "{error}");
    }
    client.send(of("ses_2")).await;
    bench.accept().await.read_to("}").await;
}

#[tokio::test]
async fn a_client_that_names_a_loop_session_gets_the_supervisors_refusal_at_once() {
    let bench = bench_with(|config| config.hold = Duration::from_secs(600)).await;
    let stop = Verdict::Stop { incident: "inc-1".to_owned(), reason: "Killed.".to_owned() };
    let mut client = bench.client().await;
    for verdict in [hold("Held."), stop] {
        bench.judge.rule("legacy:s", verdict);
        client.send(request("X-Loop-Session: s\r\n")).await;
        let (status, error) = client.complaint().await;
        assert_eq!((status.as_str(), &error["type"]), ("HTTP/1.1 423 Locked", &"refused_by_supervisor".into()));
    }
    // The agent has its own refusal format.
    client.send(request("X-Loop-Session: s\r\nUser-Agent: opencode/1.18.33 x\r\n")).await;
    assert_eq!(client.complaint().await.0, "HTTP/1.1 402 Payment Required");
}

#[tokio::test]
async fn a_compressed_body_names_plan_and_branch() {
    let bench = bench().await;
    bench.judge.rule("legacy:s", hold("Held."));
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"tools":[1],"metadata":{"changed_plan":"Mock it","branch":"main"}}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(body.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let mut client = bench.client().await;
    let lines = format!("X-Loop-Session: s\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n", packed.len());
    client.send(format!("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n{lines}\r\n")).await;
    client.send(&packed).await;
    client.complaint().await;
    let plan = |event: &Event| matches!(&event.body, Body::ModelAsked(asked) if asked.plan.as_str() == "Mock it");
    let branch =
        |event: &Event| matches!(&event.body, Body::SessionStarted(begun) if begun.branch.as_deref() == Some("main"));
    bench.judge.wait_for_events(|events| events.iter().any(plan) && events.iter().any(branch)).await;
}

/// An agent whose request is held.
async fn held(bench: &Bench) -> Peer {
    bench.judge.rule("opencode:ses_1", hold("Held."));
    let mut client = bench.client().await;
    client.send(request(OPENCODE)).await;
    let asked = |event: &Event| matches!(event.body, Body::ModelAsked(_));
    bench.judge.wait_for_events(|events| events.iter().any(asked)).await;
    client
}

#[tokio::test]
async fn a_held_request_goes_on_when_a_person_lets_it() {
    let bench = bench_with(|config| config.hold = Duration::from_secs(600)).await;
    let mut client = held(&bench).await;
    bench.judge.rule("opencode:ses_1", Verdict::Go);
    let mut upstream = bench.accept().await;
    upstream.read_to(r#""tools":[1]}"#).await;
    upstream.send(ok("fine")).await;
    client.read_to("fine").await;
}

#[tokio::test]
async fn a_held_request_is_refused_when_the_time_is_up_and_the_next_one_at_once() {
    let hold_for = Duration::from_secs(3600);
    let bench = bench_with(|config| config.hold = hold_for).await;
    let mut client = held(&bench).await;
    // An hour passes; the clock is advanced before another thread waits.
    tokio::time::pause();
    tokio::time::advance(hold_for).await;
    tokio::time::resume();
    assert_eq!(client.complaint().await.0, "HTTP/1.1 402 Payment Required");
    client.send(request(OPENCODE)).await;
    assert_eq!(client.complaint().await.0, "HTTP/1.1 402 Payment Required", "another hour would be too long");
}

/// The hold reason may change while a request is held, without a change of the hold state.
#[tokio::test]
async fn a_request_that_was_held_hears_what_its_session_waits_for_now() {
    let hold_for = Duration::from_secs(3600);
    let bench = bench_with(|config| config.hold = hold_for).await;
    let mut client = held(&bench).await;
    let now = Verdict::Hold {
        incident: "inc-1".to_owned(),
        reason: "Name a changed plan.".to_owned(),
        until: None,
        plan_required: true,
    };
    bench.judge.rule("opencode:ses_1", now);
    tokio::time::pause();
    tokio::time::advance(hold_for).await;
    tokio::time::resume();
    assert_eq!(client.complaint().await.1["message"], "Name a changed plan.");
}

#[tokio::test]
async fn a_request_that_is_held_for_a_cooldown_is_asked_about_again_when_it_is_over() {
    let bench = bench_with(|config| config.hold = Duration::from_secs(3600)).await;
    let soon =
        Timestamp::from_millis(i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap() + 100);
    let cooling = Verdict::Hold {
        incident: "inc-1".to_owned(),
        reason: "Cooling.".to_owned(),
        until: Some(soon),
        plan_required: false,
    };
    bench.judge.rule("opencode:ses_1", cooling);
    let mut client = bench.client().await;
    client.send(request(OPENCODE)).await;
    let questions = |events: &[Event]| events.iter().filter(|event| matches!(event.body, Body::ModelAsked(_))).count();
    let events = bench.judge.wait_for_events(|events| questions(events) == 2).await;
    assert!(events.last().is_some_and(|again| again.at >= soon), "{events:?}");
}

#[tokio::test]
async fn a_held_request_is_refused_at_once_when_a_person_stops_its_session() {
    let bench = bench_with(|config| config.hold = Duration::from_secs(600)).await;
    let mut client = held(&bench).await;
    let stop = Verdict::Stop { incident: "inc-2".to_owned(), reason: "Enough.".to_owned() };
    bench.judge.rule("opencode:ses_1", stop);
    let (status, error) = client.complaint().await;
    assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 402 Payment Required", &"belay_killed".into()), "{error}");
    assert_eq!(error["message"], "Enough.");
}

#[tokio::test]
async fn an_agent_that_leaves_while_it_is_held_is_let_go() {
    let bench = bench_with(|config| config.hold = Duration::from_secs(600)).await;
    drop(held(&bench).await);
    let gone = bench.relay.wait_idle();
    tokio::time::timeout(TEST_TIMEOUT, gone).await.expect("the request to be dropped");
    assert_eq!(bench.relay.bytes_buffered(), 0, "and nothing of it is kept");
}

#[tokio::test]
async fn a_body_decides_whose_request_it_is_and_a_refused_one_never_counts_upstream() {
    let bench = bench().await;
    bench.judge.rule("legacy:m-7", hold("Held."));
    let mut client = bench.client().await;
    // Long enough that its start reaches the upstream before its end is sent.
    let filler = "x".repeat(200_000);
    let body = format!(r#"{{"messages":[{{"role":"user","content":"{filler}"}}],"metadata":{{"session_id":"m-7"}}}}"#);
    client
        .send(format!("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", body.len()))
        .await;
    client.send(&body[..body.len() - 10]).await;
    let mut upstream = bench.accept().await;
    upstream.read_head().await;
    client.send(&body[body.len() - 10..]).await;
    assert_eq!(client.complaint().await.0, "HTTP/1.1 402 Payment Required");
    let seen = upstream.read_all().await;
    assert!(seen.len() < body.len(), "the request must not be complete for the upstream");
}

#[tokio::test]
async fn a_nudge_goes_along_with_the_next_request() {
    let bench = bench().await;
    let nudge = Verdict::Nudge { finding: "fnd-1".to_owned(), message: "Read the error first.".to_owned() };
    bench.judge.rule("opencode:ses_1", nudge);
    let mut client = bench.client().await;
    client.send(request(OPENCODE)).await;
    let mut upstream = bench.accept().await;
    let head = upstream.read_head().await;
    let length: usize = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
    let body = upstream.read_exactly(length).await;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let note = body["messages"][1]["content"].as_str().unwrap();
    assert!(note.contains("Read the error first."), "{note}");
    upstream.send(ok("")).await;
    let delivered = |event: &Event| matches!(&event.body, Body::Delivered(delivered) if delivered.finding == "fnd-1");
    bench.judge.wait_for_events(|events| events.iter().any(delivered)).await;
}

#[tokio::test]
async fn a_nudge_goes_along_with_a_packed_request_which_is_unpacked_for_it() {
    let bench = bench().await;
    let nudge = Verdict::Nudge { finding: "fnd-1".to_owned(), message: "Read the error first.".to_owned() };
    bench.judge.rule("opencode:ses_1", nudge);
    let plain = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"tools":[1]}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(plain.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\n{OPENCODE}Content-Length: {}\r\n\r\n",
        packed.len()
    );
    let request = [head.as_bytes(), &packed].concat();
    let mut client = bench.client().await;
    client.send(&request).await;
    let mut upstream = bench.accept().await;
    let head = upstream.read_head().await;
    assert!(!head.to_ascii_lowercase().contains("content-encoding"), "{head}");
    let length: usize = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
    let body: serde_json::Value = serde_json::from_slice(&upstream.read_exactly(length).await).unwrap();
    assert_eq!(body["messages"][0]["content"], "Fix");
    assert!(body["messages"][1]["content"].as_str().unwrap().contains("Read the error first."), "{body}");
    // The next one is relayed unchanged.
    upstream.send(ok("")).await;
    client.read_exactly(ok("").len()).await;
    bench.judge.rule("opencode:ses_1", Verdict::Go);
    client.send(&request).await;
    assert!(upstream.read_head().await.contains("Content-Encoding: gzip\r\n"));
    assert_eq!(upstream.read_exactly(packed.len()).await, packed);
}

#[tokio::test]
async fn a_nudge_that_is_not_wanted_here_changes_nothing() {
    let bench = bench_with(|config| config.nudge = false).await;
    let nudge = Verdict::Nudge { finding: "fnd-1".to_owned(), message: "Read the error first.".to_owned() };
    bench.judge.rule("opencode:ses_1", nudge);
    let mut client = bench.client().await;
    client.send(request(OPENCODE)).await;
    let mut upstream = bench.accept().await;
    let request = request(OPENCODE);
    let (_, sent) = request.split_once("\r\n\r\n").unwrap();
    let head = upstream.read_head().await;
    assert!(head.contains(&format!("Content-Length: {}\r\n", sent.len())), "{head}");
    assert_eq!(upstream.read_exactly(sent.len()).await, sent.as_bytes());
    let answer = ok(r#"{"id":"c-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#);
    upstream.send(answer.replace("Content-Length", "Content-Type: application/json\r\nContent-Length")).await;
    let answered = |event: &Event| matches!(event.body, Body::ModelAnswered(_));
    let events = bench.judge.wait_for_events(|events| events.iter().any(answered)).await;
    let delivered = |event: &Event| matches!(event.body, Body::Delivered(_));
    assert!(!events.iter().any(delivered), "nobody has told the agent: {events:?}");
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// An upstream that has read the request and started to stream.
async fn streaming(bench: &Bench, client: &mut Peer) -> Peer {
    client.send(request(OPENCODE)).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(r#""tools":[1]}"#).await;
    upstream.send(STREAM).await;
    client.read_head().await;
    upstream
}

#[tokio::test]
async fn a_chanting_answer_is_cut_and_ends_properly() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let mut upstream = streaming(&bench, &mut client).await;
    let event = "data: {\"id\":\"c-1\",\"choices\":[{\"delta\":{\"content\":\"I will fix the test now and then I will \"}}]}\n\n";
    let degenerate = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        let mut sent = 0;
        while upstream.0.write_all(chunk(event).as_bytes()).await.is_ok() {
            sent += 1;
            assert!(sent < 1_000_000, "nobody cuts it off");
        }
    });
    let answer = client.read_to("0\r\n\r\n").await;
    assert!(answer.contains("Belay ended this response here"), "{answer}");
    assert!(answer.contains("\"finish_reason\":\"stop\"") && answer.contains("data: [DONE]"), "{answer}");
    degenerate.await.unwrap();
    let answered = |event: &Event| matches!(&event.body, Body::ModelAnswered(answer) if answer.degenerate && answer.stop.as_deref() == Some("belay_repetition"));
    bench.judge.wait_for_events(|events| events.iter().any(answered)).await;
    // The connection is good for the next request.
    client.send(request(OPENCODE)).await;
    bench.accept().await.read_head().await;
}

#[tokio::test]
async fn an_answer_that_uses_up_the_budget_is_cut_and_ends_properly() {
    let bench = bench().await;
    *bench.judge.left.lock().unwrap() = Some(100);
    let mut client = bench.client().await;
    let mut upstream = streaming(&bench, &mut client).await;
    // About four bytes per token.
    let words: String = (0..100).map(|n| format!("word{n} ")).collect();
    let event = format!("data: {{\"id\":\"c-1\",\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n");
    upstream.send(chunk(&event)).await;
    let answer = client.read_to("0\r\n\r\n").await;
    assert!(answer.contains("the budget is used up") && answer.contains("data: [DONE]"), "{answer}");
    upstream.closed().await;
    let cut = |event: &Event| matches!(&event.body, Body::ModelAnswered(answer) if answer.stop.as_deref() == Some("belay_budget") && answer.usage.is_some_and(|usage| usage.output > 100));
    bench.judge.wait_for_events(|events| events.iter().any(cut)).await;
}

#[tokio::test]
async fn a_sub_agent_of_a_held_session_is_held() {
    let bench = bench().await;
    bench.judge.rule("codex:01a1", hold("Held."));
    let mut client = bench.client().await;
    client
        .send(request("User-Agent: codex_exec/0.166.0 (x)\r\nThread-Id: 01a2\r\nX-Codex-Parent-Thread-Id: 01a1\r\n"))
        .await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 400 "));
    client.read_to("Held.").await;
}

#[tokio::test]
async fn a_client_that_waits_for_a_go_ahead_is_refused_without_it() {
    let bench = bench().await;
    bench.judge.rule("opencode:ses_1", hold("Held."));
    let mut client = bench.client().await;
    let head = request(OPENCODE).replace("Content-Length", "Expect: 100-continue\r\nContent-Length");
    let (head, body) = head.split_once("\r\n\r\n").unwrap();
    client.send(format!("{head}\r\n\r\n")).await;
    assert_eq!(client.read_head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(body).await;
    assert_eq!(client.complaint().await.0, "HTTP/1.1 402 Payment Required");
}

#[tokio::test]
async fn a_kill_ends_a_stream_at_once() {
    let bench = bench().await;
    let mut client = bench.client().await;
    let mut upstream = streaming(&bench, &mut client).await;
    upstream.send(chunk("data: {\"id\":\"c-1\",\"choices\":[{\"delta\":{\"content\":\"Working\"}}]}\n\n")).await;
    client.read_to("\n\n\r\n").await;
    bench.judge.rule("opencode:ses_1", Verdict::Stop { incident: "inc-1".to_owned(), reason: "Killed.".to_owned() });
    let end = client.read_to("0\r\n\r\n").await;
    assert!(end.contains("a person stopped this session") && end.contains("[DONE]"), "{end}");
    upstream.closed().await;
}

#[tokio::test]
async fn a_kill_before_the_first_word_is_a_refusal() {
    // With a shared budget, the request was checked and admitted.
    for shared in [false, true] {
        let bench = bench().await;
        bench.judge.outdated.store(shared, Ordering::Relaxed);
        let mut client = bench.client().await;
        client.send(request(OPENCODE)).await;
        let mut upstream = bench.accept().await;
        upstream.read_to(r#""tools":[1]}"#).await;
        bench
            .judge
            .rule("opencode:ses_1", Verdict::Stop { incident: "inc-1".to_owned(), reason: "Killed.".to_owned() });
        let (status, error) = client.complaint().await;
        assert_eq!((status.as_str(), &error["code"]), ("HTTP/1.1 402 Payment Required", &"belay_killed".into()));
        upstream.closed().await;
    }
}
