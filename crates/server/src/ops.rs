//! What can be asked over the socket, and the answers.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use belay_core::event::FastEvent;
use belay_core::{Body, Event, EventOutcome};
use belay_engine::EngineError;
use belay_store::{EventQuery, Order, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::budget_cache::BudgetChange;
use crate::daemon::DaemonState;
use crate::group_commit::CommitError;
use crate::protocol::{
    DecideRequest, ErrorCode, EventResult, IpcErrorBody, ObserveRequestRaw, ObserveResponse, Op, PROTOCOL_VERSION,
    PingResponse, QuickObserve, RawRequest, Response, ResponseBody, StatusRequest, SubscribeRequest,
};
use crate::views::EventView;
use crate::{hooks, proxy_service};

/// What a connection does after an answer.
pub(crate) enum AfterReply {
    /// Reads the next line.
    Line,
    /// Leaves, once the answer is out.
    Stop,
    /// Follows the log.
    Follow(SubscribeRequest),
}

/// Answers one line.
pub(crate) fn handle_line(shared: &DaemonState, line: &[u8], out: &mut Vec<u8>) -> AfterReply {
    if let Some(ask) = QuickObserve::read(line) {
        let events = ask.params.events.into_iter().map(|FastEvent(event)| Ok(event)).collect();
        let answers = ObserveResponse { answers: take_in(shared, events) };
        if let Err(refusal) = accept(out, ask.id, &answers) {
            write_error(out, ask.id, &refusal);
        }
        return AfterReply::Line;
    }
    let envelope: RawRequest<'_> = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        Err(error) => {
            write_error(out, None, &IpcErrorBody::new(ErrorCode::BadRequest, format!("not a request: {error}")));
            return AfterReply::Line;
        }
    };
    let id = envelope.id;
    if let Some(v) = envelope.v.filter(|v| !(1..=PROTOCOL_VERSION).contains(v)) {
        let message =
            format!("protocol version {v} is not known here; this is Belay {} with {PROTOCOL_VERSION}", crate::VERSION);
        write_error(
            out,
            id,
            &IpcErrorBody::new(ErrorCode::Unknown, message).field("v").hint("restart the resident process: belay stop"),
        );
        return AfterReply::Line;
    }
    let Ok(op) = serde_json::from_value::<Op>(envelope.op.as_ref().into()) else {
        let message = format!("there is no operation {:?} in Belay {}", envelope.op, crate::VERSION);
        write_error(out, id, &IpcErrorBody::new(ErrorCode::Unknown, message).field("op"));
        return AfterReply::Line;
    };
    let params = envelope.params;
    let (result, next) = match op {
        Op::Ping => (accept(out, id, &pong()), AfterReply::Line),
        Op::Stop => (accept(out, id, &pong()), AfterReply::Stop),
        Op::Status => {
            (read::<StatusRequest>(params).and_then(|ask| accept(out, id, &shared.status(ask.token))), AfterReply::Line)
        }
        Op::Observe => (observe(shared, params).and_then(|answers| accept(out, id, &answers)), AfterReply::Line),
        Op::Decide => (
            read(params).and_then(|ask| decide(shared, &ask)).and_then(|taken| accept(out, id, &taken)),
            AfterReply::Line,
        ),
        Op::Hook => (read(params).and_then(|ask| accept(out, id, &hooks::handle_hook(shared, &ask))), AfterReply::Line),
        Op::Run => (
            read(params).and_then(|ask| proxy_service::handle_run(shared, &ask)).and_then(|run| accept(out, id, &run)),
            AfterReply::Line,
        ),
        Op::Subscribe => match read::<SubscribeRequest>(params) {
            Ok(what) => (accept(out, id, &serde_json::json!({ "subscribed": true })), AfterReply::Follow(what)),
            Err(refusal) => (Err(refusal), AfterReply::Line),
        },
    };
    match result {
        Ok(()) => next,
        Err(refusal) => {
            write_error(out, id, &refusal);
            AfterReply::Line
        }
    }
}

