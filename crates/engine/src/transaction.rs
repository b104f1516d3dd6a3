//! One transaction: applies a batch of events to their sessions and writes the result.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use belay_core::effect::Spend;
use belay_core::session::{CallRecord, SESSION_FORMAT};
use belay_core::{
    Body, Decision, Digest, Effect, Event, EventOutcome, Incident, Rules, Session, SessionKey, SessionState, Timestamp,
    Verdict,
};
use belay_store::session::{SessionDetails, SessionUpdate};
use belay_store::{Durability, NewEvent, Result, SessionHead, Snapshot, Store, StoreError, StoredSession, Transaction};
use foldhash::HashMap;

use crate::cache::{CachedSession, SessionCache};
use crate::health::Metrics;
use crate::held_file::{self, HeldFile};
use crate::restore::{self, RestoreSource};
use crate::rules_cache::{CachedRules, RulesCache, RulesProvider, RulesScope};
use crate::shared_budgets::PendingShare;
use crate::{ancestors, call_log, persist_effects};

/// Snapshots are many times larger than events, so they are written after this many events and at most once a second.
const MIN_EVENTS_BETWEEN_SNAPSHOTS: u64 = 64;
/// Upper bound on the events between snapshots, and so on the events a restore replays.
const MAX_EVENTS_BETWEEN_SNAPSHOTS: u64 = 2048;

/// Minimum interval between writes of the sort time, which is indexed.
const LIST_INDEX_INTERVAL: Duration = Duration::from_secs(1);

/// The result of one attempt to commit a batch.
pub(crate) enum AttemptOutcome {
    /// Committed, with one outcome per event.
    Committed(Vec<EventOutcome>),
    /// Rolled back: the batch pauses or kills a session, which must survive a power cut.
    NeedsFullSync,
}

/// The engine state that a batch uses.
pub(crate) struct BatchContext<'a> {
    pub(crate) rules: &'a dyn RulesProvider,
    pub(crate) rules_cache: &'a mut RulesCache,
    pub(crate) cache: &'a mut SessionCache,
    pub(crate) metrics: &'a mut Metrics,
    pub(crate) held_file: Option<&'a HeldFile>,
}

/// A session that a batch is changing.
pub(crate) struct SessionInBatch {
    pub(crate) held: CachedSession,
    /// Version, state and spend before the batch.
    from: u64,
    state: SessionState,
    pub(crate) spent: Spend,
    /// The spend already booked for its project and account.
    pub(crate) booked: Spend,
    /// Digest of the rules of its last event.
    rules: Option<Digest>,
    /// Calls that the batch changed, by ordinal.
    calls: BTreeMap<u64, CallRecord>,
}

impl SessionInBatch {
    /// Whether the batch holds or releases the session, or changes how it is held.
    fn changes_hold(&self) -> bool {
        let state = &self.held.session.state;
        *state != self.state && (is_held(state) || is_held(&self.state))
    }

    /// Fails with a conflict if the session, which was only read, is stale.
    fn check_current(&self, transaction: &mut dyn Transaction) -> Result<()> {
        match transaction.version(self.held.id)? {
            Some(version) if version == self.held.version => Ok(()),
            _ => Err(StoreError::Conflict(self.held.id.0)),
        }
    }
}

/// The sessions of a batch.
#[derive(Default)]
pub(crate) struct BatchSessions {
    pub(crate) working: Vec<SessionInBatch>,
    indices: HashMap<SessionKey, usize>,
}

