//! Talking to the resident process. Synchronous and with time-outs, so that a hook can use it
//! without a runtime and is never held up.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_config::Places;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::{
    Answer, AskStatus, BeginRun, Decide, MAX_LINE, Observe, ObserveAnswers, Op, PROTOCOL, Pong, Refusal, Request,
    RunView, ServeStatus, Subscribe, Taken,
};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody is there.
    #[error("no resident process answers at {}", .0.display())]
    Absent(PathBuf),
    /// Somebody is there and does not answer, or breaks off.
    #[error("the resident process does not answer: {0}")]
    Io(#[from] io::Error),
    /// It answers something we do not understand.
    #[error("the resident process speaks another language: {0}")]
    Language(#[from] serde_json::Error),
    /// It says no.
    #[error(transparent)]
    Refused(Refusal),
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
    pub fn connect(places: &Places, patience: Duration) -> Result<Self, ClientError> {
        match Self::connect_to(places.socket(), patience) {
            Err(ClientError::Absent(_)) if places.far_socket() != places.socket() => {
                Self::connect_to(places.far_socket(), patience)
                    .map_err(|_| ClientError::Absent(places.socket().to_path_buf()))
            }
            other => other,
        }
    }

    pub fn connect_to(socket: &Path, patience: Duration) -> Result<Self, ClientError> {
        // Connecting to a Unix socket does not wait, unless its backlog is full.
        let stream = match UnixStream::connect(socket) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Err(ClientError::Absent(socket.to_path_buf()));
            }
            Err(error) => return Err(error.into()),
        };
        let mut client = Self { socket: socket.to_path_buf(), stream: BufReader::new(stream), line: Vec::new() };
        client.patience(Some(patience))?;
        Ok(client)
    }

    /// How long one read or write may take; `None` for as long as it takes.
    pub fn patience(&mut self, patience: Option<Duration>) -> Result<(), ClientError> {
        self.stream.get_ref().set_read_timeout(patience)?;
        self.stream.get_ref().set_write_timeout(patience)?;
        Ok(())
    }

    /// To learn of it when the other side hangs up.
    pub fn hangup(&mut self) -> Hangup {
        // If it answers us afterwards, it was still there to take the other connection, and not a successor.
        let silent = UnixStream::connect(&self.socket).ok();
        Hangup(silent.filter(|_| self.ping().is_ok()))
    }

    pub fn ping(&mut self) -> Result<Pong, ClientError> {
        self.ask(Op::Ping, ())
    }

    pub fn status(&mut self, token: bool) -> Result<ServeStatus, ClientError> {
        self.ask(Op::Status, AskStatus { token })
    }

    /// Asks it to leave. It answers before it does.
    pub fn stop(&mut self) -> Result<Pong, ClientError> {
        self.ask(Op::Stop, ())
    }

    /// Events, as [`belay_core::Event`]s or as JSON somebody else made.
    pub fn observe<E: Serialize>(&mut self, events: &[E]) -> Result<ObserveAnswers, ClientError> {
        self.ask(Op::Observe, Observe { events })
    }

    pub fn decide(&mut self, decide: &Decide) -> Result<Taken, ClientError> {
        self.ask(Op::Decide, decide)
    }

    /// Begins a run of an agent through the proxy, or asks how one is doing.
    pub fn run(&mut self, run: &BeginRun) -> Result<RunView, ClientError> {
        self.ask(Op::Run, run)
    }

    /// Follows the log: `each` gets every event's line until it says to stop or the resident process leaves.
    pub fn subscribe(&mut self, what: &Subscribe, mut each: impl FnMut(&[u8]) -> bool) -> Result<(), ClientError> {
        let _: serde_json::Value = self.ask(Op::Subscribe, what)?;
        self.patience(None)?;
        while self.read_line()? {
            if !each(&self.line) {
                break;
            }
        }
        Ok(())
    }

    fn ask<T: Serialize, R: DeserializeOwned>(&mut self, op: Op, with: T) -> Result<R, ClientError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, &Request { v: PROTOCOL, op, with })?;
        self.line.push(b'\n');
        self.stream.get_mut().write_all(&self.line)?;
        if !self.read_line()? {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up").into());
        }
        match serde_json::from_slice::<Answer<R>>(&self.line)? {
            Answer { error: Some(refusal), .. } => Err(ClientError::Refused(refusal)),
            Answer { ok: Some(answer), .. } => Ok(answer),
            Answer { .. } => Err(ClientError::Language(serde::de::Error::custom("neither ok nor error"))),
        }
    }

    /// Whether there was one.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let read = (&mut self.stream).take(MAX_LINE as u64).read_until(b'\n', &mut self.line)?;
        match self.line.last() {
            Some(b'\n') => Ok(true),
            _ if read == 0 => Ok(false),
            _ if self.line.len() == MAX_LINE => Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end")),
            _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up in the middle of a line")),
        }
    }
}

/// Waits for the resident process to go, on a connection on which nothing is ever said.
#[derive(Debug)]
pub struct Hangup(Option<UnixStream>);

impl Hangup {
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
