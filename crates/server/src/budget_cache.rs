//! What sessions with a budget may still spend, in memory, for those who cannot wait for the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use belay_core::prices::ModelPrice;
use belay_core::session::Budget;
use belay_core::{Body, Event, SessionKey};
use belay_engine::Engine;
use belay_proxy::RemainingBudget;
use belay_store::{Durability, Store};

/// Most purses that are kept; the one that nobody has touched for longest makes room. Of a session without one it is
/// asked again what is left.
const MAX_ENTRIES: usize = 4096;

/// The setting that says that some budget is shared.
const SHARED_BUDGETS_SETTING: &str = "budgets.shared";

/// What is left of the budgets of sessions that have one. Few do, unless a budget is shared.
///
/// A budget may be shared: by the sessions of a project, or of an account. What one of them spends, the others learn
/// when they ask. So it is counted how often anybody has spent, and who knows of fewer times has to ask before it
/// spends more.
#[derive(Debug, Default)]
pub(crate) struct BudgetCache {
    /// How many there are, to be asked without a lock.
    count: AtomicUsize,
    sessions: RwLock<HashMap<SessionKey, BudgetEntry>>,
    /// Some budget is shared: of a session nobody has seen yet it may be, too.
    sharing: AtomicBool,
    /// How often anybody has spent something.
    spendings: AtomicU64,
    /// How often any purse was touched: their clock.
    touches: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct BudgetEntry {
    left: Budget,
    shared: bool,
    /// How often anybody had spent something when this was known.
    known: u64,
    /// When it was last touched.
    touched: u64,
}

/// What happened to a session's purse.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BudgetChange {
    /// It spent something.
    pub(crate) paid: bool,
    /// It was told what everybody has spent; so often they had.
    pub(crate) told: Option<u64>,
}

impl BudgetCache {
    /// Some budget is shared.
    pub(crate) fn enable_shared(&self) {
        self.sharing.store(true, Ordering::Release);
    }

    /// Whether any budget is shared.
    fn is_sharing(&self) -> bool {
        self.sharing.load(Ordering::Acquire)
    }

    /// Whose purses some events touch. To be asked before they are committed: what others spend meanwhile may not be
    /// known to those who are told now.
    pub(crate) fn changes_for(&self, events: &[Event]) -> BTreeMap<SessionKey, BudgetChange> {
        let mut touched: BTreeMap<SessionKey, BudgetChange> = BTreeMap::new();
        let (sharing, known) = (self.is_sharing(), self.spendings());
        for event in events {
            let touch = match &event.body {
                Body::ModelAnswered(_) | Body::Learned(_) => BudgetChange { paid: true, told: None },
                Body::Operator(_) => BudgetChange::default(),
                // Who asks is told what the others have spent.
                Body::ModelAsked(ask) if sharing && !ask.auxiliary => BudgetChange { paid: false, told: Some(known) },
                // Its first answer, or its first since we began, may use up what is left.
                Body::ModelAsked(_) if !self.knows(&event.session) => BudgetChange::default(),
                _ => continue,
            };
            match touched.get_mut(&event.session) {
                Some(all) => *all = BudgetChange { paid: all.paid || touch.paid, told: touch.told.or(all.told) },
                None => {
                    touched.insert(event.session.clone(), touch);
                }
            }
        }
        touched
    }

    /// They are committed.
    pub(crate) fn apply(&self, touched: &BTreeMap<SessionKey, BudgetChange>, engine: &mut Engine) {
        self.spent(touched.values().filter(|touched| touched.paid).count());
        for (session, touched) in touched {
            self.refresh(session, *touched, engine);
        }
    }

    /// A session has spent something, or may spend more.
    fn refresh(&self, session: &SessionKey, touched: BudgetChange, engine: &mut Engine) {
        let (left, shared) = engine.remaining_budget(session);
        if shared && !self.is_sharing() {
            remember_sharing(engine);
        }
        self.note(session, left, shared, touched);
    }

    /// As the store has it.
    pub(crate) fn load(&self, store: &dyn Store) -> belay_store::Result<()> {
        if store.setting(SHARED_BUDGETS_SETTING)?.is_some() {
            self.enable_shared();
        }
        Ok(())
    }

    /// So many sessions have spent something, each once.
    fn spent(&self, sessions: usize) {
        self.spendings.fetch_add(sessions as u64, Ordering::AcqRel);
    }

    /// How often anybody has spent something so far.
    fn spendings(&self) -> u64 {
        self.spendings.load(Ordering::Acquire)
    }

    /// So much is left to a session, and whether others spend from the same.
    fn note(&self, session: &SessionKey, left: Budget, shared: bool, touched: BudgetChange) {
        if shared {
            self.enable_shared();
        }
        let none = left == Budget::default() && !self.is_sharing();
        if none && self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        let before = sessions.get(session).map_or(0, |purse| purse.known);
        // What it spent itself it knows.
        let known = touched.told.unwrap_or(before) + u64::from(touched.paid);
        let touched = self.touches.fetch_add(1, Ordering::Relaxed);
        match none {
            true => sessions.remove(session),
            false => sessions.insert(session.clone(), BudgetEntry { left, shared, known, touched }),
        };
        if sessions.len() > MAX_ENTRIES
            && let Some(oldest) =
                sessions.iter().min_by_key(|(_, purse)| purse.touched).map(|(session, _)| session.clone())
        {
            sessions.remove(&oldest);
        }
        self.count.store(sessions.len(), Ordering::Release);
    }

