//! What `belay run` was promised about a session that nobody has seen yet: its budget.
//!
//! Some agents have their session's id from us, of others it is known once a hook or a request has told
//! it. Whoever learns it settles what was promised, before the next request can pass.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use belay_core::SessionKey;
use belay_core::event::OperatorDecision;

use crate::ops;
use crate::protocol::{BeginRun, Decide};
use crate::resident::Shared;

/// Runs whose agent never came are forgotten, oldest first.
const KEPT: usize = 256;

/// Promises not settled yet.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    open: AtomicBool,
    runs: Mutex<Vec<Promise>>,
}

#[derive(Clone, Debug)]
struct Promise {
    run: String,
    budget: Vec<OperatorDecision>,
    by: Option<String>,
}

impl Promises {
    pub(crate) fn make(&self, ask: &BeginRun) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|promise| promise.run != ask.run);
        if !ask.budget.is_empty() {
            runs.push(Promise { run: ask.run.clone(), budget: ask.budget.clone(), by: ask.by.clone() });
        }
        let surplus = runs.len().saturating_sub(KEPT);
        runs.drain(..surplus);
        self.open.store(!runs.is_empty(), Ordering::Release);
    }

    /// Settles what was promised about sessions that are known by now.
    pub(crate) fn settle(&self, shared: &Shared, session_of: impl Fn(&str) -> Option<SessionKey>) {
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

impl Promise {
    fn settled(&self, shared: &Shared, session: &SessionKey) -> bool {
        self.budget.iter().all(|decision| {
            let (note, by) = ("set by belay run".to_owned(), self.by.clone());
            let decide = Decide { session: session.clone(), decision: decision.clone(), note, by };
            // Not yet in the store: there will be another chance with its next event.
            ops::decide(shared, &decide).is_ok()
        })
    }
}
