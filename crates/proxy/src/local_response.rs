//! Answers of our own: errors, pauses, refusals.

/// A whole answer with a body of known length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalResponse {
    status: u16,
    lines: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl LocalResponse {
    pub(crate) fn new(status: u16, body: Vec<u8>) -> Self {
        Self { status, lines: Vec::new(), body }
    }

    pub(crate) fn json(status: u16, body: String) -> Self {
        Self::new(status, body.into_bytes()).with_header("content-type", "application/json")
    }

    /// Adds a header line.
    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.lines.push((name, value.into()));
        self
    }

    /// As it goes over the wire. To a `HEAD` only the head is answered.
    pub(crate) fn to_bytes(&self, close: bool, headless: bool) -> Vec<u8> {
        let mut out = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.lines {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
        out.push_str(&format!("content-length: {}\r\n", self.body.len()));
        out.push_str(if close { "connection: close\r\n\r\n" } else { "\r\n" });
        let mut out = out.into_bytes();
        if !headless {
            out.extend_from_slice(&self.body);
        }
        out
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        423 => "Locked",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        431 => "Request Header Fields Too Large",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}
