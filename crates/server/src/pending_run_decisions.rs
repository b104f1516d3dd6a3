//! What was decided about a run before its sessions were known: its budget and its settings.
//!
//! Some agents get their session id from Belay; for others it is known only after the first hook or request. Decisions are
//! applied as soon as the session is known, before its next request passes. A run may have several sessions, one after
//! the other: its budget is that of the first one, its settings hold for all.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use belay_core::SessionKey;
use belay_core::event::OperatorDecision;
use belay_ipc::{DecideRequest, RunRequest};

use crate::intake;
use crate::state::DaemonState;
use crate::sync::lock;

/// Maximum number of runs; the oldest are dropped.
const MAX_RUNS: usize = 256;

/// Runs with decisions that are not applied yet, or that later sessions get, too.
#[derive(Debug, Default)]
pub(crate) struct PendingRunDecisions {
    is_pending: AtomicBool,
    runs: Mutex<Vec<PendingRun>>,
}

#[derive(Debug)]
struct PendingRun {
    run: String,
    budget: Vec<OperatorDecision>,
    settings: BTreeMap<String, String>,
    /// The session that has the settings.
    configured: Option<SessionKey>,
    by: Option<String>,
    pid: Option<u32>,
}

impl PendingRunDecisions {
    pub(crate) fn register(&self, ask: &RunRequest) {
        let RunRequest { run, budget, settings, by, pid, .. } = ask.clone();
        self.update(|runs| {
            runs.retain(|pending| pending.run != run);
            if !budget.is_empty() || !settings.is_empty() {
                runs.push(PendingRun { run, budget, settings, configured: None, by, pid });
            }
            let surplus = runs.len().saturating_sub(MAX_RUNS);
            runs.drain(..surplus);
        });
    }

    /// The process of a run that has settings of its own.
    pub(crate) fn process_with_settings(&self, run: &str) -> Option<u32> {
        if !self.is_pending.load(Ordering::Acquire) {
            return None;
        }
        let runs = lock(&self.runs);
        runs.iter().find(|pending| pending.run == run && !pending.settings.is_empty())?.pid
    }

    /// Forgets a run that is over.
    pub(crate) fn end(&self, run: &str) {
        self.update(|runs| runs.retain(|pending| pending.run != run));
    }

    /// Applies the decisions of runs whose session is known by now.
    pub(crate) fn apply_known(&self, daemon: &DaemonState, session_of: impl Fn(&str) -> Option<SessionKey>) {
        if !self.is_pending.load(Ordering::Acquire) {
            return;
        }
        self.update(|runs| {
            runs.retain_mut(|pending| match session_of(&pending.run) {
                Some(session) => pending.apply(daemon, &session) == Applied::InPart,
                None => true,
            });
        });
    }

    fn update(&self, change: impl FnOnce(&mut Vec<PendingRun>)) {
        let mut runs = lock(&self.runs);
        change(&mut runs);
        self.is_pending.store(!runs.is_empty(), Ordering::Release);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applied {
    /// Nothing remains for this run.
    Whole,
    InPart,
}

impl PendingRun {
    /// Fails in part if the session is not stored yet; its next event triggers another attempt.
    fn apply(&mut self, daemon: &DaemonState, session: &SessionKey) -> Applied {
        let by = self.by.clone();
        let decide = |decision: &OperatorDecision| {
            let note = "set by belay run".to_owned();
            let decide = DecideRequest::new(session.clone(), decision.clone()).note(note).by(by.clone());
            intake::decide(&daemon.decisions.committer, &decide).is_ok()
        };
        if self.budget.iter().all(decide) {
            self.budget.clear();
        }
        if !self.settings.is_empty() && self.configured.as_ref() != Some(session) {
            let configure = OperatorDecision::Configure { settings: self.settings.clone() };
            self.configured = decide(&configure).then(|| session.clone());
        }
        if self.budget.is_empty() && self.settings.is_empty() { Applied::Whole } else { Applied::InPart }
    }
}
