//! Asking the resident process, within a time the agent does not notice.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use belay_config::Paths;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};

use crate::ask::{HookRequest, HookResponse};

/// How long the resident process may take, all in all.
const HOOK_TIMEOUT: Duration = Duration::from_millis(50);

/// Answers are a few kilobytes.
const MAX_RESPONSE_BYTES: u64 = 1024 * 1024;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum AskError {
    /// Nobody is there.
    NotRunning,
    /// Somebody is there, and does not answer or says no.
    Other(String),
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Self::NotRunning,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Other("it took too long".to_owned()),
            _ => Self::Other(error.to_string()),
        }
    }
}

#[derive(Serialize)]
struct Request<'a> {
    v: u16,
    op: &'static str,
    params: &'a HookRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Ok(HookResponse),
    Error(serde_json::Value),
}

pub(super) fn ask(places: &Paths, ask: &HookRequest) -> Result<HookResponse, AskError> {
    match ask_at(places.socket(), ask) {
        Err(AskError::NotRunning) if places.runtime_socket() != places.socket() => ask_at(places.runtime_socket(), ask),
        other => other,
    }
}

fn ask_at(socket: &Path, ask: &HookRequest) -> Result<HookResponse, AskError> {
    let deadline = Instant::now() + HOOK_TIMEOUT;
    let mut stream = connect(socket)?;
    let mut line = serde_json::to_vec(&Request { v: 1, op: "hook", params: ask }).map_err(io::Error::from)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    line.clear();
    let mut chunk = [0; 4096];
    while line.last() != Some(&b'\n') {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk)? {
            0 => return Err(AskError::Other("it hung up".to_owned())),
            read => line.extend_from_slice(&chunk[..read]),
        }
        if line.len() as u64 > MAX_RESPONSE_BYTES {
            return Err(AskError::Other("its answer has no end".to_owned()));
        }
    }
    match serde_json::from_slice(&line) {
        Ok(Outcome::Ok(answer)) => Ok(answer),
        Ok(Outcome::Error(error)) => Err(AskError::Other(error.to_string())),
        Err(error) => Err(AskError::Other(error.to_string())),
    }
}

/// A connection whose every step is bounded in time, connecting included: with a full backlog that
/// would wait.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::empty();
    #[cfg(not(target_vendor = "apple"))]
    let flags = flags | SocketFlags::CLOEXEC;
    let socket: OwnedFd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(HOOK_TIMEOUT))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}
