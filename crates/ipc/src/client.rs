//! The client. Synchronous, so that a hook can use it without a runtime, and bounded in time.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belay_config::Paths;
use belay_core::EventOutcome;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hook::{HookRequest, HookResponse};
use crate::lines::{Line, LineReader};
use crate::operations::{
    DecideRequest, ObserveRequest, ObserveResponse, Operation, PingResponse, RunRequest, RunResponse, StatusRequest,
    StatusResponse, SubscribeRequest, SubscribeResponse,
};
use crate::protocol::{ErrorBody, MAX_LINE_BYTES, PROTOCOL_VERSION, RawResponse, Request};
use crate::reads::ReadRequest;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no socket, or no process listens on it.
    #[error("no resident process answers at {}", .0.display())]
    NotRunning(PathBuf),
    /// The connection broke or the request timed out.
    #[error("the resident process does not answer: {0}")]
    Io(#[from] io::Error),
    #[error("the resident process sent an invalid response: {0}")]
    InvalidResponse(#[from] serde_json::Error),
    #[error(transparent)]
    Refused(ErrorBody),
}

/// How long requests may take.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// Each request, from its first byte to the end of its response.
    PerRequest(Duration),
    /// All requests together.
    Until(Instant),
}

impl Limit {
    fn deadline(self) -> Instant {
        match self {
            Self::PerRequest(timeout) => Instant::now() + timeout,
            Self::Until(deadline) => deadline,
        }
    }
}

/// A connection to the resident process.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    stream: UnixStream,
    lines: LineReader,
    request: Vec<u8>,
    limit: Limit,
}

impl Client {
    /// Connects to the resident process of a state folder. Connecting may take `timeout`, and so may each request.
    pub fn connect(paths: &Paths, timeout: Duration) -> Result<Self, ClientError> {
        match Self::connect_at(paths.socket(), timeout) {
            Err(ClientError::NotRunning(_)) if paths.runtime_socket() != paths.socket() => {
                Self::connect_at(paths.runtime_socket(), timeout).map_err(|error| match error {
                    ClientError::NotRunning(_) => ClientError::NotRunning(paths.socket().to_path_buf()),
                    other => other,
                })
            }
            other => other,
        }
    }

    /// Like [`Client::connect`], with one deadline for connecting and all requests.
    pub fn connect_with_deadline(paths: &Paths, timeout: Duration) -> Result<Self, ClientError> {
        let deadline = Instant::now() + timeout;
        let client = Self::connect(paths, timeout)?;
        Ok(Self { limit: Limit::Until(deadline), ..client })
    }

