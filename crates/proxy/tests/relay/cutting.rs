//! Answers that are ended in the middle of something.

use belay_core::{Body, Event};

use crate::support::{Bench, Peer, bench};

/// Claude Code asks, and the answer has begun.
async fn streaming(bench: &Bench, client: &mut Peer, head: &str) -> Peer {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Fix"}],"tools":[1]}"#;
    let lines = "Host: h\r\nUser-Agent: claude-cli/2.1.325 (x)\r\nX-Claude-Code-Session-Id: s-1\r\n";
    let length = body.len();
    client.send(format!("POST /v1/messages HTTP/1.1\r\n{lines}Content-Length: {length}\r\n\r\n{body}")).await;
    let mut upstream = bench.accept().await;
    upstream.read_to(r#""tools":[1]}"#).await;
    upstream.send(head).await;
    client.read_head().await;
    upstream
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn ended_by(stop: &'static str) -> impl Fn(&[Event]) -> bool {
    move |events| {
        let is =
            |event: &Event| matches!(&event.body, Body::ModelAnswered(answer) if answer.stop.as_deref() == Some(stop));
        events.iter().any(is)
    }
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

const CALL: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{}}}\n\n";

#[tokio::test]
async fn a_call_that_uses_up_the_budget_is_never_closed() {
    let bench = bench().await;
    *bench.judge.left.lock().unwrap() = Some(100);
    let mut client = bench.client().await;
    let mut upstream = streaming(&bench, &mut client, EVENTS).await;
    let words: String = (0..100).map(|n| format!("word{n} ")).collect();
    let input = format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{{\\\"command\\\":\\\"echo {words}\"}}}}\n\n"
    );
    upstream.send(chunk(CALL)).await;
    upstream.send(chunk(&input)).await;
    let answer = client.read_to("0\r\n\r\n").await;
    assert!(answer.contains("the budget is used up") && answer.contains("message_stop"), "{answer}");
    let closed = |index: u8| answer.contains(&format!(r#"{{"index":{index},"type":"content_block_stop"}}"#));
    assert!(closed(1) && !closed(0), "{answer}");
    upstream.closed().await;
    bench.judge.heard(ended_by("belay_budget")).await;
}
