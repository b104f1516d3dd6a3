//! Responses that are cut in the middle of a block.

use std::io::Write;

use belay_core::{Body, Event};

use crate::support::{Bench, Peer, TEST_TIMEOUT, bench};

/// A request of Claude Code whose response has started.
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
    bench.judge.wait_for_events(ended_by("belay_budget")).await;
}

/// Compresses a stream event by event.
trait Packer: Send {
    fn pack(&mut self, text: &str) -> Vec<u8>;
    fn unpack(&self, packed: &[u8]) -> String;
}

struct Gzip(flate2::write::GzEncoder<Vec<u8>>);

impl Packer for Gzip {
    fn pack(&mut self, text: &str) -> Vec<u8> {
        self.0.write_all(text.as_bytes()).unwrap();
        self.0.flush().unwrap();
        std::mem::take(self.0.get_mut())
    }

    fn unpack(&self, packed: &[u8]) -> String {
        std::io::read_to_string(flate2::read::GzDecoder::new(packed)).unwrap()
    }
}

/// Zstandard with raw blocks; the first piece has the frame header.
struct Zstd(Vec<u8>);

impl Packer for Zstd {
    fn pack(&mut self, text: &str) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.0);
        out.extend_from_slice(&((text.len() as u32) << 3).to_le_bytes()[..3]);
        out.extend_from_slice(text.as_bytes());
        out
    }

    fn unpack(&self, packed: &[u8]) -> String {
        std::io::read_to_string(ruzstd::decoding::StreamingDecoder::new(packed).unwrap()).unwrap()
    }
}

/// Brotli with uncompressed meta-blocks; the first piece has the window size.
struct Brotli(bool);

impl Packer for Brotli {
    fn pack(&mut self, text: &str) -> Vec<u8> {
        // A 16-bit window is encoded in one bit; an uncompressed meta-block follows.
        let bits = u32::from(std::mem::take(&mut self.0));
        let header = (((text.len() as u32 - 1) << 3) | (1 << 19)) << bits;
        let mut out = header.to_le_bytes()[..3].to_vec();
        out.extend_from_slice(text.as_bytes());
        out
    }

    fn unpack(&self, packed: &[u8]) -> String {
        std::io::read_to_string(brotli_decompressor::Decompressor::new(packed, 4096)).unwrap()
    }
}

/// The payload of a chunked body, until its end or the connection's.
async fn payload(client: &mut Peer) -> Vec<u8> {
    let mut payload = Vec::new();
    loop {
        let line = client.read_to("\r\n").await;
        match usize::from_str_radix(line.trim_end(), 16).unwrap() {
            0 => return payload,
            size => payload.extend(client.read_exactly(size).await),
        }
        client.read_exactly(2).await;
    }
}

/// Valid only for clients that send `TE`, which none does here: only a faulty server compresses per hop.
#[tokio::test]
async fn an_answer_that_is_packed_for_the_hop_is_read_and_passed_on_as_it_is() {
    let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n";
    let end = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let text = format!("{}{delta}{end}", CALL.replace("tool_use", "text"));
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let packed = Gzip(gzip).pack(&text);
    let body = [format!("{:x}\r\n", packed.len()).as_bytes(), &packed, b"\r\n0\r\n\r\n"].concat();
    for (codings, is_read) in [("gzip, chunked", true), ("GZip , Chunked", true), ("br, gzip, chunked", false)] {
        let bench = bench().await;
        let mut client = bench.client().await;
        let head = EVENTS.replace("chunked", codings);
        let mut upstream = streaming(&bench, &mut client, &head).await;
        upstream.send(&body).await;
        assert_eq!(client.read_exactly(body.len()).await, body, "{codings}");
        // Both peers see the end, regardless of how they interpret the codings.
        client.closed().await;
        upstream.closed().await;
        drop(client);
        let mut next = bench.client().await;
        let mut upstream = streaming(&bench, &mut next, &EVENTS.replace("200 OK", "529 Overloaded")).await;
        upstream.send("2\r\n{}\r\n0\r\n\r\n").await;
        let failed = |event: &Event| matches!(event.body, Body::ModelFailed(_));
        let events = bench.judge.wait_for_events(|events| events.iter().any(failed)).await;
        let text = events.iter().find_map(|event| match &event.body {
            Body::ModelAnswered(answer) => Some(answer.text.to_string()),
            _ => None,
        });
        assert_eq!(text.as_deref(), is_read.then_some("Hi"), "{codings}");
    }
}

