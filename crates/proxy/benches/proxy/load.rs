//! The workload: a conversation that grows by a tool call and its result with every request.

use std::net::SocketAddr;

/// A conversation of about a given size.
pub(crate) struct Conversation {
    messages: String,
    /// Length of the initial part of `messages`.
    beginning: usize,
    size: usize,
    turn: usize,
    streaming: bool,
}

impl Conversation {
    pub(crate) fn new(size: usize, streaming: bool) -> Self {
        let mut messages =
            r#"{"role":"system","content":"You are a coding agent."},{"role":"user","content":"Make the tests pass."}"#
                .to_owned();
        for read in 0.. {
            let text = lines(&format!("context_{read}"), 20);
            if messages.len() + text.len() > size {
                break;
            }
            messages.push_str(&format!(r#",{{"role":"assistant","content":"{text}"}}"#));
        }
        Self { beginning: messages.len(), messages, size, turn: 0, streaming }
    }

    /// Adds a call and its result, as in healthy work: the agent writes a step, and the step's test passes. A
    /// conversation that got too long for its class goes back to its beginning, as an agent's does after compaction.
    pub(crate) fn grow(&mut self) {
        if self.messages.len() > self.size + self.size / 4 + 2000 {
            self.messages.truncate(self.beginning);
        }
        let (turn, step) = (self.turn, self.turn / 2);
        let code = lines(&format!("step_{step}"), if self.size < 10_000 { 1 } else { 6 });
        let (tool, input, output) = match turn % 2 {
            0 => ("write", format!(r#"\"filePath\":\"src/step_{step}.rs\",\"content\":\"step {step}\""#), code),
            _ => (
                "bash",
                format!(r#"\"command\":\"cargo test step_{step}\""#),
                format!("{code}test step_{step} ... ok\\n\\ntest result: ok. 1 passed; 0 failed"),
            ),
        };
        self.messages.push_str(&format!(
            r#",{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{turn}","type":"function","function":{{"name":"{tool}","arguments":"{{{input}}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{turn}","content":"{output}"}}"#
        ));
        self.turn += 1;
    }

    /// How long its messages are.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// The current request, with additional headers `lines`.
    pub(crate) fn request(&self, host: SocketAddr, session: &str, lines: &str) -> Vec<u8> {
        let stream = if self.streaming { r#""stream":true,"stream_options":{"include_usage":true},"# } else { "" };
        // Without tools it would count as auxiliary, which is hardly inspected.
        let tools = r#""tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}]"#;
        let body_len = self.messages.len() + stream.len() + r#"{"model":"m","messages":[],}"#.len() + tools.len();
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
        request.push_str("],");
        request.push_str(tools);
        request.push('}');
        request.into_bytes()
    }
}

/// So many lines of code, with the escapes that code has in JSON.
fn lines(name: &str, count: usize) -> String {
    let line = |n: usize| format!("fn {name}_{n}() -> Result<(), Error> {{\\n    check(\\\"{name} {n}\\\")?;\\n}}\\n");
    (0..count).map(line).collect()
}