fn accept<T: Serialize>(out: &mut Vec<u8>, id: Option<&RawValue>, answer: &T) -> Result<(), IpcErrorBody> {
    let reply = Response { id, outcome: ResponseBody::Ok(answer) };
    serde_json::to_writer(&mut *out, &reply).map_err(|e| IpcErrorBody::new(ErrorCode::Internal, e.to_string()))?;
    out.push(b'\n');
    Ok(())
}

/// Writes a refusal.
pub(crate) fn write_error(out: &mut Vec<u8>, id: Option<&RawValue>, refusal: &IpcErrorBody) {
    out.clear();
    let reply: Response<'_, ()> = Response { id, outcome: ResponseBody::Error(refusal.clone()) };
    // Strings and numbers always serialise.
    let _ = serde_json::to_writer(&mut *out, &reply);
    out.push(b'\n');
}

fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, IpcErrorBody> {
    let json = params.map_or("{}", RawValue::get);
    serde_json::from_str(json).map_err(|e| IpcErrorBody::new(ErrorCode::BadRequest, e.to_string()).field("params"))
}

fn pong() -> PingResponse {
    PingResponse { pid: std::process::id(), version: crate::VERSION.to_owned(), protocol: PROTOCOL_VERSION }
}

fn observe(shared: &DaemonState, params: Option<&RawValue>) -> Result<ObserveResponse, IpcErrorBody> {
    let json = params.map_or("{}", RawValue::get);
    let raw: ObserveRequestRaw<'_> = serde_json::from_str(json)
        .map_err(|e| IpcErrorBody::new(ErrorCode::BadRequest, e.to_string()).field("params"))?;
    // Only the owner can open the socket.
    let events = raw.events.iter().map(|event| event.get().as_bytes());
    Ok(ObserveResponse { answers: observe_all(shared, events, Authority::Owner) })
}

/// On whose word events are taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    /// Proved to be the person this Belay works for: may also post decisions.
    Owner,
    /// Anything on this machine, maybe the agent itself: may tell what happened, not decide.
    Anyone,
}

/// Takes events in; each is answered, whatever becomes of the others.
pub(crate) fn observe_all<'e>(
    shared: &DaemonState,
    events: impl Iterator<Item = &'e [u8]>,
    caller: Authority,
) -> Vec<EventResult> {
    let read = |json: &[u8]| match Event::from_json(json) {
        Ok(event) if caller == Authority::Anyone && matches!(event.body, Body::Operator(_)) => {
            let problem = "a decision needs the token: send authorization: Bearer TOKEN";
            Err(IpcErrorBody::new(ErrorCode::Refused, problem)
                .field("kind")
                .hint("belay status --token shows the token"))
        }
        Ok(event) => Ok(event),
        Err(error) => Err(IpcErrorBody::new(ErrorCode::Refused, error.to_string()).field(error.field)),
    };
    take_in(shared, events.map(read).collect())
}

fn take_in(shared: &DaemonState, read: Vec<Result<Event, IpcErrorBody>>) -> Vec<EventResult> {
    let mut good = Vec::with_capacity(read.len());
    let refused: Vec<Option<IpcErrorBody>> =
        read.into_iter().map(|event| event.map(|event| good.push(canonicalize_agent(event))).err()).collect();
    let mut written = shared.writer.observe(good).into_iter();
    refused
        .into_iter()
        .map(|refused| match refused {
            Some(error) => EventResult::Refused { error },
            None => match written.next() {
                Some(Ok(outcome)) => EventResult::Accepted(outcome),
                Some(Err(error)) => EventResult::Refused { error: to_ipc_error(error) },
                None => EventResult::Refused { error: to_ipc_error(CommitError::Panicked) },
            },
        })
        .collect()
}

/// People and tools call agents by many names; sessions are kept under one.
pub fn canonicalize_agent(mut event: Event) -> Event {
    for key in [Some(&mut event.session), event.parent.as_mut()].into_iter().flatten() {
        if let Some(agent) = belay_agents::find(&key.agent).filter(|agent| agent.id != &*key.agent) {
            key.agent = agent.id.into();
        }
    }
    event
}

