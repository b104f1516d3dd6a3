//! Permission prompts of agents that a person may answer here instead of in the agent's terminal.
//!
//! A hook offers a prompt and gets a [ticket](crate::tickets), with which it awaits the answer. The first answer wins. Belay never answers by itself: without a person's answer the hook says
//! nothing, and the agent's terminal asks as it would without Belay.

mod registry;

use std::sync::Arc;
use std::time::Duration;

use belay_config::ApprovalsConfig;
use belay_core::event::{OperatorDecision, PermissionAnswer};
use belay_core::{Event, SessionKey};
use belay_hooks::{HookOffer, is_held};
use belay_ipc::views::PendingApproval;
use belay_ipc::{AnswerRequest, AnswerResponse, DecideRequest, ErrorBody, ErrorCode, HookTicket};

use crate::intake;
use crate::state::DaemonState;
use crate::tickets::{TIMEOUT_MARGIN, Tickets};
use registry::Registry;

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(9 * 60);

/// What a model reads if a person denies without a reason.
const DENIED: &str = "A person denied this call through Belay.";

/// The prompts that wait for an answer.
#[derive(Debug)]
pub(crate) struct Approvals {
    registry: Arc<Registry>,
}

impl Approvals {
    pub(crate) fn new(tickets: Arc<Tickets>) -> Self {
        Self { registry: Arc::new(Registry::new(tickets)) }
    }

    /// The prompts that wait for an answer now, the oldest first.
    pub(crate) fn pending(&self) -> Vec<PendingApproval> {
        self.registry.pending(belay_clock::now())
    }

    /// Whether this prompt waits for an answer.
    pub(crate) fn is_pending(&self, id: &str) -> bool {
        self.registry.is_pending(id)
    }

    /// Offers the prompt of a hook to a person. `None` if it has none, if approvals are off, or if the person could not be
    /// shown all of it. `root` is the session that the hook's session ultimately belongs to, `timeout` how long the agent
    /// waits for the hook.
    pub(crate) fn offer(
        &self,
        offer: HookOffer,
        root: SessionKey,
        timeout: Duration,
        config: &ApprovalsConfig,
    ) -> Option<HookTicket> {
        let now = belay_clock::now();
        let wait = config.wait.get().unwrap_or(MAX_WAIT).min(MAX_WAIT);
        // A hook that repeats its call has waited before.
        let waited = now.saturating_since(offer.at);
        let wait = wait.min(timeout.saturating_sub(TIMEOUT_MARGIN).saturating_sub(waited));
        // Without a person nobody can answer.
        if !config.enabled || offer.ci || wait.is_zero() {
            return None;
        }
        self.registry.add(offer, root, wait, now)
    }

    /// Ends prompts that these events show to be answered in the terminal.
    pub(crate) fn on_events(&self, events: &[Event]) {
        self.registry.on_events(events, belay_clock::now());
    }
}

/// Records how prompts ended that nobody answered here, so that the log tells what became of each. Called every second:
/// the events carry the time of the end.
pub(crate) fn record_endings(daemon: &DaemonState) {
    let ended = daemon.approvals.registry.take_unrecorded(belay_clock::now());
    if ended.is_empty() {
        return;
    }
    for result in daemon.decisions.committer.observe(ended) {
        if let Err(error) = result {
            tracing::warn!(%error, "the end of a permission prompt was not recorded");
        }
    }
}

/// Answers a prompt: records the answer, then tells the agent.
pub(crate) fn answer(daemon: &DaemonState, request: &AnswerRequest) -> Result<AnswerResponse, ErrorBody> {
    let AnswerRequest { id, answer, hash, why, by, caller } = request.clone();
    let author = by.clone().unwrap_or_else(|| "another client".to_owned());
    let registry = &daemon.approvals.registry;
    let claim = registry.claim(&id, &hash, answer, &author, belay_clock::now())?;
    let session = claim.session().clone();
    let must_not_run = || answer == PermissionAnswer::Allow && is_held(&daemon.decisions.committer, &session);
    if must_not_run() {
        let message = format!("{session} is held by Belay, so its calls cannot be allowed");
        return Err(ErrorBody::new(ErrorCode::Refused, message).hint("resume the session first: `belay resume`"));
    }
    let decision = OperatorDecision::Answer { approval: id, answer, hash: claim.hash().to_owned() };
    let decide = DecideRequest::new(session.clone(), decision).note(&why).by(by).caller(caller);
    intake::record(&daemon.decisions.committer, &decide)?;
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
