//! A minimal agent: it sends the conversation to the model and answers the tool calls.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

/// The agent, with its conversation so far.
pub(super) struct Agent {
    address: String,
    session: String,
    /// A header that selects another branch of the model's script.
    pub(super) branch_header: Option<&'static str>,
    messages: Vec<Value>,
}

/// The reply to a request.
pub(super) enum ModelReply {
    Call(String),
    Text(String),
    /// Belay refused the request.
    Refused(String),
}

impl Agent {
    pub(super) fn new(url: &str, session: &str) -> Self {
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self {
            address,
            session: session.to_owned(),
            branch_header: None,
            messages: vec![json!({ "role": "user", "content": "Make the tests pass." })],
        }
    }

    /// Sends the conversation and appends the reply.
    pub(super) fn ask(&mut self) -> io::Result<ModelReply> {
        let tool = json!({
            "type": "function",
            "function": { "name": "bash", "parameters": {
                "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"],
            } },
        });
        let body = json!({ "model": "demo", "messages": self.messages, "tools": [tool] }).to_string();
        let mut stream = TcpStream::connect(&self.address)?;
        let branch_header = self.branch_header.map(|name| format!("{name}: yes\r\n")).unwrap_or_default();
        write!(
            stream,
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nX-Belay-Session: {}\r\nContent-Type: application/json\r\n\
             {branch_header}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.session,
            body.len()
        )?;
        let (status, answer) = read(stream)?;
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
    pub(super) fn push_output(&mut self, output: &str) {
        let id = self.messages.last().and_then(|message| message.pointer("/tool_calls/0/id").cloned());
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": output }));
    }
}

/// Reads the status and the body of a response.
fn read(stream: TcpStream) -> io::Result<(u16, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("invalid status line {line:?}")))?;
    let mut length = None;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<u64>().ok();
        }
    }
    let mut body = Vec::new();
    reader.take(length.unwrap_or(u64::MAX)).read_to_end(&mut body)?;
    Ok((status, body))
}