pub(crate) fn decide(shared: &DaemonState, ask: &DecideRequest) -> Result<EventOutcome, IpcErrorBody> {
    let decided = shared.writer.with_engine(|engine| {
        let decided = engine.decide(&ask.session, ask.decision.clone(), &ask.note, ask.by.as_deref())?;
        // Noted before the next decision can be made: the last one stands.
        shared.standings.apply_decision(&ask.session, false, &decided.decision);
        shared.purses.refresh(&ask.session, BudgetChange::default(), engine);
        Ok(decided)
    });
    decided.map_err(|error: EngineError| to_ipc_error(error.into()))
}

/// The one border where our errors become refusals.
pub(crate) fn to_ipc_error(error: CommitError) -> IpcErrorBody {
    match error {
        CommitError::Busy => IpcErrorBody::new(ErrorCode::Busy, error.to_string()).hint("try again"),
        CommitError::Panicked => {
            IpcErrorBody::new(ErrorCode::Internal, error.to_string()).hint("see the log: belay doctor")
        }
        CommitError::Engine(EngineError::Refused { field, problem }) => {
            IpcErrorBody::new(ErrorCode::Refused, format!("{field}: {problem}")).field(field)
        }
        CommitError::Engine(EngineError::Store(error)) => store_error_to_ipc(&error),
    }
}

pub(crate) fn store_error_to_ipc(error: &StoreError) -> IpcErrorBody {
    let code = match error {
        StoreError::NotFound(_) => ErrorCode::NotFound,
        StoreError::Ambiguous { .. } => ErrorCode::Ambiguous,
        _ => ErrorCode::Store,
    };
    IpcErrorBody::new(code, error.to_string()).hint(error.hint())
}

/// Other processes write to the store too, and do not ring our bell.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Sends events of the log as they come, until somebody has enough.
pub(crate) fn stream_events(shared: &DaemonState, stream: &mut UnixStream, what: &SubscribeRequest) {
    if let Err(refusal) = try_follow(shared, stream, what) {
        let mut out = Vec::new();
        write_error(&mut out, None, &refusal);
        // Whoever followed has gone, or reads why it ended.
        let _ = stream.write_all(&out);
    }
}

fn try_follow(shared: &DaemonState, stream: &mut UnixStream, what: &SubscribeRequest) -> Result<(), IpcErrorBody> {
    let store = shared.readers.get().map_err(|error| store_error_to_ipc(&error))?;
    let mut query = EventQuery { session: what.session.clone(), kinds: what.kinds.clone(), ..EventQuery::default() };
    query.after = what.after;
    if query.after.is_none() {
        let last = EventQuery { order: Order::Last, limit: 1, kinds: Vec::new(), ..query.clone() };
        let last = store.events(&last).map_err(|error| store_error_to_ipc(&error))?;
        query.after = Some(last.last().map_or(0, |row| number(what, row)));
    }
    let mut seen = 0;
    let mut out = Vec::new();
    while !shared.stop.is_set() {
        let rows = store.events(&query).map_err(|error| store_error_to_ipc(&error))?;
        for row in &rows {
            query.after = Some(number(what, row));
            out.clear();
            if serde_json::to_writer(&mut out, &EventView::of(row)).is_ok() {
                out.push(b'\n');
                if stream.write_all(&out).is_err() {
                    return Ok(());
                }
            }
        }
        if rows.is_empty() {
            shared.mark_active();
            if hung_up(stream) {
                return Ok(());
            }
            seen = shared.writer.commits().wait(seen, POLL_INTERVAL);
        }
    }
    Ok(())
}

fn number(what: &SubscribeRequest, row: &belay_store::EventRow) -> u64 {
    if what.session.is_some() { row.seq } else { u64::try_from(row.ord).unwrap_or(0) }
}

/// A follower that has gone tells so only by what can be read from it.
fn hung_up(stream: &UnixStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut wait = [PollFd::new(stream, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut wait, Some(&now)).is_ok_and(|ready| ready > 0)
}
