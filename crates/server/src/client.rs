//! Talking to the resident process. Synchronous and with time-outs, so that a hook can use it
//! without a runtime and is never held up.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_config::Paths;
use belay_core::EventOutcome;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::{
    DecideRequest, IpcErrorBody, MAX_LINE_BYTES, ObserveRequest, ObserveResponse, Op, PROTOCOL_VERSION, PingResponse,
    RawResponse, Request, RunRequest, RunResponse, StatusRequest, StatusResponse, SubscribeRequest,
};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum IpcClientError {
    /// Nobody is there.
    #[error("no resident process answers at {}", .0.display())]
    NotRunning(PathBuf),
    /// Somebody is there and does not answer, or breaks off.
    #[error("the resident process does not answer: {0}")]
    Io(#[from] io::Error),
    /// It answers something we do not understand.
    #[error("the resident process speaks another language: {0}")]
    InvalidResponse(#[from] serde_json::Error),
    /// It says no.
    #[error(transparent)]
    Refused(IpcErrorBody),
}

/// A connection.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    stream: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl Client {
    /// Connects to the resident process of these places; each read and write may take `patience`.
    pub fn connect(places: &Paths, patience: Duration) -> Result<Self, IpcClientError> {
        match Self::connect_at(places.socket(), patience) {
            Err(IpcClientError::NotRunning(_)) if places.runtime_socket() != places.socket() => {
                Self::connect_at(places.runtime_socket(), patience)
                    .map_err(|_| IpcClientError::NotRunning(places.socket().to_path_buf()))
            }
            other => other,
        }
    }

    pub fn connect_at(socket: &Path, patience: Duration) -> Result<Self, IpcClientError> {
        // Connecting to a Unix socket does not wait, unless its backlog is full.
        let stream = match UnixStream::connect(socket) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Err(IpcClientError::NotRunning(socket.to_path_buf()));
            }
            Err(error) => return Err(error.into()),
        };
        let mut client = Self { socket: socket.to_path_buf(), stream: BufReader::new(stream), line: Vec::new() };
        client.set_timeout(Some(patience))?;
        Ok(client)
    }

    /// How long one read or write may take; `None` for as long as it takes.
    pub fn set_timeout(&mut self, patience: Option<Duration>) -> Result<(), IpcClientError> {
        self.stream.get_ref().set_read_timeout(patience)?;
        self.stream.get_ref().set_write_timeout(patience)?;
        Ok(())
    }

    /// To learn of it when the other side hangs up.
    pub fn disconnect_watcher(&mut self) -> DisconnectWatcher {
        // If it answers us afterwards, it was still there to take the other connection, and not a successor.
        let silent = UnixStream::connect(&self.socket).ok();
        DisconnectWatcher(silent.filter(|_| self.ping().is_ok()))
    }

    pub fn ping(&mut self) -> Result<PingResponse, IpcClientError> {
        self.ask(Op::Ping, ())
    }

    pub fn status(&mut self, token: bool) -> Result<StatusResponse, IpcClientError> {
        self.ask(Op::Status, StatusRequest { token })
    }

    /// Asks it to leave. It answers before it does.
    pub fn stop(&mut self) -> Result<PingResponse, IpcClientError> {
        self.ask(Op::Stop, ())
    }

    /// Events, as [`belay_core::Event`]s or as JSON somebody else made.
    pub fn observe<E: Serialize>(&mut self, events: &[E]) -> Result<ObserveResponse, IpcClientError> {
        self.ask(Op::Observe, ObserveRequest { events })
    }

    pub fn decide(&mut self, decide: &DecideRequest) -> Result<EventOutcome, IpcClientError> {
        self.ask(Op::Decide, decide)
    }

    /// Begins a run of an agent through the proxy, or asks how one is doing.
    pub fn run(&mut self, run: &RunRequest) -> Result<RunResponse, IpcClientError> {
        self.ask(Op::Run, run)
    }

    /// Follows the log: `each` gets every event's line until it says to stop or the resident process leaves.
    pub fn subscribe(
        &mut self,
        what: &SubscribeRequest,
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), IpcClientError> {
        let _: serde_json::Value = self.ask(Op::Subscribe, what)?;
        self.set_timeout(None)?;
        while self.read_line()? {
            if !each(&self.line) {
                break;
            }
        }
        Ok(())
    }

    fn ask<T: Serialize, R: DeserializeOwned>(&mut self, op: Op, params: T) -> Result<R, IpcClientError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, &Request { v: PROTOCOL_VERSION, op, params })?;
        self.line.push(b'\n');
        self.stream.get_mut().write_all(&self.line)?;
        if !self.read_line()? {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up").into());
        }
        match serde_json::from_slice::<RawResponse<R>>(&self.line)? {
            RawResponse { error: Some(refusal), .. } => Err(IpcClientError::Refused(refusal)),
            RawResponse { ok: Some(answer), .. } => Ok(answer),
            RawResponse { .. } => {
                Err(IpcClientError::InvalidResponse(serde::de::Error::custom("neither ok nor error")))
            }
        }
    }

    /// Whether there was one.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let read = (&mut self.stream).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut self.line)?;
        match self.line.last() {
            Some(b'\n') => Ok(true),
            _ if read == 0 => Ok(false),
            _ if self.line.len() == MAX_LINE_BYTES => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end"))
            }
            _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up in the middle of a line")),
        }
    }
}

/// Waits for the resident process to go, on a connection on which nothing is ever said.
#[derive(Debug)]
pub struct DisconnectWatcher(Option<UnixStream>);

impl DisconnectWatcher {
    /// Waits until the resident process has hung up, or until `other` is hung up on: whether it was the first.
    pub fn wait(&self, other: &UnixStream) -> io::Result<bool> {
        let Some(silent) = &self.0 else { return Ok(true) };
        loop {
            // Neither says a word, so all there is to read is the end.
            let [here, there] = [silent, other].map(|stream| PollFd::new(stream, PollFlags::IN));
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