    pub fn connect_at(socket: &Path, timeout: Duration) -> Result<Self, ClientError> {
        let stream = match connect_timeout(socket, timeout) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Err(ClientError::NotRunning(socket.to_path_buf()));
            }
            Err(error) => return Err(timed_out(error).into()),
        };
        Ok(Self {
            socket: socket.to_path_buf(),
            stream,
            lines: LineReader::new(MAX_LINE_BYTES),
            request: Vec::new(),
            limit: Limit::PerRequest(timeout),
        })
    }

    /// A watcher that reports when the resident process has gone.
    pub fn disconnect_watcher(&mut self) -> DisconnectWatcher {
        // A ping that succeeds afterwards proves that the second connection is to the same process, not a successor.
        let idle = UnixStream::connect(&self.socket).ok();
        DisconnectWatcher(idle.filter(|_| self.ping().is_ok()))
    }

    pub fn ping(&mut self) -> Result<PingResponse, ClientError> {
        self.call(&Operation::Ping {})
    }

    pub fn status(&mut self, token: bool) -> Result<StatusResponse, ClientError> {
        self.call(&Operation::Status(StatusRequest { token }))
    }

    /// Stops the resident process. It responds first.
    pub fn stop(&mut self) -> Result<PingResponse, ClientError> {
        self.call(&Operation::Stop {})
    }

    /// Records events, given as [`belay_core::Event`]s or as JSON.
    pub fn observe<E: Serialize>(&mut self, events: &[E]) -> Result<ObserveResponse, ClientError> {
        let events = events.iter().map(serde_json::value::to_raw_value).collect::<Result<_, _>>()?;
        self.call(&Operation::Observe(ObserveRequest { events }))
    }

    pub fn decide(&mut self, decide: &DecideRequest) -> Result<EventOutcome, ClientError> {
        self.call(&Operation::Decide(decide.clone()))
    }

    pub fn hook(&mut self, hook: &HookRequest) -> Result<HookResponse, ClientError> {
        self.call(&Operation::Hook(hook.clone()))
    }

    /// Starts a run of an agent through the proxy, or requests its state.
    pub fn run(&mut self, run: &RunRequest) -> Result<RunResponse, ClientError> {
        self.call(&Operation::Run(Box::new(run.clone())))
    }

    /// Follows the log: `each` gets the line of every event, until it returns `false` or the resident process exits.
    pub fn subscribe(
        &mut self,
        what: &SubscribeRequest,
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), ClientError> {
        let _: SubscribeResponse = self.call(&Operation::Subscribe(what.clone()))?;
        let mut stream = BoundedStream { stream: &self.stream, deadline: None };
        loop {
            match self.lines.next(&mut stream)? {
                Some(Line::Complete(line)) if each(line) => {}
                Some(Line::Complete(_)) | None => return Ok(()),
                Some(Line::TooLong) => return Err(too_long().into()),
            }
        }
    }

    pub fn read<R: ReadRequest>(&mut self, request: &R) -> Result<R::Response, ClientError> {
        self.call(&request.clone().into())
    }

    /// Sends a request and waits for its response.
    pub fn call<R: DeserializeOwned>(&mut self, operation: &Operation) -> Result<R, ClientError> {
        let deadline = Some(self.limit.deadline());
        self.request.clear();
        serde_json::to_writer(&mut self.request, &Request { v: PROTOCOL_VERSION, operation })?;
        // JSON from elsewhere may have line breaks between its tokens. Inside of strings they are escaped.
        self.request.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        self.request.push(b'\n');
        let mut stream = BoundedStream { stream: &self.stream, deadline };
        stream.write_all(&self.request).map_err(timed_out)?;
        let line = match self.lines.next(&mut stream).map_err(timed_out)? {
            Some(Line::Complete(line)) => line,
            Some(Line::TooLong) => return Err(too_long().into()),
            None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection").into()),
        };
        match serde_json::from_slice::<RawResponse<R>>(line)? {
            RawResponse { error: Some(error), .. } => Err(ClientError::Refused(error)),
            RawResponse { ok: Some(result), .. } => Ok(result),
            RawResponse { .. } => Err(ClientError::InvalidResponse(serde::de::Error::custom("neither ok nor error"))),
        }
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a line is longer than {MAX_LINE_BYTES} bytes"))
}

/// The operating system reports a socket timeout as "would block".
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(io::ErrorKind::TimedOut, "timed out"),
        _ => error,
    }
}

/// Connects within `timeout`: with a full backlog, connecting would wait without limit.
fn connect_timeout(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let flags = SocketFlags::empty();
    #[cfg(not(target_vendor = "apple"))]
    let flags = flags | SocketFlags::CLOEXEC;
    let socket: OwnedFd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

/// A stream whose reads and writes end at the deadline.
struct BoundedStream<'a> {
    stream: &'a UnixStream,
    deadline: Option<Instant>,
}

impl BoundedStream<'_> {
    fn remaining(&self) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline else { return Ok(None) };
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(remaining)) }
    }
}

impl Read for BoundedStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.remaining()?)?;
        self.stream.read(buffer)
    }
}

impl Write for BoundedStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.remaining()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reports when the resident process has gone, by an idle connection.
#[derive(Debug)]
pub struct DisconnectWatcher(Option<UnixStream>);

impl DisconnectWatcher {
    /// Waits until the resident process or the peer of `other` closes its connection; `true` if the resident process
    /// was first.
    pub fn wait(&self, other: &UnixStream) -> io::Result<bool> {
        let Some(idle) = &self.0 else { return Ok(true) };
        loop {
            // Neither side sends anything, so only the end can become readable.
            let [here, there] = [idle, other].map(|stream| PollFd::new(stream, PollFlags::IN));
            let mut both = [here, there];
            match poll(&mut both, None) {
                Ok(_) if !both[1].revents().is_empty() => return Ok(false),
                Ok(_) if !both[0].revents().is_empty() => return Ok(true),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
