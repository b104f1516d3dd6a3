//! Remaining budgets of sessions, in memory, for callers that cannot wait for the store.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use belay_core::prices::ModelPrice;
use belay_core::rules::UnknownModel;
use belay_core::session::Budget;
use belay_core::{Body, Event, Rules, SessionKey};
use belay_engine::Engine;
use belay_proxy::RemainingBudget;
use belay_store::{Durability, Store};
use lru::LruCache;

/// Maximum number of entries; the least recently updated is evicted. A session without an entry has to ask again.
const MAX_ENTRIES: NonZeroUsize = NonZeroUsize::new(4096).expect("not zero");

/// The stored setting that records that some budget is shared.
const SHARED_BUDGETS_SETTING: &str = "budgets.shared";

/// The remaining budgets of sessions that have one. Few do, unless a budget is shared.
///
/// The sessions of a project or of an account may share a budget. A session learns what the others have spent when it
/// asks. The cache counts spendings; a session that knows of fewer has to ask before it spends more.
#[derive(Debug)]
pub(crate) struct BudgetCache {
    sessions: RwLock<LruCache<SessionKey, BudgetEntry>>,
    /// Some budget is shared, so the budget of an unknown session may be, too.
    sharing: AtomicBool,
    /// Number of spendings of all sessions.
    spendings: AtomicU64,
}

#[derive(Clone, Debug)]
struct BudgetEntry {
    remaining: Budget,
    /// The rules that price its models.
    rules: Arc<Rules>,
    shared: bool,
    /// Number of spendings that `remaining` includes.
    known: u64,
}

/// What events did to a session's budget.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BudgetChange {
    /// The session spent something.
    pub(crate) spent: bool,
    /// The session learned what all sessions had spent: this many spendings.
    pub(crate) learned: Option<u64>,
}

impl Default for BudgetCache {
    fn default() -> Self {
        Self {
            sessions: RwLock::new(LruCache::new(MAX_ENTRIES)),
            sharing: AtomicBool::default(),
            spendings: AtomicU64::default(),
        }
    }
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

    /// The budgets that some events change. Call it before they are committed: the sessions do not learn what others
    /// spend meanwhile.
    pub(crate) fn changes_for(&self, events: &[Event]) -> BTreeMap<SessionKey, BudgetChange> {
        let mut changes: BTreeMap<SessionKey, BudgetChange> = BTreeMap::new();
        let (sharing, known) = (self.is_sharing(), self.spendings());
        for event in events {
            let change = match &event.body {
                Body::ModelAnswered(_) | Body::Learned(_) => BudgetChange { spent: true, learned: None },
                Body::Operator(_) => BudgetChange::default(),
                // A request learns what the others have spent.
                Body::ModelAsked(ask) if sharing && !ask.auxiliary => {
                    BudgetChange { spent: false, learned: Some(known) }
                }
                // The first response of a session that has no entry may use up its budget.
                Body::ModelAsked(_) if !self.contains(&event.session) => BudgetChange::default(),
                _ => continue,
            };
            match changes.get_mut(&event.session) {
                Some(all) => {
                    *all = BudgetChange { spent: all.spent || change.spent, learned: change.learned.or(all.learned) };
                }
                None => {
                    changes.insert(event.session.clone(), change);
                }
            }
        }
        changes
    }

    /// Applies changes after their events are committed.
    pub(crate) fn apply(&self, changes: &BTreeMap<SessionKey, BudgetChange>, engine: &mut Engine) {
        self.count_spendings(changes.values().filter(|change| change.spent).count());
        for (session, change) in changes {
            let (left, shared) = engine.remaining_budget(session);
            if shared && !self.is_sharing() {
                record_sharing(engine);
            }
            self.update(session, left, &engine.rules_of(session), shared, *change);
        }
    }

    /// Loads from the store whether some budget is shared.
    pub(crate) fn load(&self, store: &dyn Store) -> belay_store::Result<()> {
        if store.setting(SHARED_BUDGETS_SETTING)?.is_some() {
            self.enable_shared();
        }
        Ok(())
    }

    fn count_spendings(&self, sessions: usize) {
        self.spendings.fetch_add(sessions as u64, Ordering::AcqRel);
    }

    /// Number of spendings so far.
    fn spendings(&self) -> u64 {
        self.spendings.load(Ordering::Acquire)
    }

    /// Updates what a session may still spend, and whether it shares that with others.
    fn update(&self, session: &SessionKey, left: Budget, rules: &Arc<Rules>, shared: bool, change: BudgetChange) {
        if shared {
            self.enable_shared();
        }
        let unlimited = left == Budget::default() && !self.is_sharing();
        if unlimited && !self.contains(session) {
            return;
        }
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        let before = sessions.peek(session).map_or(0, |entry| entry.known);
        // A session knows what it spent itself.
        let known = change.learned.unwrap_or(before) + u64::from(change.spent);
        match unlimited {
            true => sessions.pop(session),
            false => {
                sessions.put(session.clone(), BudgetEntry { remaining: left, rules: Arc::clone(rules), shared, known })
            }
        };
    }

    /// Whether the session has an entry; one without a limit needs none.
    fn contains(&self, session: &SessionKey) -> bool {
        self.sessions.read().unwrap_or_else(PoisonError::into_inner).contains(session)
    }

