//! What can be asked over the socket, and the answers.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use belay_core::event::Quick;
use belay_core::{Body, Event};
use belay_engine::EngineError;
use belay_store::{EventQuery, Order, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::protocol::{
    AskStatus, Code, Decide, Envelope, EventAnswer, ObserveAnswers, ObserveRaw, Op, Outcome, PROTOCOL, Pong,
    QuickObserve, Refusal, Reply, Subscribe, Taken,
};
use crate::purses::Touched;
use crate::resident::Shared;
use crate::view::EventView;
use crate::writer::WriteError;
use crate::{hooks, proxy};

/// What a connection does after an answer.
pub(crate) enum Next {
    /// Reads the next line.
    Line,
    /// Leaves, once the answer is out.
    Stop,
    /// Follows the log.
    Follow(Subscribe),
}

/// Answers one line.
pub(crate) fn answer(shared: &Shared, line: &[u8], out: &mut Vec<u8>) -> Next {
    if let Some(ask) = QuickObserve::read(line) {
        let events = ask.with.events.into_iter().map(|Quick(event)| Ok(event)).collect();
        let answers = ObserveAnswers { answers: take_in(shared, events) };
        if let Err(refusal) = accept(out, ask.id, &answers) {
            refuse(out, ask.id, &refusal);
        }
        return Next::Line;
    }
    let envelope: Envelope<'_> = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        Err(error) => {
            refuse(out, None, &Refusal::new(Code::BadRequest, format!("not a request: {error}")));
            return Next::Line;
        }
    };
    let id = envelope.id;
    if let Some(v) = envelope.v.filter(|v| !(1..=PROTOCOL).contains(v)) {
        let message =
            format!("protocol version {v} is not known here; this is Belay {} with {PROTOCOL}", crate::VERSION);
        refuse(
            out,
            id,
            &Refusal::new(Code::Unknown, message).field("v").hint("restart the resident process: belay stop"),
        );
        return Next::Line;
    }
    let Ok(op) = serde_json::from_value::<Op>(envelope.op.as_ref().into()) else {
        let message = format!("there is no operation {:?} in Belay {}", envelope.op, crate::VERSION);
        refuse(out, id, &Refusal::new(Code::Unknown, message).field("op"));
        return Next::Line;
    };
    let with = envelope.with;
    let (result, next) = match op {
        Op::Ping => (accept(out, id, &pong()), Next::Line),
        Op::Stop => (accept(out, id, &pong()), Next::Stop),
        Op::Status => (read::<AskStatus>(with).and_then(|ask| accept(out, id, &shared.status(ask.token))), Next::Line),
        Op::Observe => (observe(shared, with).and_then(|answers| accept(out, id, &answers)), Next::Line),
        Op::Decide => {
            (read(with).and_then(|ask| decide(shared, &ask)).and_then(|taken| accept(out, id, &taken)), Next::Line)
        }
        Op::Hook => (read(with).and_then(|ask| accept(out, id, &hooks::answer(shared, &ask))), Next::Line),
        Op::Run => {
            (read(with).and_then(|ask| proxy::run(shared, &ask)).and_then(|run| accept(out, id, &run)), Next::Line)
        }
        Op::Subscribe => match read::<Subscribe>(with) {
            Ok(what) => (accept(out, id, &serde_json::json!({ "following": true })), Next::Follow(what)),
            Err(refusal) => (Err(refusal), Next::Line),
        },
    };
    match result {
        Ok(()) => next,
        Err(refusal) => {
            refuse(out, id, &refusal);
            Next::Line
        }
    }
}

fn accept<T: Serialize>(out: &mut Vec<u8>, id: Option<&RawValue>, answer: &T) -> Result<(), Refusal> {
    let reply = Reply { id, outcome: Outcome::Ok(answer) };
    serde_json::to_writer(&mut *out, &reply).map_err(|e| Refusal::new(Code::Internal, e.to_string()))?;
    out.push(b'\n');
    Ok(())
}

/// Writes a refusal.
pub(crate) fn refuse(out: &mut Vec<u8>, id: Option<&RawValue>, refusal: &Refusal) {
    out.clear();
    let reply: Reply<'_, ()> = Reply { id, outcome: Outcome::Error(refusal.clone()) };
    // Strings and numbers always serialise.
    let _ = serde_json::to_writer(&mut *out, &reply);
    out.push(b'\n');
}

fn read<T: DeserializeOwned>(with: Option<&RawValue>) -> Result<T, Refusal> {
    let json = with.map_or("{}", RawValue::get);
    serde_json::from_str(json).map_err(|e| Refusal::new(Code::BadRequest, e.to_string()).field("with"))
}

fn pong() -> Pong {
    Pong { pid: std::process::id(), version: crate::VERSION.to_owned(), protocol: PROTOCOL }
}

fn observe(shared: &Shared, with: Option<&RawValue>) -> Result<ObserveAnswers, Refusal> {
    let json = with.map_or("{}", RawValue::get);
    let raw: ObserveRaw<'_> =
        serde_json::from_str(json).map_err(|e| Refusal::new(Code::BadRequest, e.to_string()).field("with"))?;
    // Only the owner can open the socket.
    let events = raw.events.iter().map(|event| event.get().as_bytes());
    Ok(ObserveAnswers { answers: observe_all(shared, events, Caller::Owner) })
}

/// On whose word events are taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Proved to be the person this Belay works for: may also post decisions.
    Owner,
    /// Anything on this machine, maybe the agent itself: may tell what happened, not decide.
    Anyone,
}

