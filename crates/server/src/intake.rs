//! Events and decisions of clients, on any engine: the resident process and the CLI record them alike.

use belay_core::{Body, Event, EventOutcome};
use belay_engine::{EngineAccess, EngineError, ObserveError};
use belay_ipc::{DecideRequest, ErrorBody, ErrorCode, EventResult};
use belay_store::StoreError;

/// What the sender of events may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Proved to be the owner of this Belay: may also post decisions.
    Owner,
    /// Any program on this machine, maybe the agent itself: may post events, but not decisions.
    Anyone,
}

/// Records events given as JSON. Each has a result of its own, whatever happens to the others.
pub fn observe_json<'e>(
    engine: &dyn EngineAccess,
    events: impl Iterator<Item = &'e [u8]>,
    sender: Authority,
) -> Vec<EventResult> {
    let mut valid = Vec::new();
    let refused: Vec<Option<ErrorBody>> =
        events.map(|json| parse(json, sender).map(|event| valid.push(event)).err()).collect();
    let mut results = engine.observe(valid).into_iter();
    let mut next = || match results.next().unwrap_or(Err(ObserveError::Panicked)) {
        Ok(outcome) => EventResult::Accepted(outcome),
        Err(error) => EventResult::Refused { error: to_ipc_error(error) },
    };
    refused
        .into_iter()
        .map(|refused| match refused {
            Some(error) => EventResult::Refused { error },
            None => next(),
        })
        .collect()
}

fn parse(json: &[u8], sender: Authority) -> Result<Event, ErrorBody> {
    match Event::from_json(json) {
        Ok(event) if sender == Authority::Anyone && matches!(event.body, Body::Operator(_)) => {
            let problem = "a decision needs the token: send authorization: Bearer TOKEN";
            Err(ErrorBody::new(ErrorCode::Refused, problem).field("kind").hint("belay status --token shows the token"))
        }
        Ok(event) => Ok(canonicalize_agent(event)),
        Err(error) => Err(ErrorBody::new(ErrorCode::Refused, error.to_string()).field(error.field)),
    }
}

/// An agent has several names; sessions are stored under its id.
fn canonicalize_agent(mut event: Event) -> Event {
    for key in [Some(&mut event.session), event.parent.as_mut()].into_iter().flatten() {
        let id = belay_agents::canonical_id(&key.agent);
        if id != &*key.agent {
            key.agent = id.into();
        }
    }
    event
}

/// Records a person's decision.
pub fn decide(engine: &dyn EngineAccess, request: &DecideRequest) -> Result<EventOutcome, ErrorBody> {
    let DecideRequest { session, decision, note, by } = request;
    engine.decide(session, decision.clone(), note, by.as_deref()).map_err(to_ipc_error)
}

/// The only place where errors of the engine become errors of the protocol.
pub(crate) fn to_ipc_error(error: ObserveError) -> ErrorBody {
    match error {
        ObserveError::Busy => ErrorBody::new(ErrorCode::Busy, error.to_string()).hint("try again"),
        ObserveError::Panicked => {
            ErrorBody::new(ErrorCode::Internal, error.to_string()).hint("see the log: belay doctor")
        }
        ObserveError::Engine(EngineError::Refused { field, problem }) => {
            ErrorBody::new(ErrorCode::Refused, format!("{field}: {problem}")).field(field)
        }
        ObserveError::Engine(EngineError::Store(error)) => store_error_to_ipc(&error),
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
