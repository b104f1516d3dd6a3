//! One POST over HTTP/1.1, bounded in time and size.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::address::Address;

/// A status line and some headers; the body does not interest us.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// Sends a request and tells the status of the answer.
pub(super) fn post(
    address: &Address,
    headers: &[(&str, String)],
    body: &[u8],
    patience: Duration,
) -> Result<u16, String> {
    let deadline = Instant::now() + patience;
    let stream = connect(&address.resolve()?, deadline)?;
    let mut request = format!("POST {} HTTP/1.1\r\nhost: {}\r\n", address.path, host(address));
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len()));
    let mut request = request.into_bytes();
    request.extend_from_slice(body);
    if address.tls {
        let name = ServerName::try_from(address.host.clone()).map_err(|error| error.to_string())?;
        let session = ClientConnection::new(tls()?, name).map_err(|error| error.to_string())?;
        exchange(&mut StreamOwned::new(session, DeadlineStream { stream, deadline }), &request)
    } else {
        exchange(&mut DeadlineStream { stream, deadline }, &request)
    }
}

fn host(address: &Address) -> String {
    let name = if address.host.contains(':') { format!("[{}]", address.host) } else { address.host.clone() };
    match (address.tls, address.port) {
        (true, 443) | (false, 80) => name,
        (_, port) => format!("{name}:{port}"),
    }
}

fn connect(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, String> {
    let mut problem = "there is no address".to_owned();
    for address in addresses {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("connecting took too long".to_owned());
        }
        match TcpStream::connect_timeout(address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => problem = format!("{address}: {error}"),
        }
    }
    Err(problem)
}

/// A stream whose every read and write ends at the deadline.
struct DeadlineStream {
    stream: TcpStream,
    deadline: Instant,
}

impl DeadlineStream {
    fn left(&self) -> std::io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(std::io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> Result<u16, String> {
    let said = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => "it took too long".to_owned(),
        _ => error.to_string(),
    };
    stream.write_all(request).and_then(|()| stream.flush()).map_err(said)?;
    let mut answer = Vec::new();
    let mut chunk = [0; 2048];
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&answer) {
            Ok(httparse::Status::Complete(_)) => return response.code.ok_or_else(|| "no status".to_owned()),
            Ok(httparse::Status::Partial) if answer.len() < MAX_RESPONSE_BYTES => {}
            Ok(httparse::Status::Partial) => return Err("the answer has no end".to_owned()),
            Err(error) => return Err(format!("this is no HTTP: {error}")),
        }
        match stream.read(&mut chunk).map_err(said)? {
            0 => return Err("the receiver hung up".to_owned()),
            read => answer.extend_from_slice(&chunk[..read]),
        }
    }
}

/// Trusts what this machine trusts; where it trusts nobody, the roots we were built with.
fn tls() -> Result<Arc<ClientConfig>, String> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    let make = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::new(config))
    };
    CONFIG.get_or_init(make).clone()
}
