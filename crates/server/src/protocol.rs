//! What is spoken over the socket: one JSON object a line, each answered by one line.
//!
//! A request is `{"v": 1, "id": 7, "op": "observe", "params": {...}}`. `id` is echoed, so that a client may
//! send several requests before it reads; `v` may be left out. The answer is
//! `{"id": 7, "ok": {...}}` or `{"id": 7, "error": {"code": ..., "message": ...}}`.
//!
//! A new operation is a new row in [`Op`] and a pair of shapes; what is there never changes its meaning.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use belay_core::event::{FastEvent, MAX_EVENT_BYTES, OperatorDecision};
use belay_core::{EventOutcome, SessionKey};
use belay_engine::{Health, Metrics};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of this protocol.
pub const PROTOCOL_VERSION: u16 = 1;

/// Longest line in either direction: the longest event with an envelope around it.
pub const MAX_LINE_BYTES: usize = MAX_EVENT_BYTES + 64 * 1024;

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Are you there?
    Ping,
    /// How are you?
    Status,
    /// Events; answered with a decision each.
    Observe,
    /// A person's decision.
    Decide,
    /// A hook call of an agent ([`belay_hooks::Ask`]); answered in that agent's words.
    Hook,
    /// A run of an agent through the proxy ([`BeginRun`]); answered with [`RunView`].
    Run,
    /// Events of the log, as they come.
    Subscribe,
    /// Finish what you are doing and leave.
    Stop,
}

/// A request as it stands on its line.
#[derive(Debug, Deserialize)]
pub struct RawRequest<'a> {
    #[serde(default)]
    pub v: Option<u16>,
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub op: Cow<'a, str>,
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
}

/// A request to be written.
#[derive(Debug, Serialize)]
pub struct Request<T> {
    pub v: u16,
    pub op: Op,
    pub params: T,
}

/// An answer to be written.
#[derive(Debug, Serialize)]
pub struct Response<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a RawValue>,
    #[serde(flatten)]
    pub outcome: ResponseBody<T>,
}

/// An answer as it is read: one of the two.
#[derive(Debug, Deserialize)]
pub struct RawResponse<T> {
    #[serde(default = "Option::default")]
    pub ok: Option<T>,
    #[serde(default)]
    pub error: Option<IpcErrorBody>,
}

/// How a request ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseBody<T> {
    Ok(T),
    Error(IpcErrorBody),
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct IpcErrorBody {
    pub code: ErrorCode,
    /// The field at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl IpcErrorBody {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, field: None, message: message.into(), hint: None }
    }

    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Kinds of refusals. Stable: scripts may match on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Not a request we can read.
    BadRequest,
    /// An operation or protocol version we do not know.
    Unknown,
    /// Longer than we take.
    TooLong,
    /// The event cannot be taken; nothing of it was kept.
    Refused,
    /// No such thing.
    NotFound,
    /// Several things could be meant.
    Ambiguous,
    /// The caller may not do this.
    Forbidden,
    /// Too much at once; try again.
    Busy,
    /// The store does not answer.
    Store,
    /// A fault of Belay.
    Internal,
}

/// `params` of [`Op::Observe`].
#[derive(Debug, Deserialize)]
pub struct ObserveRequestRaw<'a> {
    #[serde(borrow)]
    pub events: Vec<&'a RawValue>,
}

/// A line of events that are all as they should be, read in one pass. Anything else is read as an [`Envelope`], which
/// can tell what is wrong.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuickObserve<'a> {
    #[serde(default)]
    pub(crate) v: Option<u16>,
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(rename = "op")]
    _op: Observing,
    pub(crate) params: QuickEvents,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Observing {
    Observe,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuickEvents {
    pub(crate) events: Vec<FastEvent>,
}

impl<'a> QuickObserve<'a> {
    pub(crate) fn read(line: &'a [u8]) -> Option<Self> {
        if line.len() > MAX_EVENT_BYTES {
            return None;
        }
        let ask: Self = serde_json::from_slice(line).ok()?;
        ask.v.is_none_or(|v| (1..=PROTOCOL_VERSION).contains(&v)).then_some(ask)
    }
}

/// `params` of [`Op::Observe`], to be written.
#[derive(Debug, Serialize)]
pub struct ObserveRequest<'a, E: Serialize> {
    pub events: &'a [E],
}

/// `ok` of [`Op::Observe`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ObserveResponse {
    /// One for each event, in their order.
    pub answers: Vec<EventResult>,
}

/// The answer to one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventResult {
    Refused { error: IpcErrorBody },
    Accepted(EventOutcome),
}

/// `params` of [`Op::Decide`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    pub session: SessionKey,
    pub decision: OperatorDecision,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// `ok` of [`Op::Ping`] and [`Op::Stop`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingResponse {
    pub pid: u32,
    pub version: String,
    pub protocol: u16,
}

/// `params` of [`Op::Status`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusRequest {
    /// Also tell the token a decision over HTTP needs.
    pub token: bool,
}

/// `ok` of [`Op::Status`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusResponse {
    pub pid: u32,
    pub version: String,
    pub protocol: u16,
    pub started_at: belay_core::Timestamp,
    /// Where the page is, when HTTP is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub socket: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    pub health: HealthView,
    /// Requests that wait for their turn.
    pub queued: usize,
    /// Open socket connections.
    pub connections: usize,
    pub counters: serde_json::Value,
}

/// Whether what is answered is also kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HealthView {
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<belay_core::Timestamp>,
    /// Events that wait in memory to be written.
    pub spooled: usize,
    /// Events lost to the log.
    pub dropped: u64,
}

impl From<Health> for HealthView {
    fn from(health: Health) -> Self {
        let ok = health.is_healthy();
        let (problem, hint, since) = match health.fault {
            Some(fault) => (Some(fault.problem), Some(fault.hint), Some(fault.since)),
            None => (None, None, None),
        };
        Self { ok, problem, hint, since, spooled: health.spooled, dropped: health.dropped }
    }
}

/// Counters as JSON: they are for people and dashboards, and may grow.
pub(crate) fn counters(metrics: &Metrics) -> serde_json::Value {
    serde_json::to_value(metrics).unwrap_or_default()
}

/// `params` of [`Op::Subscribe`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SubscribeRequest {
    /// Only of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
    /// Only what comes after this number (`seq` for one session, else `ord`); from now on without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Only these kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// A run of an agent through the proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRequest {
    /// The key the run goes by: agent and a UUID.
    pub run: String,
    /// The run begins. Otherwise only how it is doing is asked for.
    pub begins: bool,
    /// The run is over: the answer waits until all its requests are accounted for.
    pub ends: bool,
    /// Model APIs its user had chosen: name and base URL.
    pub upstreams: BTreeMap<String, String>,
    /// The session, where it is known before its first request.
    pub session: Option<SessionKey>,
    /// Its requests are to pass the proxy, so there has to be a door.
    pub proxied: bool,
    /// Where they go already: the run is taken up from a resident process that is gone.
    pub at: Option<SocketAddr>,
    /// What it may cost, set as soon as its session is known.
    pub budget: Vec<OperatorDecision>,
    /// Who started it.
    pub by: Option<String>,
}

/// Where a run's requests go, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResponse {
    /// Where the proxy is.
    pub url: Option<String>,
    /// The session it turned out to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
}