#[tokio::test]
async fn a_compressed_answer_is_cut_and_unpacks_to_a_proper_end() {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let packers: [(&str, Box<dyn Packer>, u64, usize); 5] = [
        ("gzip", Box::new(Gzip(gzip)), 1000, 0),
        ("br", Box::new(Brotli(true)), 1000, 0),
        ("br", Box::new(Brotli(true)), 40_000, 2_000_000),
        ("zstd", Box::new(Zstd(vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x58])), 1000, 0),
        ("zstd", Box::new(Zstd(vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x58])), 40_000, 2_000_000),
    ];
    for (encoding, mut packer, tokens, at_least) in packers {
        let bench = bench().await;
        *bench.judge.left.lock().unwrap() = Some(tokens);
        let mut client = bench.client().await;
        let head = EVENTS.replace("Transfer", &format!("Content-Encoding: {encoding}\r\nTransfer"));
        let mut upstream = streaming(&bench, &mut client, &head).await;
        let text = CALL.replace("tool_use", "text");
        let mut event = packer.pack(&text);
        let sending = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            for n in 0.. {
                let raw = [format!("{:x}\r\n", event.len()).as_bytes(), &event, b"\r\n"].concat();
                if upstream.0.write_all(&raw).await.is_err() {
                    return packer;
                }
                assert!(n < 100_000, "nobody cuts it off");
                event = packer.pack(&format!(
                    "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"word {n} \"}}}}\n\n"
                ));
            }
            packer
        });
        let packed = tokio::time::timeout(TEST_TIMEOUT, payload(&mut client)).await.expect("an end");
        assert!(packed.len() >= at_least, "{encoding}: {}", packed.len());
        let text = sending.await.unwrap().unpack(&packed);
        assert!(text.contains("the budget is used up"), "{encoding}: {text}");
        assert!(text.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"), "{encoding}: {text}");
        bench.judge.wait_for_events(ended_by("belay_budget")).await;
    }
}

/// How a response was cut: reason, input and output tokens, and notes.
fn record(events: &[Event]) -> Option<(String, u64, u64, String)> {
    let answer = events.iter().find_map(|event| match &event.body {
        Body::ModelAnswered(answer) => Some(answer),
        _ => None,
    })?;
    let remark = events.iter().find_map(|event| match &event.body {
        Body::Note(note) => Some(note.text.to_string()),
        _ => None,
    })?;
    let usage = answer.usage.unwrap();
    Some((answer.stop.clone().unwrap(), usage.input, usage.output, remark))
}

#[tokio::test]
async fn what_was_cut_is_on_record_with_what_it_had_cost() {
    let prose: String = (0..250).map(|n| format!("word{n:03} ")).collect();
    let chant = "I will fix it now. ".repeat(1_000);
    for (left, text, why) in [(Some(100), &prose, "belay_budget"), (None, &chant, "belay_repetition")] {
        let bench = bench().await;
        *bench.judge.left.lock().unwrap() = left;
        let mut client = bench.client().await;
        let mut upstream = streaming(&bench, &mut client, EVENTS).await;
        upstream.send(chunk(&CALL.replace("tool_use", "text"))).await;
        let delta = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
        );
        upstream.send(chunk(&delta)).await;
        let answer = client.read_to("0\r\n\r\n").await;
        let events = bench.judge.wait_for_events(|events| record(events).is_some()).await;
        let (stop, asked, cost, remark) = record(&events).unwrap();
        // The upstream reported only the input usage; the output is estimated at four bytes per token.
        assert_eq!((stop.as_str(), asked, cost), (why, 9, text.len() as u64 / 4));
        assert!(answer.contains(remark.split('"').next().unwrap()), "the agent reads what is remarked: {remark}");
        match left {
            Some(_) => assert!(remark.contains("the budget is used up"), "{remark}"),
            None => assert!(remark.contains(&format!("after {} bytes", text.len())), "{remark}"),
        }
    }
}
