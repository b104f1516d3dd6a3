//! What sessions with a budget may still spend, in memory, for those who cannot wait for the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use belay_core::SessionKey;
use belay_core::prices::Tariff;
use belay_core::session::Budget;
use belay_proxy::Allowance;

/// What is left of the budgets of sessions that have one. Few do.
#[derive(Debug, Default)]
pub(crate) struct Purses {
    /// How many there are, to be asked without a lock.
    count: AtomicUsize,
    sessions: RwLock<HashMap<SessionKey, Budget>>,
}

impl Purses {
    /// So much is left to a session.
    pub(crate) fn note(&self, session: &SessionKey, left: Budget) {
        let none = left == Budget::default();
        if none && self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        match none {
            true => sessions.remove(session),
            false => sessions.insert(session.clone(), left),
        };
        self.count.store(sessions.len(), Ordering::Release);
    }

    pub(crate) fn of(&self, session: &SessionKey, model: Option<&str>) -> Allowance {
        if self.count.load(Ordering::Acquire) == 0 {
            return Allowance::default();
        }
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = sessions.get(session).copied() else { return Allowance::default() };
        let each = || model.and_then(|model| Tariff::of(model, &[])).map_or(0.0, |tariff| tariff.output_micros());
        Allowance { tokens: left.tokens, cost: left.cost_micros.map(|cost| (cost, each())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_cost_what_is_left() {
        let (purses, session) = (Purses::default(), SessionKey::new("codex", "s"));
        assert!(!purses.of(&session, None).is_limited());
        purses.note(&session, Budget { tokens: Some(100), cost_micros: None });
        assert!(!purses.of(&session, None).is_exceeded_by(100));
        assert!(purses.of(&session, None).is_exceeded_by(101));
        purses.note(&session, Budget { tokens: None, cost_micros: Some(1_000) });
        let allowance = purses.of(&session, Some("claude-opus-4-5"));
        assert!(allowance.is_exceeded_by(1_000_000) && !allowance.is_exceeded_by(1), "{allowance:?}");
        purses.note(&session, Budget::default());
        assert!(!purses.of(&session, None).is_limited());
    }
}
