//! A recorder in front of the proxy: the agent's own requests, byte for byte.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use belay_agent_tests::{Agent, Workbench};

/// Variables with the base URL of the model.
const BASE_URL_VARIABLES: &str =
    "ANTHROPIC_BASE_URL GOOGLE_GEMINI_BASE_URL COPILOT_PROVIDER_BASE_URL OPENCODE_CONFIG_CONTENT";

/// Relays to `target` and records what is sent to it.
pub(crate) struct RequestRecorder {
    address: SocketAddr,
    target: SocketAddr,
    /// The bytes of each connection.
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// A request without what a hop may change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SentRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// In order, with the original spelling of the names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Headers that belong to a hop, and the name of the host.
const HOP_HEADERS: [&str; 8] =
    ["host", "connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "proxy-connection"];

impl SentRequest {
    pub(crate) fn new(line: &str, headers: Vec<(String, String)>, body: Vec<u8>) -> Self {
        let mut parts = line.split(' ');
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let (method, path) = (part(), part());
        let headers =
            headers.into_iter().filter(|(name, _)| !HOP_HEADERS.contains(&name.to_ascii_lowercase().as_str()));
        Self { method, path, headers: headers.collect(), body }
    }

    /// The value of a header; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let line = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        line.map_or("", |(_, value)| value)
    }
}

impl RequestRecorder {
    pub(crate) fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let received: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let connections = Arc::clone(&received);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(target) else { return };
                let index = {
                    let mut connections = connections.lock().expect("no panic");
                    connections.push(Vec::new());
                    connections.len() - 1
                };
                let connections = Arc::clone(&connections);
                let (mut from, mut to) = (client.try_clone().expect("a handle"), server.try_clone().expect("a handle"));
                std::thread::spawn(move || {
                    relay(&mut from, &mut to, |bytes| connections.lock().expect("no panic")[index].extend(bytes))
                });
                let (mut from, mut to) = (server, client);
                std::thread::spawn(move || relay(&mut from, &mut to, |_| {}));
            }
        });
        Self { address, target, received }
    }

    /// The agent, started so that it connects to this recorder instead of the proxy.
    pub(crate) fn redirected(&self, agent: &Agent, bench: &Workbench) -> Agent {
        let dir = bench.root().join("redirected");
        std::fs::create_dir_all(&dir).expect("a directory");
        let program: PathBuf = dir.join(agent.program.file_name().expect("a name"));
        let script = format!(
            "#!/bin/sh\nswap() {{ printf %s \"$1\" | sed 's|{}|{}|g'; }}\n\
             for arg do shift; set -- \"$@\" \"$(swap \"$arg\")\"; done\n\
             for name in {BASE_URL_VARIABLES}; do eval \"value=\\${{$name-}}\"; [ -z \"$value\" ] || export \"$name=$(swap \"$value\")\"; done\n\
             exec '{}' \"$@\"\n",
            self.target,
            self.address,
            agent.program.display()
        );
        std::fs::write(&program, script).expect("a script");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("permission");
        Agent { setup: agent.setup, program }
    }

    /// All requests so far.
    pub(crate) fn sent(&self) -> Vec<SentRequest> {
        let received = self.received.lock().expect("no panic");
        let mut sent = Vec::new();
        for mut rest in received.iter().map(Vec::as_slice) {
            while let Some((request, after)) = read(rest) {
                sent.push(request);
                rest = after;
            }
            assert!(rest.is_empty(), "an incomplete request: {:?}", String::from_utf8_lossy(rest));
        }
        sent
    }
}

fn relay(from: &mut TcpStream, to: &mut TcpStream, mut record: impl FnMut(&[u8])) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        record(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// The first request in the bytes, and the rest.
fn read(bytes: &[u8]) -> Option<(SentRequest, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let header =
        |name: &str| headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let after = &bytes[end..];
    let (body, after) = match header("transfer-encoding") {
        Some(_) => chunks(after)?,
        None => {
            let length = header("content-length").map_or(0, |length| length.parse().expect("a number"));
            (after.get(..length)?.to_vec(), &after[length..])
        }
    };
    Some((SentRequest::new(&line, headers, body), after))
}

fn chunks(mut bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[..end]).expect("a size").split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        body.extend_from_slice(bytes.get(end + 2..end + 2 + size)?);
        bytes = bytes.get(end + 2 + size + 2..)?;
        if size == 0 {
            return Some((body, bytes));
        }
    }
}
