//! Waiting in the hook process, for agents whose turn no reply ends.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use belay_config::Paths;
use belay_core::session::ResumeCondition;
use belay_core::{SessionKey, SessionState};
use belay_store::{Access, Store, StoreUrl};
use rustix::process::{Pid, Signal, getpid, getppid, kill_process, test_kill_process};

use crate::local_facts::process;

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

/// Waits until the session is no longer held. Ends early if the agent is gone or has given up the hook.
pub(super) fn wait_until_released(paths: &Paths, session: &SessionKey) -> WaitEnd {
    let parent = getppid();
    let agent = parent.and_then(|pid| process::ancestor_agent(pid.as_raw_nonzero().get().unsigned_abs()));
    let agent = agent.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let is_awaited = || getppid() == parent && agent.is_none_or(|agent| test_kill_process(agent).is_ok());
    let url = StoreUrl::local(paths.database());
    let mut store: Option<Box<dyn Store>> = None;
    let started = Instant::now();
    while started.elapsed() < MAX_WAIT && is_awaited() {
        store = store.or_else(|| belay_store::open(&url, Access::Read).ok());
        match store.as_ref().map(|store| store.session(session)) {
            Some(Ok(row)) if row.as_ref().is_none_or(|row| !is_held(&row.state)) => return WaitEnd::Released,
            Some(Ok(_)) => {}
            // A store that cannot be read does not lift a person's decision.
            Some(Err(_)) | None => store = None,
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    WaitEnd::Denied
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