    pub(crate) fn remaining(&self, session: &SessionKey, model: Option<&str>) -> RemainingBudget {
        let unknown = RemainingBudget { outdated: self.is_sharing(), ..RemainingBudget::default() };
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let Some(BudgetEntry { remaining, rules, shared, known }) = sessions.peek(session) else { return unknown };
        let output_price = || match model.and_then(|model| ModelPrice::for_model(model, &rules.prices)) {
            Some(price) => price.output_micros(),
            None if rules.budget.unknown_model == UnknownModel::Ignore => 0.0,
            None => ModelPrice::assumed_for(model).output_micros(),
        };
        RemainingBudget {
            tokens: remaining.tokens,
            cost: remaining.cost_micros.map(|cost| (cost, output_price())),
            shared: *shared,
            outdated: *shared && *known != self.spendings(),
        }
    }
}

/// Records that some project has a shared budget. Without this record, the next resident process would learn of it from
/// the first session, which would spend before it asks.
fn record_sharing(engine: &mut Engine) {
    let Some(store) = engine.store_mut() else { return };
    let recorded = store.begin(Durability::ProcessCrash).and_then(|mut transaction| {
        transaction.put_setting(SHARED_BUDGETS_SETTING, Some("yes"))?;
        transaction.commit()
    });
    if let Err(error) = recorded {
        tracing::warn!(%error, "cannot record that budgets are shared");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_may_use_the_remaining_budget() {
        let (budgets, session) = (BudgetCache::default(), SessionKey::new("codex", "s"));
        assert!(!budgets.remaining(&session, None).is_limited());
        budgets.update(
            &session,
            Budget { tokens: Some(100), cost_micros: None },
            &Arc::default(),
            false,
            BudgetChange::default(),
        );
        assert!(!budgets.remaining(&session, None).is_exceeded_by_output(100));
        assert!(budgets.remaining(&session, None).is_exceeded_by_output(101));
        budgets.update(
            &session,
            Budget { tokens: None, cost_micros: Some(1_000) },
            &Arc::default(),
            false,
            BudgetChange::default(),
        );
        let allowance = budgets.remaining(&session, Some("claude-opus-4-5"));
        assert!(allowance.is_exceeded_by_output(1_000_000) && !allowance.is_exceeded_by_output(1), "{allowance:?}");
        let unpriced = budgets.remaining(&session, Some("no-such-model"));
        assert!(unpriced.is_exceeded_by_output(1_000_000) && !unpriced.is_exceeded_by_output(1), "{unpriced:?}");
        let mut rules = Rules::default();
        rules.budget.unknown_model = UnknownModel::Ignore;
        let left = Budget { tokens: None, cost_micros: Some(1_000) };
        budgets.update(&session, left, &Arc::new(rules), false, BudgetChange::default());
        assert!(!budgets.remaining(&session, Some("no-such-model")).is_exceeded_by_output(1_000_000));
        budgets.update(&session, Budget::default(), &Arc::default(), false, BudgetChange::default());
        assert!(!budgets.remaining(&session, None).is_limited());
    }

    #[test]
    fn a_session_on_a_shared_budget_asks_again_after_others_have_spent() {
        let (budgets, one, other) =
            (BudgetCache::default(), SessionKey::new("codex", "1"), SessionKey::new("codex", "2"));
        let left = Budget { tokens: Some(100), cost_micros: None };
        let (learned, spent) =
            (|known| BudgetChange { spent: false, learned: Some(known) }, BudgetChange { spent: true, learned: None });
        assert!(!budgets.remaining(&one, None).outdated, "no budget is shared");
        budgets.update(&one, left, &Arc::default(), true, learned(0));
        assert!(!budgets.remaining(&one, None).outdated && budgets.remaining(&one, None).shared);
        assert!(budgets.remaining(&other, None).outdated, "its budget is unknown");
        budgets.update(&other, left, &Arc::default(), true, learned(0));
        assert!(!budgets.remaining(&other, None).outdated);
        budgets.count_spendings(1);
        budgets.update(&other, left, &Arc::default(), true, spent);
        assert!(budgets.remaining(&one, None).outdated, "the other has spent something");
        assert!(!budgets.remaining(&other, None).outdated, "it knows its own spending");
        budgets.update(&one, left, &Arc::default(), true, learned(1));
        assert!(!budgets.remaining(&one, None).outdated, "it has asked");
        let without = SessionKey::new("codex", "3");
        budgets.update(&without, Budget::default(), &Arc::default(), false, BudgetChange::default());
        assert!(!budgets.remaining(&without, None).outdated, "one without a limit never has to ask");
    }

    #[test]
    fn entries_are_bounded_and_an_evicted_session_asks_again() {
        let (budgets, session) = (BudgetCache::default(), |n: usize| SessionKey::new("codex", n.to_string()));
        budgets.enable_shared();
        let update =
            |n| budgets.update(&session(n), Budget::default(), &Arc::default(), false, BudgetChange::default());
        let max = MAX_ENTRIES.get();
        (0..max).for_each(update);
        update(0);
        update(max);
        assert!(budgets.remaining(&session(1), None).outdated, "the oldest is evicted");
        assert!([0, 2, max].iter().all(|n| !budgets.remaining(&session(*n), None).outdated), "no other");
        assert_eq!(budgets.sessions.read().unwrap().len(), max);
        update(1);
        assert!(!budgets.remaining(&session(1), None).outdated, "it has asked");
    }
}
