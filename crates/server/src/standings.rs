//! How sessions stand, in memory, for those who cannot wait for the store.
//!
//! Only sessions that may not simply go on are kept here, and that is few of many. The engine's
//! answers keep it right: a change of state comes with an effect, and the answer to every question of
//! an agent says how the session stands, even if another process changed it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use belay_core::{Decision, Effect, Rung, SessionKey, State, Verdict};
use belay_proxy::{Later, Standing};
use belay_store::{SessionQuery, Store};
use tokio::sync::Notify;

/// Sessions that may not simply go on.
#[derive(Debug, Default)]
pub(crate) struct Standings {
    /// How many there are, to be asked without a lock.
    count: AtomicUsize,
    sessions: RwLock<HashMap<SessionKey, Standing>>,
    bell: Arc<Notify>,
}

impl Standings {
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

    pub(crate) fn of(&self, session: &SessionKey) -> Standing {
        if self.count.load(Ordering::Acquire) == 0 {
            return Standing::Free;
        }
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session).copied().unwrap_or_default()
    }

    /// What an answer of the engine says about the session.
    pub(crate) fn note(&self, session: &SessionKey, asked: bool, decision: &Decision) {
        for effect in &decision.effects {
            match effect {
                Effect::StateChanged { to, .. } => self.set(session, of_state(to)),
                Effect::Intervened(step) if step.rung == Rung::Nudge && !step.dry_run => {
                    self.set(session, Standing::Asks.max(self.of(session)));
                }
                _ => {}
            }
        }
        if asked {
            self.set(
                session,
                match decision.verdict {
                    // A nudge is told once.
                    Verdict::Go | Verdict::Nudge { .. } => Standing::Free,
                    Verdict::Hold { .. } => Standing::Held,
                    Verdict::Stop { .. } => Standing::Stopped,
                },
            );
        }
    }

    fn set(&self, session: &SessionKey, standing: Standing) {
        if standing == self.of(session) {
            return;
        }
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        match standing {
            Standing::Free => sessions.remove(session),
            other => sessions.insert(session.clone(), other),
        };
        self.count.store(sessions.len(), Ordering::Release);
        drop(sessions);
        self.bell.notify_waiters();
    }

    /// Resolves at the next change.
    pub(crate) fn changed(&self) -> Later<()> {
        let mut notified = Box::pin(Arc::clone(&self.bell).notified_owned());
        // From now on, not from when it is first waited for.
        notified.as_mut().enable();
        notified
    }
}

fn of_state(state: &State) -> Standing {
    if state.is_killed() {
        Standing::Stopped
    } else if state.is_paused() {
        Standing::Held
    } else {
        Standing::Free
    }
}

#[cfg(test)]
mod tests;
