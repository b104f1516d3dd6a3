//! One transaction: some events into their sessions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use belay_core::effect::Spent;
use belay_core::session::SESSION_FORMAT;
use belay_core::{Body, Decision, Digest, Effect, Event, Incident, Rules, Session, SessionKey, State};
use belay_store::session::Card;
use belay_store::{Durability, Head, NewEvent, Result, Snapshot, Store, StoreError, Stored, Transaction};

use crate::cache::{Cache, Held};
use crate::load::{self, Lookup};
use crate::metrics::Metrics;
use crate::rulebook::{Known, Rulebook, RulesFor};
use crate::{effects, family};

/// A snapshot at least every so many events: what a load replays at most.
pub(crate) const SNAPSHOT_EVERY: u64 = 64;

/// How a transaction ended.
pub(crate) enum Attempt {
    /// Committed; one answer per event.
    Committed(Vec<Answer>),
    /// Nothing happened: a session would be paused or killed, and that must outlive a power cut.
    WantsFullSync,
}

/// The answer to one event.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    /// The event's number in its session; `None` for a duplicate.
    pub(crate) seq: Option<u64>,
}

/// What a transaction works with.
pub(crate) struct Desk<'a> {
    pub(crate) rules: &'a dyn RulesFor,
    pub(crate) rulebook: &'a mut Rulebook,
    pub(crate) cache: &'a mut Cache,
    pub(crate) metrics: &'a mut Metrics,
}

/// A session in the middle of a transaction.
struct Working {
    held: Held,
    /// Version and cost at the beginning.
    from: u64,
    spent: Spent,
    state_changed: bool,
    /// Rules of the last event.
    rules: Option<Digest>,
}

