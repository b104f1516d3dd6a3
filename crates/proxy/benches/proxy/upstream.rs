//! A model API that responds immediately: the baseline of every measurement. It uses threads and blocking sockets, so
//! that its cost is low and equal for all targets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CHUNKS: usize = 50;
/// Number of events in a paced response.
pub(crate) const PACED: usize = 20;
const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// The usage of an unstreamed response.
pub(crate) const TOKENS: u64 = 110;

static ANSWERS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    crate::process::announce(listener.local_addr().expect("an address"));
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || answer_all(stream));
    }
}

fn answer_all(mut stream: TcpStream) {
    stream.set_nodelay(true).expect("nodelay");
    let body = r#"{"id":"chatcmpl-00000000","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Step 00000000 is done."},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}"#;
    let mut plain =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    plain.push_str(body);
    let mut buf = vec![0; 1 << 20];
    let mut have = 0;
    loop {
        let head_end = loop {
            if let Some(at) = find(&buf[..have], b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read(&mut buf[have..]) {
                Ok(n) if n > 0 => have += n,
                _ => return,
            }
        };
        let head = String::from_utf8_lossy(&buf[..head_end]).to_ascii_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .map_or(0, |value| value.trim().parse().expect("a length"));
        let streaming = head.contains("accept: text/event-stream");
        let pace = head.lines().find_map(|line| line.strip_prefix("x-pace-us:"));
        let mut left = length.saturating_sub(have - head_end);
        while left > 0 {
            match stream.read(&mut buf) {
                Ok(n) if n > 0 => left -= n,
                _ => return,
            }
        }
        have = 0;
        // Every response has its own id: a known one would not be recorded again.
        let id = format!("{:08}", ANSWERS.fetch_add(1, Ordering::Relaxed));
        let sent = match (streaming, pace) {
            (_, Some(pace)) => paced_answer(&mut stream, &id, pace.trim().parse().expect("a pace")),
            (true, None) => stream_answer(&mut stream, &id),
            (false, None) => stream.write_all(plain.replace("00000000", &id).as_bytes()),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Sends events at intervals, as a model does. Each contains its send time.
fn paced_answer(stream: &mut TcpStream, id: &str, pace: u64) -> std::io::Result<()> {
    stream.write_all(STREAM_HEAD)?;
    for _ in 0..PACED {
        std::thread::sleep(Duration::from_micros(pace));
        let at = nanos();
        let event = format!(
            r#"data: {{"id":"chatcmpl-{id}","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{{"content":"word {at} "}},"finish_reason":null}}]}}"#
        );
        stream.write_all(format!("{:x}\r\n{event}\n\n\r\n", event.len() + 2).as_bytes())?;
    }
    finish(stream, id)
}

/// The time, the same for all processes.
pub(crate) fn nanos() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "milliseconds are too coarse for a benchmark")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that was set");
    u64::try_from(since.as_nanos()).expect("not after the year 2500")
}

fn stream_answer(stream: &mut TcpStream, id: &str) -> std::io::Result<()> {
    stream.write_all(STREAM_HEAD)?;
    for _ in 0..CHUNKS {
        let event = format!(
            r#"data: {{"id":"chatcmpl-{id}","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{{"content":"some "}},"finish_reason":null}}]}}"#
        );
        stream.write_all(format!("{:x}\r\n{event}\n\n\r\n", event.len() + 2).as_bytes())?;
    }
    finish(stream, id)
}

fn finish(stream: &mut TcpStream, id: &str) -> std::io::Result<()> {
    let last = format!(
        "data: {{\"id\":\"chatcmpl-{id}\",\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":100,\"completion_tokens\":50}}}}\n\ndata: [DONE]\n\n"
    );
    stream.write_all(format!("{:x}\r\n{last}\r\n0\r\n\r\n", last.len()).as_bytes())
}

pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