impl BatchContext<'_> {
    pub(crate) fn try_commit(
        &mut self,
        store: &mut dyn Store,
        events: &[Event],
        durability: Durability,
    ) -> Result<AttemptOutcome> {
        let mut transaction = store.begin(durability)?;
        self.rules_cache.refresh();
        // Sessions are taken out of the cache, so a failed attempt discards the changed copies.
        let mut table = BatchSessions::default();
        let mut outcomes = Vec::with_capacity(events.len());
        let mut session_indices = Vec::with_capacity(events.len());
        let mut held = false;
        let mut unbooked = false;
        for event in events {
            let index = self.session_index(&mut *transaction, &mut table, &event.session, event.at)?;
            let PendingShare { before, shared } = self.pending_share(&table.working[index].held.session, event);
            if before && std::mem::take(&mut unbooked) {
                held |= self.book_all(&mut *transaction, &mut table, &session_indices, &mut outcomes)?;
            }
            if shared {
                held |= self
                    .book_shared_spend(&mut *transaction, &mut table, index, Some(event))?
                    .iter()
                    .any(is_hold_effect);
            }
            unbooked |= matches!(event.body, Body::ModelAnswered(_) | Body::Learned(_));
            self.inherit_settings(&mut *transaction, &mut table, index, event)?;
            let mut outcome = self.apply_event(&mut *transaction, &mut table.working[index], event)?;
            held |= outcome.decision.effects.iter().any(is_hold_effect);
            if event.is_question() && outcome.decision.verdict == Verdict::Go {
                outcome.decision.verdict = self.ancestor_verdict(&mut *transaction, &mut table, index)?;
            }
            session_indices.push(index);
            outcomes.push(outcome);
        }
        held |= self.book_all(&mut *transaction, &mut table, &session_indices, &mut outcomes)?;
        held |= self.propagate_spend(&mut *transaction, &mut table)?;
        held |= table.working.iter().any(|w| w.from == 0 && is_held(&w.held.session.state));
        if held && durability == Durability::ProcessCrash {
            return Ok(AttemptOutcome::NeedsFullSync);
        }
        let mut working = table.working;
        let mut changed = false;
        for w in &mut working {
            if w.held.version == w.from {
                w.check_current(&mut *transaction)?;
            } else {
                self.write_back(&mut *transaction, w)?;
                changed = true;
            }
        }
        if let Some(file) = self.held_file.filter(|_| working.iter().any(SessionInBatch::changes_hold)) {
            file.write(&mut *transaction, &[]);
        }
        if changed {
            transaction.commit()?;
            self.metrics.commits += 1;
        }
        self.rules_cache.stored.extend(working.iter().filter_map(|w| w.rules));
        for w in working {
            self.cache.put(w.held);
        }
        Ok(AttemptOutcome::Committed(outcomes))
    }

    /// Books the unbooked spend of all sessions in the batch. The resulting effects are added to the outcome of each
    /// session's last event. Returns whether that put one of them on hold.
    fn book_all(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        session_indices: &[usize],
        outcomes: &mut [EventOutcome],
    ) -> Result<bool> {
        let mut held = false;
        for index in 0..table.working.len() {
            let effects = self.book_shared_spend(transaction, table, index, None)?;
            held |= effects.iter().any(is_hold_effect);
            if let Some(at) = session_indices.iter().rposition(|other| *other == index) {
                outcomes[at].decision.effects.extend(effects);
            }
        }
        Ok(held)
    }

    /// The index of a session in the batch; the session is loaded if needed.
    pub(crate) fn session_index(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        key: &SessionKey,
        at: Timestamp,
    ) -> Result<usize> {
        if let Some(index) = table.indices.get(key) {
            return Ok(*index);
        }
        let index = table.working.len();
        let mut working = self.check_out(transaction, key, at)?;
        // A new session, unless the store was deleted or emptied.
        if working.from == 0
            && let Some(held) = self.held_file.and_then(|file| file.find(key))
        {
            self.apply_event(transaction, &mut working, &held_file::hold_again(&held, at))?;
        }
        table.working.push(working);
        table.indices.insert(key.clone(), index);
        Ok(index)
    }

    fn check_out(
        &mut self,
        transaction: &mut dyn Transaction,
        key: &SessionKey,
        at: Timestamp,
    ) -> Result<SessionInBatch> {
        // A stale cache entry is detected at the end of the batch, when the row is written or checked; the batch is then
        // repeated from the store.
        let held = match self.cache.take(key) {
            Some(held) => held,
            None => match transaction.session_head(key)? {
                Some(head) => self.load(transaction, key, head)?,
                None => {
                    let head = transaction.create(key, at)?;
                    CachedSession {
                        id: head.id,
                        version: 0,
                        snapshot: 0,
                        listed: head.listed,
                        session: Session::new(key.clone()),
                    }
                }
            },
        };
        let session = &held.session;
        Ok(SessionInBatch {
            from: held.version,
            state: session.state.clone(),
            spent: session.spent,
            booked: session.spent,
            rules: None,
            calls: BTreeMap::new(),
            held,
        })
    }

    fn load(
        &mut self,
        transaction: &mut dyn Transaction,
        key: &SessionKey,
        head: SessionHead,
    ) -> Result<CachedSession> {
        self.metrics.loads += 1;
        let current = self.rules.rules_for(RulesScope::default());
        let mut lookup = TransactionLookup { transaction, rules_cache: self.rules_cache, current };
        restore::restore(key, head, &mut lookup)
    }

    pub(crate) fn apply_event(
        &mut self,
        transaction: &mut dyn Transaction,
        w: &mut SessionInBatch,
        event: &Event,
    ) -> Result<EventOutcome> {
        let identity = event.identity_digest();
        if w.held.session.is_duplicate(identity) {
            return Ok(EventOutcome {
                decision: duplicate_decision(&w.held.session, event),
                seq: None,
                committed: true,
            });
        }
        let scope = RulesScope::for_event(&w.held.session, event);
        let CachedRules { rules, digest } = self.rules_cache.rules_for(scope, self.rules);
        if is_idle_tick(&w.held.session, event, &rules) {
            return Ok(EventOutcome { decision: Decision::default(), seq: None, committed: true });
        }
        let event = &*w.held.session.redact_env_result(event);
        let json = serde_json::to_string(event).map_err(|e| StoreError::Database(e.to_string()))?;
        let seq = w.held.version + 1;
        let new = NewEvent { seq, identity, at: event.at, kind: event.body.kind(), rules: digest, json: &json };
        if !transaction.append(w.held.id, &new)? {
            return Ok(EventOutcome {
                decision: duplicate_decision(&w.held.session, event),
                seq: None,
                committed: true,
            });
        }
        if w.rules != Some(digest) && !self.rules_cache.stored.contains(&digest) {
            transaction.put_rules(digest, &serde_json::to_string(&*rules).unwrap_or_default())?;
        }
        let had_no_parent = w.held.session.parent.is_none();
        let effects = w.held.session.apply_unseen(event, identity, &rules);
        call_log::after_event(&w.held.session, event, seq, &mut w.calls);
        if let Some(spend) = call_log::spend(&w.held.session, event, &rules) {
            transaction.add_spend(&spend)?;
        }
        w.held.version = seq;
        w.rules = Some(digest);
        if had_no_parent && let Some(parent) = &w.held.session.parent {
            ancestors::link_parent(transaction, w.held.id, &w.spent, parent, event.at)?;
        }
        persist_effects::persist(transaction, &w.held, event, &effects, &rules)?;
        let verdict = w.held.session.verdict(event);
        Ok(EventOutcome { decision: Decision { verdict, effects, duplicate: false }, seq: Some(seq), committed: true })
    }

    fn write_back(&mut self, transaction: &mut dyn Transaction, w: &mut SessionInBatch) -> Result<()> {
        let held = &mut w.held;
        let session = &held.session;
        let state = (session.state != w.state).then_some(&session.state);
        let last_at = session.facts.last_at;
        let listed = (last_at >= held.listed + LIST_INDEX_INTERVAL).then_some(last_at);
        let details = SessionDetails::from_session(session);
        transaction
            .save(held.id, &SessionUpdate { from: w.from, to: held.version, state, listed, details: &details })?;
        for call in w.calls.values() {
            transaction.put_call(held.id, call)?;
        }
        held.listed = listed.unwrap_or(held.listed);
        let threshold = if listed.is_some() { MIN_EVENTS_BETWEEN_SNAPSHOTS } else { MAX_EVENTS_BETWEEN_SNAPSHOTS };
        if state.is_some() || held.version - held.snapshot >= threshold {
            let data = serde_json::to_string(session).map_err(|e| StoreError::Database(e.to_string()))?;
            let rules = w.rules.unwrap_or_default();
            let snapshot = Snapshot { seq: held.version, format: SESSION_FORMAT, rules, data };
            transaction.snapshot(held.id, &snapshot)?;
            held.snapshot = held.version;
            self.metrics.snapshots += 1;
        }
        Ok(())
    }
}

