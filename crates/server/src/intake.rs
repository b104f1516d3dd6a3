//! Records events and decisions of clients, in the resident process and in the CLI.

use belay_core::event::{Operator, OperatorDecision};
use belay_core::key::InvalidId;
use belay_core::{Body, Event, EventOutcome, Excerpt, Source};
use belay_engine::{EngineAccess, EngineError, ObserveError};
use belay_ipc::{DecideRequest, ErrorBody, ErrorCode, EventResult};
use belay_store::StoreError;

/// What the sender of events may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The owner, who may post every event.
    Owner,
    /// Any local program, possibly the agent itself. It may report work, but post neither decisions nor facts that
    /// discard evidence.
    Anyone,
}

/// Records events given as JSON and returns one result per event.
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
        Ok(event) if sender == Authority::Anyone && requires_owner(&event.body) => {
            let kind = event.body.kind();
            let problem = format!("an event of kind `{kind}` requires the API token: send authorization: Bearer TOKEN");
            Err(ErrorBody::new(ErrorCode::Forbidden, problem)
                .field("kind")
                .hint("run `belay status --token` in your own terminal to show the token"))
        }
        Ok(mut event) => {
            if sender == Authority::Anyone {
                event.source = Source::Unverified;
            }
            Ok(canonicalize_agent(event))
        }
        Err(error) => Err(ErrorBody::new(ErrorCode::Refused, error.to_string()).field(error.field)),
    }
}

/// Whether only the owner may post such an event: decisions, and facts that discard or replace evidence. A person's
/// prompt clears the evidence, a balance replaces what sessions spent together, and a delivery ends a nudge. How a
/// prompt ended is known to Belay alone.
pub fn requires_owner(body: &Body) -> bool {
    matches!(
        body,
        Body::Operator(_)
            | Body::Prompt(_)
            | Body::SubAgentsSpent(_)
            | Body::SharedSpent(_)
            | Body::ApprovalEnded(_)
            | Body::Delivered(_)
            | Body::Tick
    )
}

/// Replaces agent aliases by the canonical id, under which sessions are stored.
fn canonicalize_agent(mut event: Event) -> Event {
    for key in [Some(&mut event.session), event.parent.as_mut()].into_iter().flatten() {
        let id = belay_agents::canonical_id(&key.agent);
        if id != &*key.agent {
            key.agent = id.into();
        }
    }
    event
}

/// Records an operator's decision about a session.
pub fn decide(engine: &dyn EngineAccess, request: &DecideRequest) -> Result<EventOutcome, ErrorBody> {
    match request.decision {
        // Recorded only if it reaches the agent.
        OperatorDecision::Answer { .. } => {
            let message = "a permission prompt is answered by its id, not by a decision about the session";
            Err(ErrorBody::new(ErrorCode::BadRequest, message).field("decision").hint("see `belay approvals`"))
        }
        _ => record(engine, request),
    }
}

/// Records a decision as it is.
pub(crate) fn record(engine: &dyn EngineAccess, request: &DecideRequest) -> Result<EventOutcome, ErrorBody> {
    let DecideRequest { session, decision, note, by, caller, id } = request.clone();
    let operator = Operator { decision, note: Excerpt::new(&note), by, caller };
    engine.decide(&session, operator, id.as_deref()).map_err(to_ipc_error)
}

/// Maps engine errors to protocol errors.
pub(crate) fn to_ipc_error(error: ObserveError) -> ErrorBody {
    match &error {
        ObserveError::Busy => ErrorBody::new(ErrorCode::Busy, error.to_string()).hint("try again"),
        ObserveError::Panicked => {
            ErrorBody::new(ErrorCode::Internal, error.to_string()).hint("run belay doctor to locate the log")
        }
        ObserveError::Engine(EngineError::Refused(InvalidId { field, problem })) => {
            ErrorBody::new(ErrorCode::Refused, format!("{field}: {problem}")).field(*field)
        }
        ObserveError::Engine(EngineError::DecisionRefused { refusal, .. }) => {
            ErrorBody::new(ErrorCode::Refused, error.to_string()).hint(refusal.hint())
        }
        ObserveError::Engine(EngineError::Store(error)) => store_error_to_ipc(error),
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