/// Takes events in; each is answered, whatever becomes of the others.
pub(crate) fn observe_all<'e>(
    shared: &Shared,
    events: impl Iterator<Item = &'e [u8]>,
    caller: Caller,
) -> Vec<EventAnswer> {
    let read = |json: &[u8]| match Event::from_json(json) {
        Ok(event) if caller == Caller::Anyone && matches!(event.body, Body::Operator(_)) => {
            let problem = "a decision needs the token: send authorization: Bearer TOKEN";
            Err(Refusal::new(Code::Refused, problem).field("kind").hint("belay status --token shows the token"))
        }
        Ok(event) => Ok(event),
        Err(error) => Err(Refusal::new(Code::Refused, error.to_string()).field(error.field)),
    };
    take_in(shared, events.map(read).collect())
}

fn take_in(shared: &Shared, read: Vec<Result<Event, Refusal>>) -> Vec<EventAnswer> {
    let mut good = Vec::with_capacity(read.len());
    let refused: Vec<Option<Refusal>> =
        read.into_iter().map(|event| event.map(|event| good.push(canonical(event))).err()).collect();
    let mut written = shared.writer.observe(good).into_iter();
    refused
        .into_iter()
        .map(|refused| match refused {
            Some(error) => EventAnswer::Refused { error },
            None => match written.next() {
                Some(Ok(observed)) => EventAnswer::Taken(Taken::from(observed)),
                Some(Err(error)) => EventAnswer::Refused { error: refusal(error) },
                None => EventAnswer::Refused { error: refusal(WriteError::Fault) },
            },
        })
        .collect()
}

/// People and tools call agents by many names; sessions are kept under one.
pub fn canonical(mut event: Event) -> Event {
    for key in [Some(&mut event.session), event.parent.as_mut()].into_iter().flatten() {
        if let Some(agent) = belay_agents::agent(&key.agent).filter(|agent| agent.id != &*key.agent) {
            key.agent = agent.id.into();
        }
    }
    event
}

pub(crate) fn decide(shared: &Shared, ask: &Decide) -> Result<Taken, Refusal> {
    let decided = shared.writer.with_engine(|engine| {
        let decided = engine.decide(&ask.session, ask.decision.clone(), &ask.note, ask.by.as_deref())?;
        // Noted before the next decision can be made: the last one stands.
        shared.standings.note(&ask.session, false, &decided.decision);
        shared.purses.look_into(&ask.session, Touched::default(), engine);
        Ok(decided)
    });
    let decided = decided.map_err(|error: EngineError| refusal(error.into()))?;
    Ok(Taken::from(decided))
}

/// The one border where our errors become refusals.
pub(crate) fn refusal(error: WriteError) -> Refusal {
    match error {
        WriteError::Busy => Refusal::new(Code::Busy, error.to_string()).hint("try again"),
        WriteError::Fault => Refusal::new(Code::Internal, error.to_string()).hint("see the log: belay doctor"),
        WriteError::Engine(EngineError::Refused { field, problem }) => {
            Refusal::new(Code::Refused, format!("{field}: {problem}")).field(field)
        }
        WriteError::Engine(EngineError::Store(error)) => store_refusal(&error),
    }
}

pub(crate) fn store_refusal(error: &StoreError) -> Refusal {
    let code = match error {
        StoreError::NotFound(_) => Code::NotFound,
        StoreError::Ambiguous { .. } => Code::Ambiguous,
        _ => Code::Store,
    };
    Refusal::new(code, error.to_string()).hint(error.hint())
}

/// Other processes write to the store too, and do not ring our bell.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Sends events of the log as they come, until somebody has enough.
pub(crate) fn follow(shared: &Shared, stream: &mut UnixStream, what: &Subscribe) {
    if let Err(refusal) = try_follow(shared, stream, what) {
        let mut out = Vec::new();
        refuse(&mut out, None, &refusal);
        // Whoever followed has gone, or reads why it ended.
        let _ = stream.write_all(&out);
    }
}

fn try_follow(shared: &Shared, stream: &mut UnixStream, what: &Subscribe) -> Result<(), Refusal> {
    let store = shared.readers.get().map_err(|error| store_refusal(&error))?;
    let mut query = EventQuery { session: what.session.clone(), kinds: what.kinds.clone(), ..EventQuery::default() };
    query.after = what.after;
    if query.after.is_none() {
        let last = EventQuery { order: Order::Last, limit: 1, kinds: Vec::new(), ..query.clone() };
        let last = store.events(&last).map_err(|error| store_refusal(&error))?;
        query.after = Some(last.last().map_or(0, |row| number(what, row)));
    }
    let mut seen = 0;
    let mut out = Vec::new();
    while !shared.stop.is_set() {
        let rows = store.events(&query).map_err(|error| store_refusal(&error))?;
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
            shared.touch();
            if hung_up(stream) {
                return Ok(());
            }
            seen = shared.writer.commits().wait(seen, LOOK_AGAIN);
        }
    }
    Ok(())
}

fn number(what: &Subscribe, row: &belay_store::EventRow) -> u64 {
    if what.session.is_some() { row.seq } else { u64::try_from(row.ord).unwrap_or(0) }
}

/// A follower that has gone tells so only by what can be read from it.
fn hung_up(stream: &UnixStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut wait = [PollFd::new(stream, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut wait, Some(&now)).is_ok_and(|ready| ready > 0)
}
