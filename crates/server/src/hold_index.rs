//! How sessions stand, in memory, for those who cannot wait for the store.
//!
//! Only sessions that may not simply go on are kept here, and that is few of many. The engine's
//! answers keep it right: a change of state comes with an effect, and the answer to every question of
//! an agent says how the session stands, even if another process changed it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use belay_core::{Decision, Effect, InterventionLevel, SessionKey, SessionState, Verdict};
use belay_proxy::{BoxFuture, HoldState};
use belay_store::{SessionQuery, Store};
use tokio::sync::Notify;

/// Sessions that may not simply go on.
#[derive(Debug, Default)]
pub(crate) struct HoldIndex {
    /// How many there are, to be asked without a lock.
    count: AtomicUsize,
    sessions: RwLock<HashMap<SessionKey, HoldState>>,
    bell: Arc<Notify>,
}

impl HoldIndex {
    /// As the store has them.
    pub(crate) fn load(&self, store: &dyn Store) -> belay_store::Result<()> {
        let mut query = SessionQuery {
            states: vec!["paused".to_owned(), "killed".to_owned(), "archived".to_owned()],
            archived: true,
            limit: 500,
            ..SessionQuery::default()
        };
        loop {
            let page = store.sessions(&query)?;
            for row in &page.rows {
                self.set(&row.key, of_state(&row.state));
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(()),
            }
        }
    }

    pub(crate) fn get(&self, session: &SessionKey) -> HoldState {
        if self.count.load(Ordering::Acquire) == 0 {
            return HoldState::Free;
        }
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session).copied().unwrap_or_default()
    }

    /// What an answer of the engine says about the session.
    pub(crate) fn apply_decision(&self, session: &SessionKey, asked: bool, decision: &Decision) {
        for effect in &decision.effects {
            match effect {
                Effect::StateChanged { to, .. } => self.set(session, of_state(to)),
                Effect::Intervened(step) if step.rung == InterventionLevel::Nudge && !step.dry_run => {
                    self.set(session, HoldState::MustAsk.max(self.get(session)));
                }
                _ => {}
            }
        }
        if asked {
            self.set(
                session,
                match decision.verdict {
                    // A nudge is told once.
                    Verdict::Go | Verdict::Nudge { .. } => HoldState::Free,
                    Verdict::Hold { .. } => HoldState::Held,
                    Verdict::Stop { .. } => HoldState::Killed,
                },
            );
        }
    }

    fn set(&self, session: &SessionKey, standing: HoldState) {
        if standing == self.get(session) {
            return;
        }
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        match standing {
            HoldState::Free => sessions.remove(session),
            other => sessions.insert(session.clone(), other),
        };
        self.count.store(sessions.len(), Ordering::Release);
        drop(sessions);
        self.bell.notify_waiters();
    }

    /// Resolves at the next change.
    pub(crate) fn changed(&self) -> BoxFuture<()> {
        let mut notified = Box::pin(Arc::clone(&self.bell).notified_owned());
        // From now on, not from when it is first waited for.
        notified.as_mut().enable();
        notified
    }
}

fn of_state(state: &SessionState) -> HoldState {
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
