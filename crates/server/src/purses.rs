//! What sessions with a budget may still spend, in memory, for those who cannot wait for the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use belay_core::prices::Tariff;
use belay_core::session::Budget;
use belay_core::{Body, Event, SessionKey};
use belay_engine::Engine;
use belay_proxy::Allowance;
use belay_store::{Durability, Store};

/// Most purses that are kept; the one that nobody has touched for longest makes room. Of a session without one it is
/// asked again what is left.
const MOST: usize = 4096;

/// The setting that says that some budget is shared.
const SHARING: &str = "budgets.shared";

/// What is left of the budgets of sessions that have one. Few do, unless a budget is shared.
///
/// A budget may be shared: by the sessions of a project, or of an account. What one of them spends, the others learn
/// when they ask. So it is counted how often anybody has spent, and who knows of fewer times has to ask before it
/// spends more.
#[derive(Debug, Default)]
pub(crate) struct Purses {
    /// How many there are, to be asked without a lock.
    count: AtomicUsize,
    sessions: RwLock<HashMap<SessionKey, Purse>>,
    /// Some budget is shared: of a session nobody has seen yet it may be, too.
    sharing: AtomicBool,
    /// How often anybody has spent something.
    spendings: AtomicU64,
    /// How often any purse was touched: their clock.
    touches: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Purse {
    left: Budget,
    shared: bool,
    /// How often anybody had spent something when this was known.
    known: u64,
    /// When it was last touched.
    touched: u64,
}

/// What happened to a session's purse.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Touched {
    /// It spent something.
    pub(crate) paid: bool,
    /// It was told what everybody has spent; so often they had.
    pub(crate) told: Option<u64>,
}

impl Purses {
    /// Some budget is shared.
    pub(crate) fn share(&self) {
        self.sharing.store(true, Ordering::Release);
    }

    /// Whether any budget is shared.
    fn is_sharing(&self) -> bool {
        self.sharing.load(Ordering::Acquire)
    }

    /// Whose purses some events touch. To be asked before they are committed: what others spend meanwhile may not be
    /// known to those who are told now.
    pub(crate) fn touched_by(&self, events: &[Event]) -> BTreeMap<SessionKey, Touched> {
        let mut touched: BTreeMap<SessionKey, Touched> = BTreeMap::new();
        let (sharing, known) = (self.is_sharing(), self.spendings());
        for event in events {
            let touch = match &event.body {
                Body::ModelAnswered(_) | Body::Learned(_) => Touched { paid: true, told: None },
                Body::Operator(_) => Touched::default(),
                // Who asks is told what the others have spent.
                Body::ModelAsked(ask) if sharing && !ask.auxiliary => Touched { paid: false, told: Some(known) },
                // Its first answer, or its first since we began, may use up what is left.
                Body::ModelAsked(_) if !self.knows(&event.session) => Touched::default(),
                _ => continue,
            };
            match touched.get_mut(&event.session) {
                Some(all) => *all = Touched { paid: all.paid || touch.paid, told: touch.told.or(all.told) },
                None => {
                    touched.insert(event.session.clone(), touch);
                }
            }
        }
        touched
    }

    /// They are committed.
    pub(crate) fn settle(&self, touched: &BTreeMap<SessionKey, Touched>, engine: &mut Engine) {
        self.spent(touched.values().filter(|touched| touched.paid).count());
        for (session, touched) in touched {
            self.look_into(session, *touched, engine);
        }
    }

    /// A session has spent something, or may spend more.
    pub(crate) fn look_into(&self, session: &SessionKey, touched: Touched, engine: &mut Engine) {
        let (left, shared) = engine.left(session);
        if shared && !self.is_sharing() {
            remember_sharing(engine);
        }
        self.note(session, left, shared, touched);
    }

