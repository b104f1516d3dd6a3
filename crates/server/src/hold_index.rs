//! Which sessions are held, in memory, for callers that cannot wait for the store.
//!
//! The index has only the sessions that may not simply continue: few of many. The outcomes of events keep it current: a
//! change of state comes with an effect, and the verdict on every request of an agent tells the session's state, even
//! if another process changed it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use belay_core::{Decision, Effect, InterventionLevel, SessionKey, SessionState, Verdict};
use belay_proxy::{BoxFuture, HoldState};
use belay_store::{SessionQuery, Store};
use tokio::sync::Notify;

/// Sessions that may not simply continue.
#[derive(Debug, Default)]
pub(crate) struct HoldIndex {
    sessions: RwLock<HashMap<SessionKey, HoldState>>,
    changed: Arc<Notify>,
}

impl HoldIndex {
    /// Loads the held sessions from the store.
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
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session).copied().unwrap_or_default()
    }

    /// Applies the outcome of an event; `asked` if the event was a request for a verdict.
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
                    // A nudge is delivered once.
                    Verdict::Go | Verdict::Nudge { .. } => HoldState::Free,
                    Verdict::Hold { .. } => HoldState::Held,
                    Verdict::Stop { .. } => HoldState::Killed,
                },
            );
        }
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

    /// Resolves at the next change.
    pub(crate) fn changed(&self) -> BoxFuture<()> {
        let mut notified = Box::pin(Arc::clone(&self.changed).notified_owned());
        // Registers now, not at the first poll.
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
