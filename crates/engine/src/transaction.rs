//! One transaction: some events into their sessions.

use std::sync::Arc;
use std::time::Duration;

use belay_core::effect::Spend;
use belay_core::session::SESSION_FORMAT;
use belay_core::{
    Body, Decision, Digest, Effect, Event, EventOutcome, Incident, Rules, Session, SessionKey, SessionState, Timestamp,
    Verdict,
};
use belay_store::session::{SessionDetails, SessionUpdate};
use belay_store::{Durability, NewEvent, Result, SessionHead, Snapshot, Store, StoreError, StoredSession, Transaction};
use foldhash::HashMap;

use crate::cache::{CachedSession, SessionCache};
use crate::metrics::Metrics;
use crate::restore::{self, RestoreSource};
use crate::rules_cache::{CachedRules, RulesCache, RulesProvider};
use crate::shared_budgets::PendingShare;
use crate::{ancestors, persist_effects};

/// A snapshot every so many events, but not more than one a second: it is many times as long as an event.
const MIN_EVENTS_BETWEEN_SNAPSHOTS: u64 = 64;
/// A snapshot at least every so many events: what a load replays at most.
const MAX_EVENTS_BETWEEN_SNAPSHOTS: u64 = 2048;

/// The index that lists sessions by time is written once in so long at most: it is for sorting.
const LIST_INDEX_INTERVAL: Duration = Duration::from_secs(1);

/// How a transaction ended.
pub(crate) enum AttemptOutcome {
    /// Committed; one answer per event.
    Committed(Vec<EventOutcome>),
    /// Nothing happened: a session would be paused or killed, and that must outlive a power cut.
    NeedsFullSync,
}

/// What a transaction works with.
pub(crate) struct BatchContext<'a> {
    pub(crate) rules: &'a dyn RulesProvider,
    pub(crate) rulebook: &'a mut RulesCache,
    pub(crate) cache: &'a mut SessionCache,
    pub(crate) metrics: &'a mut Metrics,
}

/// A session in the middle of a transaction.
pub(crate) struct SessionInBatch {
    pub(crate) held: CachedSession,
    /// Version, state and cost at the beginning.
    from: u64,
    state: SessionState,
    pub(crate) spent: Spend,
    /// What of its cost is booked for its project and account.
    pub(crate) booked: Spend,
    /// Rules of the last event.
    rules: Option<Digest>,
}

impl SessionInBatch {
    /// A copy that was only looked at must be the store's too.
    fn is_current(&self, transaction: &mut dyn Transaction) -> Result<()> {
        match transaction.version(self.held.id)? {
            Some(version) if version == self.held.version => Ok(()),
            _ => Err(StoreError::Conflict(self.held.id.0)),
        }
    }
}

/// The sessions of a transaction.
#[derive(Default)]
pub(crate) struct BatchSessions {
    pub(crate) working: Vec<SessionInBatch>,
    places: HashMap<SessionKey, usize>,
}

