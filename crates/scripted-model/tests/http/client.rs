//! A minimal client: one request per connection, without any HTTP library.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the response ended by its framing, not by a closed connection.
    pub(crate) complete: bool,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("a text body")
    }
}

pub(crate) fn post(address: SocketAddr, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    ask(address, "POST", path, headers, body)
}

pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut stream = send(address, method, path, headers, body);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    parse(&bytes)
}

/// Sends a request; the caller reads the response.
pub(crate) fn send(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the model listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).expect("head sent");
    stream.write_all(body).expect("body sent");
    stream
}

pub(crate) fn hang_up(stream: &TcpStream) {
    stream.shutdown(Shutdown::Both).expect("hung up");
}

fn parse(bytes: &[u8]) -> Reply {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Reply { status: 0, head: String::new(), body: vec![], complete: false };
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a text head").to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let rest = &bytes[end + 4..];
    if !head.contains("transfer-encoding: chunked") {
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        return Reply { status, body: rest.to_vec(), complete: length == Some(rest.len()), head };
    }
    let (body, complete) = dechunk(rest);
    Reply { status, head, body, complete }
}

fn dechunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&rest[..line]).expect("a chunk size");
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        if size == 0 {
            return (body, true);
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 2 + size + 2..];
    }
    (body, false)
}
