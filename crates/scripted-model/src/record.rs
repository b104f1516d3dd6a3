//! The log of requests and of how each exchange ended.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::ToolCall;
use crate::classify::{Api, Kind};
use crate::wire::{self, ToolResult};

/// One request.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Counts from 1 in order of arrival.
    pub number: usize,
    pub kind: Kind,
    /// The API, for requests that want a completion.
    pub api: Option<Api>,
    pub method: String,
    /// Path and query.
    pub path: String,
    /// In order, with names in their original case.
    pub headers: Vec<(String, String)>,
    /// Request line and headers, byte for byte.
    pub head: Vec<u8>,
    /// The body as sent, without chunked framing.
    pub wire_body: Vec<u8>,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// Since the model started.
    pub at: Duration,
    /// The tool calls in the response.
    pub calls: Vec<ToolCall>,
    pub fate: ExchangeEnd,
}

/// How the exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// In progress, or held.
    Open,
    Answered,
    /// The script closed the connection.
    Dropped,
    /// The client disconnected after this many pieces of the response.
    ClientGone {
        after: usize,
    },
}

impl Recorded {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The tool results in this request's conversation, oldest first.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        self.api.map(|api| wire::tool_results(api, &self.json())).unwrap_or_default()
    }

    fn as_file(&self) -> Value {
        let body = serde_json::from_slice(&self.body).unwrap_or_else(|_| json!(self.text()));
        json!({
            "number": self.number, "kind": format!("{:?}", self.kind), "method": self.method, "path": self.path,
            "headers": self.headers, "at_ms": self.at.as_millis() as u64, "body": body,
        })
    }
}

/// Waiting for requests timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only {came} of {wanted} requests came within {waited:?}")]
pub struct WaitTimeout {
    pub wanted: usize,
    pub came: usize,
    pub waited: Duration,
}

#[derive(Debug)]
pub(crate) struct RequestLog {
    started: Instant,
    dir: Option<PathBuf>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<Recorded>,
    complaints: Vec<String>,
}

impl RequestLog {
    pub(crate) fn new(dir: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self { started: Instant::now(), dir, state: Mutex::default(), changed: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and returns a ticket that reports its end.
    pub(crate) fn record(self: &Arc<Self>, mut request: Recorded) -> RequestTicket {
        let mut state = self.state();
        let index = state.requests.len();
        request.number = index + 1;
        request.at = self.started.elapsed();
        if let Some(dir) = &self.dir {
            let file = dir.join(format!("{:04}.json", request.number));
            if let Err(error) = std::fs::write(&file, format!("{:#}\n", request.as_file())) {
                state.complaints.push(format!("cannot write {}: {error}", file.display()));
            }
        }
        state.requests.push(request);
        self.changed.notify_all();
        RequestTicket { log: Arc::clone(self), index, sent: 0, settled: false }
    }

    /// Records that a scripted action was not possible.
    pub(crate) fn complain(&self, complaint: impl fmt::Display) {
        self.state().complaints.push(complaint.to_string());
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        self.state().complaints.clone()
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.state().requests.clone()
    }

    /// Waits until `count` requests satisfy `wanted`; returns them.
    pub(crate) fn wait(
        &self,
        count: usize,
        timeout: Duration,
        wanted: impl Fn(&Recorded) -> bool,
    ) -> Result<Vec<Recorded>, WaitTimeout> {
        let came = |state: &State| state.requests.iter().filter(|request| wanted(request)).count();
        let waiting = self.changed.wait_timeout_while(self.state(), timeout, |state| came(state) < count);
        let (state, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        match came(&state) {
            came if came < count => Err(WaitTimeout { wanted: count, came, waited: timeout }),
            _ => Ok(state.requests.iter().filter(|request| wanted(request)).cloned().collect()),
        }
    }
}

/// Reports the end of an exchange. If dropped before, it reports that the client disconnected.
#[derive(Debug)]
pub(crate) struct RequestTicket {
    log: Arc<RequestLog>,
    index: usize,
    sent: usize,
    settled: bool,
}

impl RequestTicket {
    pub(crate) fn sent_one(&mut self) {
        self.sent += 1;
    }

    pub(crate) fn settle(mut self, fate: ExchangeEnd) {
        self.report(fate);
    }

    fn report(&mut self, fate: ExchangeEnd) {
        self.settled = true;
        self.log.state().requests[self.index].fate = fate;
        self.log.changed.notify_all();
    }
}

impl Drop for RequestTicket {
    fn drop(&mut self) {
        if !self.settled {
            self.report(ExchangeEnd::ClientGone { after: self.sent });
        }
    }
}