impl BatchContext<'_> {
    pub(crate) fn try_commit(
        &mut self,
        store: &mut dyn Store,
        events: &[Event],
        durability: Durability,
    ) -> Result<AttemptOutcome> {
        let mut transaction = store.begin(durability)?;
        self.rulebook.refresh();
        // Sessions leave the cache for the time being: if this fails, the changed copies are gone.
        let mut table = BatchSessions::default();
        let mut answers = Vec::with_capacity(events.len());
        let mut seats = Vec::with_capacity(events.len());
        let mut held = false;
        let mut unbooked = false;
        for event in events {
            let place = self.session_index(&mut *transaction, &mut table, &event.session, event.at)?;
            let PendingShare { before, shared } = self.pending_share(&table.working[place].held.session, event);
            if before && std::mem::take(&mut unbooked) {
                held |= self.share_all(&mut *transaction, &mut table, &seats, &mut answers)?;
            }
            if shared {
                held |= self
                    .book_shared_spend(&mut *transaction, &mut table, place, Some(event))?
                    .iter()
                    .any(is_hold_effect);
            }
            unbooked |= matches!(event.body, Body::ModelAnswered(_) | Body::Learned(_));
            let mut answer = self.apply_event(&mut *transaction, &mut table.working[place], event)?;
            held |= answer.decision.effects.iter().any(is_hold_effect);
            if event.is_question() && answer.decision.verdict == Verdict::Go {
                answer.decision.verdict = self.ancestor_verdict(&mut *transaction, &mut table, place)?;
            }
            seats.push(place);
            answers.push(answer);
        }
        held |= self.share_all(&mut *transaction, &mut table, &seats, &mut answers)?;
        held |= self.propagate_spend(&mut *transaction, &mut table)?;
        if held && durability == Durability::ProcessCrash {
            return Ok(AttemptOutcome::NeedsFullSync);
        }
        let mut working = table.working;
        let mut changed = false;
        for w in &mut working {
            if w.held.version == w.from {
                w.is_current(&mut *transaction)?;
            } else {
                self.write_back(&mut *transaction, w)?;
                changed = true;
            }
        }
        if changed {
            transaction.commit()?;
            self.metrics.commits += 1;
        }
        self.rulebook.stored.extend(working.iter().filter_map(|w| w.rules));
        for w in working {
            self.cache.put(w.held);
        }
        Ok(AttemptOutcome::Committed(answers))
    }

    /// Books what the sessions on the table have spent; whether that holds one of them. Whoever told of the spending
    /// hears what follows from it.
    fn share_all(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        seats: &[usize],
        answers: &mut [EventOutcome],
    ) -> Result<bool> {
        let mut held = false;
        for place in 0..table.working.len() {
            let effects = self.book_shared_spend(transaction, table, place, None)?;
            held |= effects.iter().any(is_hold_effect);
            if let Some(at) = seats.iter().rposition(|seat| *seat == place) {
                answers[at].decision.effects.extend(effects);
            }
        }
        Ok(held)
    }

    /// Where a session is on the table; it is fetched if it is not there yet.
    pub(crate) fn session_index(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        key: &SessionKey,
        at: Timestamp,
    ) -> Result<usize> {
        if let Some(place) = table.places.get(key) {
            return Ok(*place);
        }
        let place = table.working.len();
        table.working.push(self.check_out(transaction, key, at)?);
        table.places.insert(key.clone(), place);
        Ok(place)
    }

    fn check_out(
        &mut self,
        transaction: &mut dyn Transaction,
        key: &SessionKey,
        at: Timestamp,
    ) -> Result<SessionInBatch> {
        // Whether a copy at hand is still good shows at the end, when its row is written or looked at; if it is not,
        // all of this is done again from the store.
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
        let today = self.rules.rules_for(None);
        let mut lookup = TransactionLookup { transaction, rulebook: self.rulebook, today };
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
        let CachedRules { rules, digest } = self.rulebook.rules_for(project_of(&w.held.session, event), self.rules);
        if is_idle_tick(&w.held.session, event, &rules) {
            return Ok(EventOutcome { decision: Decision::default(), seq: None, committed: true });
        }
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
        if w.rules != Some(digest) && !self.rulebook.stored.contains(&digest) {
            transaction.put_rules(digest, &serde_json::to_string(&*rules).unwrap_or_default())?;
        }
        let orphan = w.held.session.parent.is_none();
        let effects = w.held.session.apply_unseen(event, identity, &rules);
        w.held.version = seq;
        w.rules = Some(digest);
        if orphan && let Some(parent) = &w.held.session.parent {
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
        let heard_of = session.facts.last_at;
        let listed = (heard_of >= held.listed + LIST_INDEX_INTERVAL).then_some(heard_of);
        let details = SessionDetails::of(session);
        transaction
            .save(held.id, &SessionUpdate { from: w.from, to: held.version, state, listed, details: &details })?;
        held.listed = listed.unwrap_or(held.listed);
        let enough = if listed.is_some() { MIN_EVENTS_BETWEEN_SNAPSHOTS } else { MAX_EVENTS_BETWEEN_SNAPSHOTS };
        if state.is_some() || held.version - held.snapshot >= enough {
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

/// The answer to an event seen before: a question asked twice is answered alike.
pub(crate) fn duplicate_decision(session: &Session, event: &Event) -> Decision {
    Decision { verdict: session.verdict(event), effects: Vec::new(), duplicate: true }
}

/// The log keeps a tick only if something follows from it: a replay does not miss the others.
pub(crate) fn is_idle_tick(session: &Session, event: &Event, rules: &Rules) -> bool {
    matches!(event.body, Body::Tick) && session.clone().apply(event, rules).is_empty()
}

/// Where the session works, as far as anybody said.
pub(crate) fn project_of<'a>(session: &'a Session, event: &'a Event) -> Option<&'a str> {
    let started = match &event.body {
        Body::SessionStarted(start) => start.project.as_deref(),
        _ => None,
    };
    let facts = &session.facts;
    started.or(facts.project.as_deref()).or(event.cwd.as_deref()).or(facts.cwd.as_deref())
}

/// A pause or kill must outlive a power cut before anybody is told.
pub(crate) fn is_hold_effect(effect: &Effect) -> bool {
    matches!(effect, Effect::StateChanged { to, .. } if is_held(to))
}

pub(crate) fn is_held(state: &SessionState) -> bool {
    state.is_paused() || state.is_killed()
}

/// A replay inside a transaction.
struct TransactionLookup<'a> {
    transaction: &'a mut dyn Transaction,
    rulebook: &'a RulesCache,
    today: Arc<Rules>,
}

impl RestoreSource for TransactionLookup<'_> {
    fn load(&mut self, head: SessionHead, format: u16) -> Result<StoredSession> {
        self.transaction.load(head, format)
    }

    fn rules(&mut self, digest: Digest) -> Result<Arc<Rules>> {
        if let Some(rules) = self.rulebook.by_digest(digest) {
            return Ok(rules);
        }
        let json = self.transaction.rules(digest)?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()).map_or_else(|| Arc::clone(&self.today), Arc::new))
    }

    fn incident(&mut self, id: &str) -> Result<Option<Incident>> {
        self.transaction.incident(id)
    }
}