impl Desk<'_> {
    pub(crate) fn attempt(
        &mut self,
        store: &mut dyn Store,
        events: &[Event],
        durability: Durability,
    ) -> Result<Attempt> {
        let mut transaction = store.begin(durability)?;
        // Sessions leave the cache for the time being: if this fails, the changed copies are gone.
        let mut working: Vec<Working> = Vec::new();
        let mut places: HashMap<&SessionKey, usize> = HashMap::new();
        let mut answers = Vec::with_capacity(events.len());
        for event in events {
            let place = match places.entry(&event.session) {
                Entry::Occupied(place) => *place.get(),
                Entry::Vacant(place) => {
                    working.push(self.check_out(&mut *transaction, event)?);
                    *place.insert(working.len() - 1)
                }
            };
            let answer = self.take_in(&mut *transaction, &mut working[place], event)?;
            if durability == Durability::Process && answer.decision.effects.iter().any(wants_full_sync) {
                return Ok(Attempt::WantsFullSync);
            }
            answers.push(answer);
        }
        let mut changed = working.iter_mut().filter(|w| w.held.version != w.from).peekable();
        if changed.peek().is_some() {
            for w in changed {
                self.write_back(&mut *transaction, w)?;
            }
            transaction.commit()?;
            self.metrics.commits += 1;
        }
        self.rulebook.stored.extend(working.iter().filter_map(|w| w.rules));
        for w in working {
            self.cache.put(w.held);
        }
        Ok(Attempt::Committed(answers))
    }

    fn check_out(&mut self, transaction: &mut dyn Transaction, event: &Event) -> Result<Working> {
        let key = &event.session;
        let at_hand = match self.cache.take(key) {
            Some(held) if transaction.version(held.id)? == Some(held.version) => Some(held),
            _ => None,
        };
        let held = match at_hand {
            Some(held) => held,
            None => match transaction.head(key)? {
                Some(head) => self.load(transaction, key, head)?,
                None => {
                    let head = transaction.create(key, event.at)?;
                    Held { id: head.id, version: 0, snapshot: 0, session: Session::new(key.clone()) }
                }
            },
        };
        Ok(Working { from: held.version, spent: held.session.spent, state_changed: false, rules: None, held })
    }

    fn load(&mut self, transaction: &mut dyn Transaction, key: &SessionKey, head: Head) -> Result<Held> {
        self.metrics.loads += 1;
        let today = self.rules.rules_for(None);
        let mut lookup = InTransaction { transaction, rulebook: self.rulebook, today };
        load::restore(key, head, &mut lookup)
    }

    fn take_in(&mut self, transaction: &mut dyn Transaction, w: &mut Working, event: &Event) -> Result<Answer> {
        let identity = Digest::of(event.identity());
        if w.held.session.has_seen(identity) {
            return Ok(Answer { decision: again(&w.held.session, event), seq: None });
        }
        let Known { rules, digest } = self.rulebook.know(self.rules.rules_for(project(&w.held.session, event)));
        // The log keeps a tick only if something followed from it: a replay does not miss the others.
        if matches!(event.body, Body::Tick) && w.held.session.clone().apply(event, &rules).is_empty() {
            return Ok(Answer { decision: Decision::default(), seq: None });
        }
        let json = serde_json::to_string(event).map_err(|e| StoreError::Database(e.to_string()))?;
        let seq = w.held.version + 1;
        let new = NewEvent { seq, identity, at: event.at, kind: event.body.kind(), rules: digest, json: &json };
        if !transaction.append(w.held.id, &new)? {
            return Ok(Answer { decision: again(&w.held.session, event), seq: None });
        }
        if !self.rulebook.stored.contains(&digest) && w.rules != Some(digest) {
            transaction.put_rules(digest, &serde_json::to_string(&*rules).unwrap_or_default())?;
        }
        let orphan = w.held.session.parent.is_none();
        let effects = w.held.session.apply(event, &rules);
        w.held.version = seq;
        w.rules = Some(digest);
        if orphan && let Some(parent) = &w.held.session.parent {
            family::link(transaction, w.held.id, &w.spent, parent, event.at)?;
        }
        w.state_changed |= effects.iter().any(|effect| matches!(effect, Effect::StateChanged { .. }));
        effects::persist(transaction, w.held.id, event, &effects)?;
        let verdict = w.held.session.verdict(event);
        Ok(Answer { decision: Decision { verdict, effects, duplicate: false }, seq: Some(seq) })
    }

    fn write_back(&mut self, transaction: &mut dyn Transaction, w: &mut Working) -> Result<()> {
        let held = &mut w.held;
        let session = &held.session;
        transaction.save(held.id, w.from, held.version, &session.state, &Card::of(session))?;
        if session.parent.is_some() {
            family::charge(transaction, held.id, &w.spent, &session.spent)?;
        }
        if w.state_changed || held.version - held.snapshot >= SNAPSHOT_EVERY {
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
pub(crate) fn again(session: &Session, event: &Event) -> Decision {
    Decision { verdict: session.verdict(event), effects: Vec::new(), duplicate: true }
}

/// Where the session works, as far as anybody said.
pub(crate) fn project<'a>(session: &'a Session, event: &'a Event) -> Option<&'a str> {
    let started = match &event.body {
        Body::SessionStarted(start) => start.project.as_deref(),
        _ => None,
    };
    let facts = &session.facts;
    started.or(facts.project.as_deref()).or(event.cwd.as_deref()).or(facts.cwd.as_deref())
}

/// A pause or kill must outlive a power cut before anybody is told.
fn wants_full_sync(effect: &Effect) -> bool {
    matches!(effect, Effect::StateChanged { to, .. } if is_held(to))
}

pub(crate) fn is_held(state: &State) -> bool {
    state.is_paused() || state.is_killed()
}

/// A replay inside a transaction.
struct InTransaction<'a> {
    transaction: &'a mut dyn Transaction,
    rulebook: &'a Rulebook,
    today: Arc<Rules>,
}

impl Lookup for InTransaction<'_> {
    fn load(&mut self, head: Head, format: u16) -> Result<Stored> {
        self.transaction.load(head, format)
    }

    fn rules(&mut self, digest: Digest) -> Result<Arc<Rules>> {
        if let Some(rules) = self.rulebook.find(digest) {
            return Ok(rules);
        }
        let json = self.transaction.rules(digest)?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()).map_or_else(|| Arc::clone(&self.today), Arc::new))
    }

    fn incident(&mut self, id: &str) -> Result<Option<Incident>> {
        self.transaction.incident(id)
    }
}
