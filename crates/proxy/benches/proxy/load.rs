//! What is asked: a conversation that grows by a tool call and its result with every request.

use std::net::SocketAddr;

/// A conversation of about a given size.
pub(crate) struct Conversation {
    messages: String,
    size: usize,
    turn: usize,
    streaming: bool,
}

impl Conversation {
    pub(crate) fn new(size: usize, streaming: bool) -> Self {
        let mut talk = Self { messages: String::new(), size, turn: 0, streaming };
        talk.messages.push_str(
            r#"{"role":"system","content":"You are a coding agent."},{"role":"user","content":"Fix the tests."}"#,
        );
        while talk.messages.len() + 600 < size {
            talk.grow();
        }
        talk
    }

    /// Another call and its result: code-like text, with the escapes that code has. A conversation
    /// that got too long for its class starts anew, as an agent's does after compaction.
    pub(crate) fn grow(&mut self) {
        if self.messages.len() > self.size + self.size / 4 + 2000 {
            *self = Self::new(self.size, self.streaming);
        }
        let turn = self.turn;
        let line = format!(
            "fn step_{turn}() -> Result<(), Error> {{\\n    let value = \\\"{turn}\\\";\\n    check(value)?;\\n}}\\n"
        );
        let output = line.repeat(6);
        self.messages.push_str(&format!(
            r#",{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{turn}","type":"function","function":{{"name":"bash","arguments":"{{\"command\":\"sed -n {turn}p src/lib.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{turn}","content":"{output}"}}"#
        ));
        self.turn += 1;
    }

    /// The request as it stands now, with further header `lines`.
    pub(crate) fn request(&self, host: SocketAddr, session: &str, lines: &str) -> Vec<u8> {
        let stream = if self.streaming { r#""stream":true,"stream_options":{"include_usage":true},"# } else { "" };
        let body_len = self.messages.len() + stream.len() + r#"{"model":"m",}"#.len() + r#""messages":[]"#.len();
        let accept = if self.streaming { "text/event-stream" } else { "application/json" };
        let mut request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nauthorization: Bearer sk-bench\r\n\
             content-type: application/json\r\naccept: {accept}\r\nuser-agent: opencode/1\r\n\
             x-session-id: ses_{session}\r\n{lines}accept-encoding: identity\r\ncontent-length: {body_len}\r\n\r\n"
        );
        request.push_str(r#"{"model":"m","#);
        request.push_str(stream);
        request.push_str(r#""messages":["#);
        request.push_str(&self.messages);
        request.push_str("]}");
        request.into_bytes()
    }
}
