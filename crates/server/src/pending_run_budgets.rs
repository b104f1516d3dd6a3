//! Budgets of runs whose session is not known yet.
//!
//! Some agents get their session id from Belay; for others it is known only after the first hook or request. The budget is
//! applied as soon as the session is known, before its next request passes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use belay_core::SessionKey;
use belay_core::event::OperatorDecision;
use belay_ipc::{DecideRequest, RunRequest};

use crate::intake;
use crate::state::DaemonState;
use crate::sync::lock;

/// Maximum number of pending runs; the oldest are dropped.
const MAX_PENDING: usize = 256;

/// Budgets that are not applied yet.
#[derive(Debug, Default)]
pub(crate) struct PendingRunBudgets {
    is_pending: AtomicBool,
    runs: Mutex<Vec<PendingBudget>>,
}

#[derive(Clone, Debug)]
struct PendingBudget {
    run: String,
    budget: Vec<OperatorDecision>,
    by: Option<String>,
}

impl PendingRunBudgets {
    pub(crate) fn register(&self, ask: &RunRequest) {
        let mut runs = lock(&self.runs);
        runs.retain(|pending| pending.run != ask.run);
        if !ask.budget.is_empty() {
            runs.push(PendingBudget { run: ask.run.clone(), budget: ask.budget.clone(), by: ask.by.clone() });
        }
        let surplus = runs.len().saturating_sub(MAX_PENDING);
        runs.drain(..surplus);
        self.is_pending.store(!runs.is_empty(), Ordering::Release);
    }

    /// Applies the budgets of runs whose session is known by now.
    pub(crate) fn apply_known(&self, shared: &DaemonState, session_of: impl Fn(&str) -> Option<SessionKey>) {
        if !self.is_pending.load(Ordering::Acquire) {
            return;
        }
        let mut runs = lock(&self.runs);
        runs.retain(|pending| match session_of(&pending.run) {
            Some(session) => !pending.try_apply(shared, &session),
            None => true,
        });
        self.is_pending.store(!runs.is_empty(), Ordering::Release);
    }
}

impl PendingBudget {
    fn try_apply(&self, shared: &DaemonState, session: &SessionKey) -> bool {
        self.budget.iter().all(|decision| {
            let (note, by) = ("set by belay run".to_owned(), self.by.clone());
            let decide = DecideRequest::new(session.clone(), decision.clone()).note(note).by(by);
            // Fails if the session is not stored yet; its next event triggers another attempt.
            intake::decide(&shared.decisions.committer, &decide).is_ok()
        })
    }
}
