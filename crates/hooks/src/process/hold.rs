//! Waits in the hook process, for agents whose turn a hook response cannot end.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use belay_config::Paths;
use belay_core::session::ResumeCondition;
use belay_core::{SessionKey, SessionState};
use belay_engine::MAX_ANCESTORS;
use belay_store::{Access, Store, StoreUrl};
use rustix::process::{Pid, Signal, getpid, getppid, kill_process, test_kill_process};

use crate::local_facts::agent_process::ancestor_agent;

/// How often the session's state is read.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Less than the agent's timeout, which would let the call run.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60 - 60);

/// Why the wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitEnd {
    /// A person released the session, or its pause expired: the call may run.
    Released,
    /// The call is denied.
    Denied,
}

/// Waits until neither the session nor one of its ancestors is held. Ends early if the agent is gone or has given up the
/// hook.
pub(super) fn wait_until_released(paths: &Paths, session: &SessionKey) -> WaitEnd {
    let parent = getppid();
    let agent = parent.and_then(|pid| ancestor_agent(pid.as_raw_nonzero().get().unsigned_abs()));
    let agent = agent.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let is_awaited = || getppid() == parent && agent.is_none_or(|agent| test_kill_process(agent).is_ok());
    let url = StoreUrl::local(paths.database());
    let mut store: Option<Box<dyn Store>> = None;
    let mut wait = HoldWait::default();
    let started = Instant::now();
    while started.elapsed() < MAX_WAIT && is_awaited() {
        store = store.or_else(|| belay_store::open(&url, Access::Read).ok());
        match store.as_deref().map(|store| hold_status(store, session)) {
            Some(Ok(status)) => {
                if let Some(end) = wait.advance(status) {
                    return end;
                }
            }
            // A store that cannot be read does not lift a person's decision.
            Some(Err(_)) | None => store = None,
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    WaitEnd::Denied
}

/// What the store says about a session and its ancestors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldStatus {
    Held,
    Free,
    /// The session, or the parent that a row names, is not in the store.
    Missing,
}

/// A wait for the end of a hold.
#[derive(Debug, Default)]
pub(super) struct HoldWait {
    has_seen_hold: bool,
}

impl HoldWait {
    /// How the wait ends, if it ends now. Only a hold that was seen can be seen to end: a pause that exists in the memory
    /// of the resident process alone never appears in the store, and a row that is gone says nothing.
    pub(super) fn advance(&mut self, status: HoldStatus) -> Option<WaitEnd> {
        match status {
            HoldStatus::Held => {
                self.has_seen_hold = true;
                None
            }
            HoldStatus::Free if self.has_seen_hold => Some(WaitEnd::Released),
            HoldStatus::Free | HoldStatus::Missing => Some(WaitEnd::Denied),
        }
    }
}

pub(super) fn hold_status(store: &dyn Store, session: &SessionKey) -> belay_store::Result<HoldStatus> {
    let mut next = Some(session.clone());
    // The bound also ends a cycle of parents.
    for _ in 0..=MAX_ANCESTORS {
        let Some(key) = next else { break };
        let Some(row) = store.session(&key)? else { return Ok(HoldStatus::Missing) };
        if is_held(&row.state) {
            return Ok(HoldStatus::Held);
        }
        next = row.parent;
    }
    Ok(HoldStatus::Free)
}

fn is_held(state: &SessionState) -> bool {
    match state.effective() {
        SessionState::Paused { until: Some(until), gate: ResumeCondition::Operator, .. } => belay_clock::now() < *until,
        state => state.is_paused() || state.is_killed(),
    }
}

/// Kills this process if it does not decide in time. The command of the hook then succeeds without a reply.
pub(super) struct Watchdog(Sender<()>);

impl Watchdog {
    pub(super) fn arm(timeout: Duration) -> Self {
        let (disarm, disarmed) = mpsc::channel();
        // Without a thread there is only the agent's own timeout.
        let _ = std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            if disarmed.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(getpid(), Signal::KILL);
            }
        });
        Self(disarm)
    }

    pub(super) fn disarm(self) {
        let _ = self.0.send(());
    }
}
