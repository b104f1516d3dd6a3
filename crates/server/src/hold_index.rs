//! Index of held sessions, in memory, for callers that cannot wait for the store.
//!
//! It contains only sessions that are held or must ask before they continue. Outcomes of events keep it current: a state
//! change is an effect, and the verdict on each model request reflects the session's state even if another process
//! changed it. A [`HoldWatcher`] adds sessions that another process has paused or killed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use belay_core::{Decision, Effect, InterventionLevel, SessionKey, SessionState, Verdict};
use belay_engine::Engine;
use belay_proxy::{BoxFuture, HoldState};
use belay_store::{Access, ChangeToken, HeldSession, Store, StoreUrl};
use tokio::sync::Notify;

use crate::sync::lock;

/// Maximum number of held sessions loaded, newest first. Older ones get their verdict at their next event.
const MAX_LOADED_SESSIONS: usize = 4096;

/// The store is polled at most this often, so that thousands of requests per second do not pay for it.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The store is opened again at most this often.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);

/// Sessions that are held or must ask before they continue.
#[derive(Debug, Default)]
pub(crate) struct HoldIndex {
    sessions: RwLock<HashMap<SessionKey, HoldState>>,
    /// Sessions whose next occurrence of a finding may lead to an intervention.
    suspicious: Mutex<HashSet<SessionKey>>,
    changed: Arc<Notify>,
}

impl HoldIndex {
    /// Adds the held sessions of the store. Sessions that are no longer held are not removed, because the store may be
    /// behind the engine; their next request gets a verdict and removes them.
    pub(crate) fn load(&self, store: &dyn Store) -> belay_store::Result<()> {
        self.add(store.held_sessions(MAX_LOADED_SESSIONS)?);
        Ok(())
    }

    /// Adds the held sessions that the engine knows, also without its store.
    pub(crate) fn load_from(&self, engine: &Engine) {
        self.add(engine.held_sessions(MAX_LOADED_SESSIONS));
    }

    fn add(&self, sessions: Vec<HeldSession>) {
        for held in sessions {
            let known = self.get(&held.session);
            self.set(&held.session, hold_state_of(&held.state).max(known));
        }
    }

    pub(crate) fn get(&self, session: &SessionKey) -> HoldState {
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session).copied().unwrap_or_default()
    }

    /// Applies the outcome of an event; `asked` if the event was a request for a verdict.
    pub(crate) fn apply_decision(&self, session: &SessionKey, asked: bool, decision: &Decision) {
        for effect in &decision.effects {
            match effect {
                Effect::StateChanged { to, .. } => self.set(session, hold_state_of(to)),
                // A nudge is pending. After a notice, the next request may carry a nudge, so it must be inspected
                // before it is sent.
                Effect::Intervened(step) if step.level <= InterventionLevel::Nudge && !step.dry_run => {
                    self.suspicious().insert(session.clone());
                    self.set(session, HoldState::MustAsk.max(self.get(session)));
                }
                _ => {}
            }
        }
        if asked {
            self.set(
                session,
                match decision.verdict {
                    Verdict::Go | Verdict::Nudge { .. } if self.suspicious().remove(session) => HoldState::MustAsk,
                    // The next request may carry the next nudge.
                    Verdict::Nudge { .. } => HoldState::MustAsk,
                    Verdict::Go => HoldState::Free,
                    Verdict::Hold { .. } => HoldState::Held,
                    Verdict::Stop { .. } => HoldState::Killed,
                },
            );
        }
    }

    fn suspicious(&self) -> MutexGuard<'_, HashSet<SessionKey>> {
        self.suspicious.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, session: &SessionKey, state: HoldState) {
        if state == self.get(session) {
            return;
        }
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        match state {
            HoldState::Free => sessions.remove(session),
            other => sessions.insert(session.clone(), other),
        };
        drop(sessions);
        self.changed.notify_waiters();
    }

    /// The session does not exist any more.
    pub(crate) fn release(&self, session: &SessionKey) {
        self.suspicious().remove(session);
        self.set(session, HoldState::Free);
    }

    /// Resolves at the next change.
    pub(crate) fn changed(&self) -> BoxFuture<()> {
        let mut notified = Box::pin(Arc::clone(&self.changed).notified_owned());
        // Registers now, not at the first poll.
        notified.as_mut().enable();
        notified
    }
}

/// Reads holds that other processes write to the store.
pub(crate) struct HoldWatcher {
    url: StoreUrl,
    state: Mutex<WatcherState>,
}

#[derive(Default)]
struct WatcherState {
    store: Option<Box<dyn Store>>,
    token: Option<ChangeToken>,
    next_poll: Option<Instant>,
}

impl std::fmt::Debug for HoldWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HoldWatcher").field("url", &self.url).finish_non_exhaustive()
    }
}

impl HoldWatcher {
    pub(crate) fn new(url: StoreUrl) -> Self {
        Self { url, state: Mutex::default() }
    }

    /// Updates the index if the store has changed.
    pub(crate) fn poll(&self, holds: &HoldIndex) {
        let mut state = lock(&self.state);
        let now = Instant::now();
        if state.next_poll.is_some_and(|next| now < next) {
            return;
        }
        state.next_poll = Some(now + POLL_INTERVAL);
        if let Err(error) = state.update(&self.url, holds) {
            tracing::debug!(%error, "cannot read the holds of other processes");
            *state = WatcherState { next_poll: Some(now + REOPEN_INTERVAL), ..WatcherState::default() };
        }
    }
}

impl WatcherState {
    fn update(&mut self, url: &StoreUrl, holds: &HoldIndex) -> belay_store::Result<()> {
        let store = match self.store.take() {
            Some(store) => store,
            None => belay_store::open(url, Access::Read)?,
        };
        let store = self.store.insert(store);
        let token = store.change_token()?;
        if self.token != Some(token) {
            holds.load(&**store)?;
            self.token = Some(token);
        }
        Ok(())
    }
}

fn hold_state_of(state: &SessionState) -> HoldState {
    if state.is_killed() {
        HoldState::Killed
    } else if state.is_paused() {
        HoldState::Held
    } else {
        HoldState::Free
    }
}

#[cfg(test)]
mod tests;
