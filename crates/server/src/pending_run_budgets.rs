//! What `belay run` was promised about a session that nobody has seen yet: its budget.
//!
//! Some agents have their session's id from us, of others it is known once a hook or a request has told
//! it. Whoever learns it settles what was promised, before the next request can pass.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use belay_core::SessionKey;
use belay_core::event::OperatorDecision;
use belay_ipc::{DecideRequest, RunRequest};

use crate::intake;
use crate::state::DaemonState;

/// Runs whose agent never came are forgotten, oldest first.
const MAX_PENDING: usize = 256;

/// Promises not settled yet.
#[derive(Debug, Default)]
pub(crate) struct PendingRunBudgets {
    open: AtomicBool,
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
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|promise| promise.run != ask.run);
        if !ask.budget.is_empty() {
            runs.push(PendingBudget { run: ask.run.clone(), budget: ask.budget.clone(), by: ask.by.clone() });
        }
        let surplus = runs.len().saturating_sub(MAX_PENDING);
        runs.drain(..surplus);
        self.open.store(!runs.is_empty(), Ordering::Release);
    }

    /// Settles what was promised about sessions that are known by now.
    pub(crate) fn apply_known(&self, shared: &DaemonState, session_of: impl Fn(&str) -> Option<SessionKey>) {
        if !self.open.load(Ordering::Acquire) {
            return;
        }
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|promise| match session_of(&promise.run) {
            Some(session) => !promise.settled(shared, &session),
            None => true,
        });
        self.open.store(!runs.is_empty(), Ordering::Release);
    }
}

impl PendingBudget {
    fn settled(&self, shared: &DaemonState, session: &SessionKey) -> bool {
        self.budget.iter().all(|decision| {
            let (note, by) = ("set by belay run".to_owned(), self.by.clone());
            let decide = DecideRequest { session: session.clone(), decision: decision.clone(), note, by };
            // Not yet in the store: there will be another chance with its next event.
            intake::decide(&shared.decisions.committer, &decide).is_ok()
        })
    }
}
