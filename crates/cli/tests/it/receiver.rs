//! A webhook receiver over HTTP or HTTPS.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver as Channel, channel};
use std::sync::{Arc, Mutex};

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::world::TEST_TIMEOUT;

/// One request: its head and its body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: serde_json::Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        value.unwrap_or_else(|| panic!("no {name}: {}", self.head))
    }
}

/// Listens until the test ends.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) port: u16,
    answer: Arc<Mutex<&'static str>>,
    requests: Channel<Request>,
}

pub(crate) const TAKEN: &str = "HTTP/1.1 204 No Content\r\n\r\n";

impl Receiver {
    pub(crate) fn start(answer: &'static str) -> Self {
        Self::listen(answer, None)
    }

    /// With a certificate for `localhost`; returns the CA certificate.
    pub(crate) fn start_tls(answer: &'static str) -> (Self, String) {
        let (config, authority) = certificates();
        (Self::listen(answer, Some(Arc::new(config))), authority)
    }

    fn listen(answer: &'static str, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (send, requests) = channel();
        let answer = Arc::new(Mutex::new(answer));
        let answers = Arc::clone(&answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let say = *answers.lock().unwrap();
                let request = match &tls {
                    Some(config) => {
                        let session = ServerConnection::new(Arc::clone(config)).unwrap();
                        serve(StreamOwned::new(session, stream), say)
                    }
                    None => serve(stream, say),
                };
                // The test is over.
                if request.is_some_and(|request| send.send(request).is_err()) {
                    return;
                }
            }
        });
        Self { port, answer, requests }
    }

    pub(crate) fn answers(&self, with: &'static str) {
        *self.answer.lock().unwrap() = with;
    }

    pub(crate) fn next(&self) -> Request {
        self.requests.recv_timeout(TEST_TIMEOUT).expect("a request")
    }

    /// Received requests that the test has not read.
    pub(crate) fn rest(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }
}

/// Reads one request and answers it; `None` if the other side gives up.
fn serve(mut stream: impl Read + Write, answer: &str) -> Option<Request> {
    let mut got = Vec::new();
    let mut chunk = [0; 1024];
    let (head, body) = loop {
        let read = stream.read(&mut chunk).ok().filter(|read| *read > 0)?;
        got.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&got);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            break (head.to_owned(), body);
        }
    };
    stream.write_all(answer.as_bytes()).ok()?;
    stream.flush().ok()?;
    Some(Request { head, body })
}

fn certificates() -> (ServerConfig, String) {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.der().clone()], key)
        .unwrap();
    (config, authority)
}

/// An unused port.
pub(crate) fn nobody() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap().port()
}
