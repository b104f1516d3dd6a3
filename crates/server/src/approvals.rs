//! Permission prompts of agents that a person may answer here instead of in the agent's terminal.
//!
//! A hook offers a prompt and awaits the answer on its own connection, which no thread serves meanwhile
//! (`wait`). The first answer wins. Belay never answers by itself: without a person's answer the hook says
//! nothing, and the agent's terminal asks as it would without Belay.

mod registry;
mod wait;

use std::time::Duration;

use belay_config::ApprovalsConfig;
use belay_core::Event;
use belay_core::event::{OperatorDecision, PermissionAnswer};
use belay_hooks::{ApprovalOffer, is_held};
use belay_ipc::views::PendingApproval;
use belay_ipc::{AnswerRequest, AnswerResponse, ApprovalTicket, DecideRequest, ErrorBody, ErrorCode};

use crate::intake;
use crate::state::DaemonState;
use registry::Registry;

pub(crate) use wait::answer_when_decided;

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(9 * 60);

/// How much earlier than the agent's own timeout a wait ends.
pub const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);

/// What a model reads if a person denies without a reason.
const DENIED: &str = "A person denied this call through Belay.";

/// The prompts that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    registry: Registry,
}

impl Approvals {
    /// The prompts that wait for an answer now, the oldest first.
    pub(crate) fn pending(&self) -> Vec<PendingApproval> {
        self.registry.pending(belay_clock::now())
    }

    /// Offers a prompt to a person. `None` if approvals are off, or if the person could not be shown all of it.
    pub(crate) fn offer(&self, offer: ApprovalOffer, config: &ApprovalsConfig) -> Option<ApprovalTicket> {
        let wait = config.wait.get().unwrap_or(MAX_WAIT).min(MAX_WAIT);
        let wait = wait.min(offer.timeout.checked_sub(TIMEOUT_MARGIN)?);
        if !config.enabled || wait.is_zero() {
            return None;
        }
        let now = belay_clock::now();
        let id = self.registry.add(offer, wait, now)?;
        Some(ApprovalTicket { id, wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) })
    }

    /// Ends prompts that these events show to be answered in the terminal.
    pub(crate) fn on_events(&self, events: &[Event]) {
        self.registry.on_events(events, belay_clock::now());
    }
}

/// Records how prompts ended that nobody answered here, so that the log tells what became of each. Called every second:
/// the events carry the time of the end.
pub(crate) fn record_endings(shared: &DaemonState) {
    let ended = shared.approvals.registry.take_unrecorded(belay_clock::now());
    if ended.is_empty() {
        return;
    }
    for result in shared.decisions.committer.observe(ended) {
        if let Err(error) = result {
            tracing::warn!(%error, "the end of a permission prompt was not recorded");
        }
    }
}

/// Answers a prompt: records the answer, then tells the agent.
pub(crate) fn answer(shared: &DaemonState, request: &AnswerRequest) -> Result<AnswerResponse, ErrorBody> {
    let AnswerRequest { id, answer, hash, why, by, caller } = request.clone();
    let author = by.clone().unwrap_or_else(|| "another client".to_owned());
    let registry = &shared.approvals.registry;
    let claim = registry.claim(&id, &hash, answer, &author, belay_clock::now())?;
    let session = claim.session().clone();
    let must_not_run = || answer == PermissionAnswer::Allow && is_held(&shared.decisions.committer, &session);
    if must_not_run() {
        let message = format!("{session} is held by Belay, so its calls cannot be allowed");
        return Err(ErrorBody::new(ErrorCode::Refused, message).hint("resume the session first: `belay resume`"));
    }
    let decision = OperatorDecision::Answer { approval: id, answer, hash: claim.hash().to_owned() };
    let decide = DecideRequest::new(session.clone(), decision).note(&why).by(by).caller(caller);
    intake::record(&shared.decisions.committer, &decide)?;
    // The session may have been paused or killed while the answer was recorded.
    if must_not_run() {
        claim.withhold();
        let message = format!("{session} has just been held by Belay, so the answer was not delivered");
        return Err(ErrorBody::new(ErrorCode::Refused, message).hint("the agent's own terminal asks"));
    }
    let reason = if why.trim().is_empty() { DENIED.to_owned() } else { format!("{DENIED} Reason: {}", why.trim()) };
    let approval = claim
        .deliver(&reason)
        .ok_or_else(|| ErrorBody::new(ErrorCode::Conflict, "the agent no longer waits; answer in its terminal"))?;
    Ok(AnswerResponse { approval, answer })
}

#[cfg(test)]
mod tests;