    /// Whether it is known what is left to a session; where there is no limit, it need not be.
    fn knows(&self, session: &SessionKey) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self.sessions.read().unwrap_or_else(PoisonError::into_inner).contains_key(session)
    }

    pub(crate) fn remaining(&self, session: &SessionKey, model: Option<&str>) -> RemainingBudget {
        let unknown = RemainingBudget { outdated: self.is_sharing(), ..RemainingBudget::default() };
        if self.count.load(Ordering::Acquire) == 0 {
            return unknown;
        }
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let Some(BudgetEntry { left, shared, known, .. }) = sessions.get(session).copied() else { return unknown };
        let each =
            || model.and_then(|model| ModelPrice::for_model(model, &[])).map_or(0.0, |tariff| tariff.output_micros());
        RemainingBudget {
            tokens: left.tokens,
            cost: left.cost_micros.map(|cost| (cost, each())),
            shared,
            outdated: shared && known != self.spendings(),
        }
    }
}

/// Some project has a budget that its sessions share. The next resident process cannot know before it meets one of them,
/// and that one would spend first and ask later.
fn remember_sharing(engine: &mut Engine) {
    let Some(store) = engine.store_mut() else { return };
    let kept = store.begin(Durability::ProcessCrash).and_then(|mut transaction| {
        transaction.put_setting(SHARED_BUDGETS_SETTING, Some("yes"))?;
        transaction.commit()
    });
    if let Err(error) = kept {
        tracing::warn!(%error, "that budgets are shared could not be kept");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_cost_what_is_left() {
        let (purses, session) = (BudgetCache::default(), SessionKey::new("codex", "s"));
        assert!(!purses.remaining(&session, None).is_limited());
        purses.note(&session, Budget { tokens: Some(100), cost_micros: None }, false, BudgetChange::default());
        assert!(!purses.remaining(&session, None).is_exceeded_by_output(100));
        assert!(purses.remaining(&session, None).is_exceeded_by_output(101));
        purses.note(&session, Budget { tokens: None, cost_micros: Some(1_000) }, false, BudgetChange::default());
        let allowance = purses.remaining(&session, Some("claude-opus-4-5"));
        assert!(allowance.is_exceeded_by_output(1_000_000) && !allowance.is_exceeded_by_output(1), "{allowance:?}");
        purses.note(&session, Budget::default(), false, BudgetChange::default());
        assert!(!purses.remaining(&session, None).is_limited());
    }

    #[test]
    fn who_shares_a_budget_has_to_ask_when_others_have_spent() {
        let (purses, one, other) =
            (BudgetCache::default(), SessionKey::new("codex", "1"), SessionKey::new("codex", "2"));
        let left = Budget { tokens: Some(100), cost_micros: None };
        let (told, paid) =
            (|known| BudgetChange { paid: false, told: Some(known) }, BudgetChange { paid: true, told: None });
        assert!(!purses.remaining(&one, None).outdated, "nobody shares anything");
        purses.note(&one, left, true, told(0));
        assert!(!purses.remaining(&one, None).outdated && purses.remaining(&one, None).shared);
        assert!(purses.remaining(&other, None).outdated, "nobody knows yet what it may spend");
        purses.note(&other, left, true, told(0));
        assert!(!purses.remaining(&other, None).outdated);
        purses.spent(1);
        purses.note(&other, left, true, paid);
        assert!(purses.remaining(&one, None).outdated, "the other has spent something");
        assert!(!purses.remaining(&other, None).outdated, "which it knows");
        purses.note(&one, left, true, told(1));
        assert!(!purses.remaining(&one, None).outdated, "it has asked");
        let without = SessionKey::new("codex", "3");
        purses.note(&without, Budget::default(), false, BudgetChange::default());
        assert!(!purses.remaining(&without, None).outdated, "one without a limit never has to ask");
    }

    #[test]
    fn only_so_many_are_kept_and_who_was_forgotten_has_to_ask() {
        let (purses, session) = (BudgetCache::default(), |n: usize| SessionKey::new("codex", n.to_string()));
        purses.enable_shared();
        let note = |n| purses.note(&session(n), Budget::default(), false, BudgetChange::default());
        (0..MAX_ENTRIES).for_each(note);
        note(0);
        note(MAX_ENTRIES);
        assert!(purses.remaining(&session(1), None).outdated, "the oldest made room");
        assert!([0, 2, MAX_ENTRIES].iter().all(|n| !purses.remaining(&session(*n), None).outdated), "nobody else");
        assert_eq!(purses.count.load(Ordering::Acquire), MAX_ENTRIES);
        note(1);
        assert!(!purses.remaining(&session(1), None).outdated, "it has asked");
    }
}
