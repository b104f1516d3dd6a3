//! A minimal HTTP client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::upstream::find;

/// One keep-alive connection.
pub(crate) struct Client {
    address: SocketAddr,
    stream: TcpStream,
    buf: Vec<u8>,
}

/// When the first and the last byte of a response arrived.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) first: Duration,
    pub(crate) total: Duration,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, stream: connect(address), buf: vec![0; 1 << 16] }
    }

    /// Sends a request and reads the complete response, which must be successful.
    pub(crate) fn ask(&mut self, request: &[u8]) -> Timing {
        self.try_ask(request).unwrap_or_else(|problem| panic!("{}: {problem}", self.address))
    }

    /// Like [`Client::ask`], but returns errors.
    pub(crate) fn try_ask(&mut self, request: &[u8]) -> Result<Timing, String> {
        self.hear(request, |_| {})
    }

    /// Like [`Client::try_ask`], and passes on every piece of the response.
    pub(crate) fn hear(&mut self, request: &[u8], mut each: impl FnMut(&[u8])) -> Result<Timing, String> {
        let start = Instant::now();
        self.stream.write_all(request).map_err(|error| error.to_string())?;
        let mut have = 0;
        let mut first = None;
        loop {
            let n = self.stream.read(&mut self.buf[have..]).map_err(|error| error.to_string())?;
            if n == 0 {
                return Err(format!("closed in the middle: {}", String::from_utf8_lossy(&self.buf[..have])));
            }
            first.get_or_insert_with(|| start.elapsed());
            each(&self.buf[have..have + n]);
            have += n;
            if complete(&self.buf[..have]) {
                break;
            }
        }
        let total = start.elapsed();
        let answer = &self.buf[..have];
        if !answer.starts_with(b"HTTP/1.1 200") {
            return Err(String::from_utf8_lossy(answer).lines().next().unwrap_or_default().to_owned());
        }
        if find(&answer[..have.min(1024)], b"onnection: close").is_some() {
            self.stream = connect(self.address);
        }
        Ok(Timing { first: first.unwrap_or(total), total })
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("nodelay");
    stream
}

fn complete(answer: &[u8]) -> bool {
    let Some(head) = find(answer, b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
    match text.lines().find_map(|line| line.strip_prefix("content-length:")) {
        Some(length) => answer.len() >= head + 4 + length.trim().parse::<usize>().expect("a length"),
        None => answer.ends_with(b"\r\n0\r\n\r\n"),
    }
}