/// The decision on a duplicate event: a repeated question gets the same verdict.
pub(crate) fn duplicate_decision(session: &Session, event: &Event) -> Decision {
    Decision { verdict: session.verdict(event), effects: Vec::new(), duplicate: true }
}

/// Ticks without effect are not recorded; a replay does not need them.
pub(crate) fn is_idle_tick(session: &Session, event: &Event, rules: &Rules) -> bool {
    matches!(event.body, Body::Tick) && session.clone().apply(event, rules).is_empty()
}

/// Whether the effect pauses or kills a session. Such a decision must survive a power cut before it is returned.
pub(crate) fn is_hold_effect(effect: &Effect) -> bool {
    matches!(effect, Effect::StateChanged { to, .. } if is_held(to))
}

pub(crate) fn is_held(state: &SessionState) -> bool {
    state.is_paused() || state.is_killed()
}

/// Restores within a transaction.
struct TransactionLookup<'a> {
    transaction: &'a mut dyn Transaction,
    rules_cache: &'a RulesCache,
    current: Arc<Rules>,
}

impl RestoreSource for TransactionLookup<'_> {
    fn load(&mut self, head: SessionHead, format: u16) -> Result<StoredSession> {
        self.transaction.load(head, format)
    }

    fn rules(&mut self, digest: Digest) -> Result<Arc<Rules>> {
        if let Some(rules) = self.rules_cache.by_digest(digest) {
            return Ok(rules);
        }
        let json = self.transaction.rules(digest)?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()).map_or_else(|| Arc::clone(&self.current), Arc::new))
    }

    fn incident(&mut self, id: &str) -> Result<Option<Incident>> {
        self.transaction.incident(id)
    }
}
