//! The operations of the socket protocol.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use belay_core::{Body, Event, EventOutcome};
use belay_engine::EngineError;
use belay_ipc::protocol::parse_request;
use belay_ipc::{
    DecideRequest, ErrorBody, ErrorCode, EventResult, ObserveRequest, ObserveResponse, Operation, PROTOCOL_VERSION,
    PingResponse, Response, ResponseBody, SubscribeRequest, SubscribeResponse,
};
use belay_store::{EventQuery, Order, StoreError};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::budget_cache::BudgetChange;
use crate::daemon::DaemonState;
use crate::group_commit::CommitError;
use crate::views::EventView;
use crate::{hooks, proxy_service};

/// What a connection does after a response.
pub(crate) enum AfterReply {
    /// Reads the next line.
    Line,
    /// Stops the resident process.
    Stop,
    /// Streams events of the log.
    Follow(SubscribeRequest),
}

/// Handles one request line and writes the response to `out`.
pub(crate) fn handle_line(shared: &DaemonState, line: &[u8], out: &mut Vec<u8>) -> AfterReply {
    let (id, operation) = match parse_request(line, crate::VERSION) {
        Ok(request) => request,
        Err(error) => {
            write_error(out, error.id, &error.body);
            return AfterReply::Line;
        }
    };
    let next = match &operation {
        Operation::Stop {} => AfterReply::Stop,
        Operation::Subscribe(what) => AfterReply::Follow(what.clone()),
        _ => AfterReply::Line,
    };
    let result = match operation {
        Operation::Ping {} | Operation::Stop {} => accept(out, id, &ping_response()),
        Operation::Status(request) => accept(out, id, &shared.status(request.token)),
        Operation::Observe(request) => accept(out, id, &observe(shared, &request)),
        Operation::Decide(request) => decide(shared, &request).and_then(|outcome| accept(out, id, &outcome)),
        Operation::Hook(request) => accept(out, id, &hooks::handle_hook(shared, &request)),
        Operation::Run(request) => {
            proxy_service::handle_run(shared, &request).and_then(|response| accept(out, id, &response))
        }
        Operation::Subscribe(_) => accept(out, id, &SubscribeResponse { subscribed: true }),
    };
    match result {
        Ok(()) => next,
        Err(error) => {
            write_error(out, id, &error);
            AfterReply::Line
        }
    }
}

fn accept<T: Serialize>(out: &mut Vec<u8>, id: Option<&RawValue>, answer: &T) -> Result<(), ErrorBody> {
    let reply = Response { id, body: ResponseBody::Ok(answer) };
    serde_json::to_writer(&mut *out, &reply).map_err(|e| ErrorBody::new(ErrorCode::Internal, e.to_string()))?;
    out.push(b'\n');
    Ok(())
}

/// Writes a refusal.
pub(crate) fn write_error(out: &mut Vec<u8>, id: Option<&RawValue>, refusal: &ErrorBody) {
    out.clear();
    let reply: Response<'_, ()> = Response { id, body: ResponseBody::Error(refusal.clone()) };
    // Strings and numbers always serialise.
    let _ = serde_json::to_writer(&mut *out, &reply);
    out.push(b'\n');
}

fn ping_response() -> PingResponse {
    PingResponse { pid: std::process::id(), version: crate::VERSION.to_owned(), protocol: PROTOCOL_VERSION }
}

fn observe(shared: &DaemonState, request: &ObserveRequest) -> ObserveResponse {
    // Only the owner can open the socket.
    let events = request.events.iter().map(|event| event.get().as_bytes());
    ObserveResponse { answers: observe_all(shared, events, Authority::Owner) }
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
            Err(ErrorBody::new(ErrorCode::Refused, problem).field("kind").hint("belay status --token shows the token"))
        }
        Ok(event) => Ok(event),
        Err(error) => Err(ErrorBody::new(ErrorCode::Refused, error.to_string()).field(error.field)),
    };
    take_in(shared, events.map(read).collect())
}

fn take_in(shared: &DaemonState, read: Vec<Result<Event, ErrorBody>>) -> Vec<EventResult> {
    let mut good = Vec::with_capacity(read.len());
    let refused: Vec<Option<ErrorBody>> =
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

pub(crate) fn decide(shared: &DaemonState, ask: &DecideRequest) -> Result<EventOutcome, ErrorBody> {
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
pub(crate) fn to_ipc_error(error: CommitError) -> ErrorBody {
    match error {
        CommitError::Busy => ErrorBody::new(ErrorCode::Busy, error.to_string()).hint("try again"),
        CommitError::Panicked => {
            ErrorBody::new(ErrorCode::Internal, error.to_string()).hint("see the log: belay doctor")
        }
        CommitError::Engine(EngineError::Refused { field, problem }) => {
            ErrorBody::new(ErrorCode::Refused, format!("{field}: {problem}")).field(field)
        }
        CommitError::Engine(EngineError::Store(error)) => store_error_to_ipc(&error),
    }
}

pub(crate) fn store_error_to_ipc(error: &StoreError) -> ErrorBody {
    let code = match error {
        StoreError::NotFound(_) => ErrorCode::NotFound,
        StoreError::Ambiguous { .. } => ErrorCode::Ambiguous,
        _ => ErrorCode::Store,
    };
    ErrorBody::new(code, error.to_string()).hint(error.hint())
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

fn try_follow(shared: &DaemonState, stream: &mut UnixStream, what: &SubscribeRequest) -> Result<(), ErrorBody> {
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
