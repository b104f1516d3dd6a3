//! One POST over HTTP/1.1 on the calling thread, bounded in time and size.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::guard::is_local_network;
use crate::resolve::{ResolveError, resolve_blocking};
use crate::tls::{TlsError, client_config};
use crate::url::HttpUrl;

/// Longest status line and headers; the body of a response is not read.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// Why a POST got no response.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    #[error("cannot resolve {host}: {source}")]
    Resolve { host: String, source: ResolveError },
    #[error("{0} is not on this machine or a private network, and plain http is used; use https")]
    PlainHttp(String),
    #[error("cannot connect to {address}: {source}")]
    Connect { address: SocketAddr, source: io::Error },
    #[error("TLS failed: {0}")]
    Tls(String),
    #[error("timed out")]
    Timeout,
    #[error(transparent)]
    Io(io::Error),
    #[error("the receiver closed the connection without a response")]
    Closed,
    #[error("the headers of the response are too long")]
    TooLong,
    #[error("the response is not HTTP: {0}")]
    NotHttp(httparse::Error),
}

impl From<TlsError> for PostError {
    fn from(error: TlsError) -> Self {
        Self::Tls(error.to_string())
    }
}

impl From<io::Error> for PostError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Io(error),
        }
    }
}

/// Sends a request and returns the status of the response. Plain http goes to this machine and to
/// private networks only.
pub fn post(url: &HttpUrl, headers: &[(&str, String)], body: &[u8], timeout: Duration) -> Result<u16, PostError> {
    let deadline = Instant::now() + timeout;
    let stream = DeadlineStream { stream: connect(&addresses(url)?, deadline)?, deadline };
    let mut request = format!("POST {} HTTP/1.1\r\nhost: {}\r\n", url.request_target(), url.authority);
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len()));
    let mut request = request.into_bytes();
    request.extend_from_slice(body);
    if !url.tls {
        return exchange(&mut { stream }, &request);
    }
    let name = ServerName::try_from(url.host.clone()).map_err(|error| PostError::Tls(error.to_string()))?;
    let session = ClientConnection::new(shared_config()?, name).map_err(|error| PostError::Tls(error.to_string()))?;
    exchange(&mut StreamOwned::new(session, stream), &request)
}

fn addresses(url: &HttpUrl) -> Result<Vec<SocketAddr>, PostError> {
    let resolved = resolve_blocking(&url.host, url.port);
    let mut addresses = resolved.map_err(|source| PostError::Resolve { host: url.host.clone(), source })?;
    addresses.retain(|address| url.tls || is_local_network(address.ip()));
    if addresses.is_empty() { Err(PostError::PlainHttp(url.host.clone())) } else { Ok(addresses) }
}

fn connect(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, PostError> {
    let mut last = PostError::Timeout;
    for &address in addresses {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(PostError::Timeout);
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(source) => last = PostError::Connect { address, source },
        }
    }
    Err(last)
}

/// One configuration for all requests: reading the machine's certificates is slow.
fn shared_config() -> Result<Arc<ClientConfig>, TlsError> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, TlsError>> = OnceLock::new();
    CONFIG.get_or_init(|| client_config(None).map(Arc::new)).clone()
}

/// A stream whose every read and write ends at the deadline.
struct DeadlineStream {
    stream: TcpStream,
    deadline: Instant,
}

impl DeadlineStream {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> Result<u16, PostError> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut response = Vec::new();
    let mut chunk = [0; 2048];
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Response::new(&mut headers);
        match parsed.parse(&response).map_err(PostError::NotHttp)? {
            httparse::Status::Complete(_) => return parsed.code.ok_or(PostError::NotHttp(httparse::Error::Status)),
            httparse::Status::Partial if response.len() < MAX_RESPONSE_BYTES => {}
            httparse::Status::Partial => return Err(PostError::TooLong),
        }
        match stream.read(&mut chunk)? {
            0 => return Err(PostError::Closed),
            read => response.extend_from_slice(&chunk[..read]),
        }
    }
}
