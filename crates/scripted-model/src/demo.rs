//! The scenario of `belay demo` and of the dashboard's guided trial: an agent that runs the same failing tests until it is
//! paused, and that solves its task after it was resumed.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::script::Script;

/// More turns than a loop needs to be paused.
pub const MAX_TURNS: usize = 20;
/// The task of the agent.
pub const TASK: &str = "Make the tests pass.";
/// Output of the tests before the agent is resumed.
pub const FAILING_OUTPUT: &str =
    "FAIL src/server.test.js\n  Error: listen EADDRINUSE: address already in use :::3000\n1 failing";

/// Header that makes the model follow the second branch of its script.
const RETRY_HEADER: &str = "x-demo-retry";
/// How often an agent that waits for a response asks whether to give up.
const PATIENCE_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum size of a response; far more than the script produces.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// What the model says: the same command again and again, and after the resume the solution.
pub fn script() -> Script {
    let second_attempt = Script::new()
        .shell("fuser -k 3000/tcp")
        .shell("npm test")
        .text("The port was taken by an old server. It is free now, and all tests pass.");
    Script::new()
        .shell("npm test")
        .repeat(MAX_TURNS)
        .text("The tests still fail, and I do not know why.")
        .branch(RETRY_HEADER, second_attempt)
}

/// The output of a command of the second attempt.
pub fn retry_output(command: &str) -> &'static str {
    if command.contains("test") { "12 passing" } else { "3000/tcp: 4711" }
}

/// A minimal agent: it sends the conversation to the model and answers the tool calls.
#[derive(Debug)]
pub struct Agent {
    address: String,
    path: String,
    headers: String,
    messages: Vec<Value>,
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelReply {
    Call(String),
    Text(String),
    /// Belay refused the request.
    Refused(String),
}

impl Agent {
    /// An agent that sends Chat Completions requests to `path` at the server `url`.
    pub fn new(url: &str, path: impl Into<String>) -> Self {
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let messages = vec![json!({ "role": "user", "content": TASK })];
        Self { address, path: path.into(), headers: String::new(), messages }
    }

    /// Sends a header with every further request.
    pub fn add_header(&mut self, name: &str, value: &str) {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
    }

    /// Continues with the second attempt.
    pub fn retry(&mut self) {
        self.add_header(RETRY_HEADER, "yes");
    }

    /// Sends the conversation and appends the reply. While the response is awaited, the agent goes on as long as
    /// `is_patient`; then the error is [`io::ErrorKind::TimedOut`].
    pub fn ask(&mut self, is_patient: impl Fn() -> bool) -> io::Result<ModelReply> {
        let tool = json!({
            "type": "function",
            "function": { "name": "bash", "parameters": {
                "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"],
            } },
        });
        let body = json!({ "model": "demo", "messages": self.messages, "tools": [tool] }).to_string();
        let mut stream = TcpStream::connect(&self.address)?;
        write!(
            stream,
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            self.address,
            self.headers,
            body.len()
        )?;
        let (status, answer) = read(stream, is_patient)?;
        let answer: Value = serde_json::from_slice(&answer)?;
        if status != 200 {
            let message = answer.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason given");
            return Ok(ModelReply::Refused(message.to_owned()));
        }
        let message = answer.pointer("/choices/0/message").cloned().unwrap_or_default();
        let call = message.pointer("/tool_calls/0/function/arguments").and_then(Value::as_str).map(str::to_owned);
        let text = message["content"].as_str().unwrap_or_default().to_owned();
        self.messages.push(message);
        Ok(match call.and_then(|input| serde_json::from_str::<Value>(&input).ok()) {
            Some(input) => ModelReply::Call(input["command"].as_str().unwrap_or_default().to_owned()),
            None => ModelReply::Text(text),
        })
    }

    /// Appends the output of the requested command.
    pub fn push_output(&mut self, output: &str) {
        let id = self.messages.last().and_then(|message| message.pointer("/tool_calls/0/id").cloned());
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": output }));
    }
}

/// Reads the status and the body of a response.
fn read(mut stream: TcpStream, is_patient: impl Fn() -> bool) -> io::Result<(u16, Vec<u8>)> {
    stream.set_read_timeout(Some(PATIENCE_INTERVAL))?;
    let mut received = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(response) = complete(&received)? {
            return Ok(response);
        }
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => received.extend_from_slice(&chunk[..read]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if !is_patient() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if received.len() > MAX_RESPONSE_BYTES {
            return Err(io::Error::other("the response is too long"));
        }
    }
}

/// Status and body of a response that has arrived as a whole.
fn complete(received: &[u8]) -> io::Result<Option<(u16, Vec<u8>)>> {
    let Some(end) = memchr::memmem::find(received, b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&received[..end]);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("invalid status line"))?;
    let length = head.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.ok_or_else(|| io::Error::other("the response has no length"))?;
    let body = &received[end + 4..];
    Ok((body.len() >= length).then(|| (status, body[..length].to_vec())))
}