    /// As the store has it.
    pub(crate) fn recall(&self, store: &dyn Store) -> belay_store::Result<()> {
        if store.setting(SHARING)?.is_some() {
            self.share();
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
    fn note(&self, session: &SessionKey, left: Budget, shared: bool, touched: Touched) {
        if shared {
            self.share();
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
            false => sessions.insert(session.clone(), Purse { left, shared, known, touched }),
        };
        if sessions.len() > MOST
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

    pub(crate) fn of(&self, session: &SessionKey, model: Option<&str>) -> Allowance {
        let unknown = Allowance { outdated: self.is_sharing(), ..Allowance::default() };
        if self.count.load(Ordering::Acquire) == 0 {
            return unknown;
        }
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let Some(Purse { left, shared, known, .. }) = sessions.get(session).copied() else { return unknown };
        let each = || model.and_then(|model| Tariff::of(model, &[])).map_or(0.0, |tariff| tariff.output_micros());
        Allowance {
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
    let kept = store.begin(Durability::Process).and_then(|mut transaction| {
        transaction.put_setting(SHARING, Some("yes"))?;
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
        let (purses, session) = (Purses::default(), SessionKey::new("codex", "s"));
        assert!(!purses.of(&session, None).is_limited());
        purses.note(&session, Budget { tokens: Some(100), cost_micros: None }, false, Touched::default());
        assert!(!purses.of(&session, None).is_exceeded_by(100));
        assert!(purses.of(&session, None).is_exceeded_by(101));
        purses.note(&session, Budget { tokens: None, cost_micros: Some(1_000) }, false, Touched::default());
        let allowance = purses.of(&session, Some("claude-opus-4-5"));
        assert!(allowance.is_exceeded_by(1_000_000) && !allowance.is_exceeded_by(1), "{allowance:?}");
        purses.note(&session, Budget::default(), false, Touched::default());
        assert!(!purses.of(&session, None).is_limited());
    }

    #[test]
    fn who_shares_a_budget_has_to_ask_when_others_have_spent() {
        let (purses, one, other) = (Purses::default(), SessionKey::new("codex", "1"), SessionKey::new("codex", "2"));
        let left = Budget { tokens: Some(100), cost_micros: None };
        let (told, paid) = (|known| Touched { paid: false, told: Some(known) }, Touched { paid: true, told: None });
        assert!(!purses.of(&one, None).outdated, "nobody shares anything");
        purses.note(&one, left, true, told(0));
        assert!(!purses.of(&one, None).outdated && purses.of(&one, None).shared);
        assert!(purses.of(&other, None).outdated, "nobody knows yet what it may spend");
        purses.note(&other, left, true, told(0));
        assert!(!purses.of(&other, None).outdated);
        purses.spent(1);
        purses.note(&other, left, true, paid);
        assert!(purses.of(&one, None).outdated, "the other has spent something");
        assert!(!purses.of(&other, None).outdated, "which it knows");
        purses.note(&one, left, true, told(1));
        assert!(!purses.of(&one, None).outdated, "it has asked");
        let without = SessionKey::new("codex", "3");
        purses.note(&without, Budget::default(), false, Touched::default());
        assert!(!purses.of(&without, None).outdated, "one without a limit never has to ask");
    }

    #[test]
    fn only_so_many_are_kept_and_who_was_forgotten_has_to_ask() {
        let (purses, session) = (Purses::default(), |n: usize| SessionKey::new("codex", n.to_string()));
        purses.share();
        let note = |n| purses.note(&session(n), Budget::default(), false, Touched::default());
        (0..MOST).for_each(note);
        note(0);
        note(MOST);
        assert!(purses.of(&session(1), None).outdated, "the oldest made room");
        assert!([0, 2, MOST].iter().all(|n| !purses.of(&session(*n), None).outdated), "nobody else");
        assert_eq!(purses.count.load(Ordering::Acquire), MOST);
        note(1);
        assert!(!purses.of(&session(1), None).outdated, "it has asked");
    }
}
