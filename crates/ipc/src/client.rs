//! The client. It is synchronous, so that hooks need no runtime, and every request has a deadline.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belay_config::Paths;
use belay_core::EventOutcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::approvals::{AnswerRequest, AnswerResponse, ApprovalsRequest, AwaitAnswerRequest, AwaitAnswerResponse};
use crate::hook::{HookRequest, HookResponse};
use crate::lines::{Line, LineReader};
use crate::operations::{
    DecideRequest, ListenRequest, ListenResponse, LoginLinkResponse, ObserveRequest, ObserveResponse, Operation,
    PingResponse, RevokeLoginsResponse, RunRequest, RunResponse, StatusRequest, StatusResponse, SubscribeRequest,
    SubscribeResponse,
};
use crate::protocol::{ErrorBody, MAX_LINE_BYTES, PROTOCOL_VERSION, RawResponse, Request};
use crate::reads::ReadRequest;
use crate::same_user;
use crate::views::PendingApproval;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no socket, or no process listens on it.
    #[error("no resident process is listening on {}", .0.display())]
    NotRunning(PathBuf),
    /// The socket, its directory or the process behind it is not this user's.
    #[error("refused to use the socket {}: {problem}", socket.display())]
    Untrusted { socket: PathBuf, problem: String },
    /// The connection broke or the request timed out.
    #[error("no response from the resident process: {0}")]
    Io(#[from] io::Error),
    #[error("the resident process sent an invalid response: {0}")]
    InvalidResponse(#[from] serde_json::Error),
    #[error(transparent)]
    Refused(ErrorBody),
}

impl ClientError {
    /// Whether the resident process is there but does not respond.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::TimedOut)
    }

    /// Whether there is no resident process any more: none listens, or it has closed the connection.
    pub fn is_gone(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        match self {
            Self::NotRunning(_) => true,
            Self::Io(error) => matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe),
            _ => false,
        }
    }
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
    /// Connects to the resident process of a state directory. `timeout` applies to connecting and to each
    /// request.
    pub fn connect(paths: &Paths, timeout: Duration) -> Result<Self, ClientError> {
        match Self::connect_at(paths.socket(), timeout) {
            Err(ClientError::NotRunning(_)) if paths.runtime_socket() != paths.socket() => {
                Self::connect_at(paths.runtime_socket(), timeout).map_err(|error| match error {
                    // A resident process of this user refuses to bind where others can interfere.
                    ClientError::NotRunning(_) | ClientError::Untrusted { .. } => {
                        ClientError::NotRunning(paths.socket().to_path_buf())
                    }
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
        Ok(Self {
            socket: socket.to_path_buf(),
            stream: connect_to_own(socket, timeout)?,
            lines: LineReader::new(MAX_LINE_BYTES),
            request: Vec::new(),
            limit: Limit::PerRequest(timeout),
        })
    }

    /// Sets how long each further request may take.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.limit = Limit::PerRequest(timeout);
    }

    /// A watcher that detects the exit of the resident process.
    pub fn disconnect_watcher(&mut self) -> DisconnectWatcher {
        // A ping that succeeds afterwards proves that the second connection is to the same process, not a successor.
        let remaining = self.limit.deadline().saturating_duration_since(Instant::now());
        let idle = connect_to_own(&self.socket, remaining).ok();
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

    pub fn approvals(&mut self) -> Result<Vec<PendingApproval>, ClientError> {
        self.call(&Operation::Approvals(ApprovalsRequest {}))
    }

    /// Answers a permission prompt.
    pub fn answer(&mut self, answer: &AnswerRequest) -> Result<AnswerResponse, ClientError> {
        self.call(&Operation::Answer(answer.clone()))
    }

    /// Waits for the answer to a permission prompt.
    pub fn await_answer(&mut self, id: &str) -> Result<AwaitAnswerResponse, ClientError> {
        self.call(&Operation::AwaitAnswer(AwaitAnswerRequest { id: id.to_owned() }))
    }

    /// Starts a run of an agent through the proxy, or requests its state.
    pub fn run(&mut self, run: &RunRequest) -> Result<RunResponse, ClientError> {
        self.call(&Operation::Run(Box::new(run.clone())))
    }

    /// Opens HTTP unless it is open.
    pub fn listen(&mut self, listen: ListenRequest) -> Result<ListenResponse, ClientError> {
        self.call(&Operation::Listen(listen))
    }

    /// A link that logs one browser in.
    pub fn login_link(&mut self) -> Result<String, ClientError> {
        let response: LoginLinkResponse = self.call(&Operation::LoginLink {})?;
        Ok(response.url)
    }

    /// Ends all logins of browsers; how many there were.
    pub fn revoke_logins(&mut self) -> Result<usize, ClientError> {
        let response: RevokeLoginsResponse = self.call(&Operation::RevokeLogins {})?;
        Ok(response.revoked)
    }

    /// Follows the log: `each` gets the line of every event, until it returns `false` or the resident process exits.
    pub fn subscribe(
        &mut self,
        what: &SubscribeRequest,
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), ClientError> {
        let _: SubscribeResponse = self.call(&Operation::Subscribe(what.clone()))?;
        let mut stream = BoundedStream { stream: &self.stream, deadline: None, read_late: false };
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
        // Foreign JSON may have line breaks between its tokens; inside strings they are escaped.
        self.request.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        self.request.push(b'\n');
        let mut stream = BoundedStream { stream: &self.stream, deadline, read_late: false };
        stream.write_all(&self.request).map_err(timed_out)?;
        let line = match self.lines.next(&mut stream).map_err(timed_out)? {
            Some(Line::Complete(line)) => line,
            Some(Line::TooLong) => return Err(too_long().into()),
            None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "connection closed").into()),
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

/// Connects to a process of this user, and of no other.
fn connect_to_own(socket: &Path, timeout: Duration) -> Result<UnixStream, ClientError> {
    let classify = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::NotRunning(socket.to_path_buf()),
        _ => timed_out(error).into(),
    };
    let untrusted = |problem| ClientError::Untrusted { socket: socket.to_path_buf(), problem };
    if let Some(directory) = socket.parent() {
        same_user::check_directory(directory).map_err(classify)?.map_err(untrusted)?;
    }
    let stream = connect_timeout(socket, timeout).map_err(classify)?;
    match same_user::is_same_user(&stream) {
        true => Ok(stream),
        false => Err(untrusted("the process that listens there belongs to another user".to_owned())),
    }
}

/// Connects within `timeout`. With a full backlog, a plain connect blocks indefinitely.
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
    /// One read after the deadline has been made.
    read_late: bool,
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
        match self.remaining() {
            Ok(remaining) => {
                self.stream.set_read_timeout(remaining)?;
                self.stream.read(buffer)
            }
            // On a busy machine this process may be suspended past its deadline while the response waits.
            Err(_) if !self.read_late => {
                self.read_late = true;
                let (read, _) = rustix::net::recv(self.stream, buffer, RecvFlags::DONTWAIT)?;
                Ok(read)
            }
            Err(error) => Err(error),
        }
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

/// Why [`DisconnectWatcher::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisconnectEvent {
    /// The resident process has exited.
    Disconnected,
    /// The other peer closed its connection.
    OtherClosed,
    TimedOut,
}

/// Detects the exit of the resident process by an idle connection.
#[derive(Debug)]
pub struct DisconnectWatcher(Option<UnixStream>);

impl DisconnectWatcher {
    /// Waits until the resident process or the peer of `other` closes its connection, at most for `timeout`.
    pub fn wait(&self, other: &UnixStream, timeout: Duration) -> io::Result<DisconnectEvent> {
        let Some(idle) = &self.0 else { return Ok(DisconnectEvent::Disconnected) };
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
            // Neither side sends anything, so only a closed connection becomes readable.
            let [here, there] = [idle, other].map(|stream| PollFd::new(stream, PollFlags::IN));
            let mut both = [here, there];
            match poll(&mut both, Some(&left)) {
                Ok(0) => return Ok(DisconnectEvent::TimedOut),
                Ok(_) if !both[1].revents().is_empty() => return Ok(DisconnectEvent::OtherClosed),
                Ok(_) if !both[0].revents().is_empty() => return Ok(DisconnectEvent::Disconnected),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
