//! What pages show about calls and spend, recorded with the events that tell it.

use std::collections::BTreeMap;

use belay_core::session::{CallMark, CallRecord, CallStrip};
use belay_core::{Body, Digest, Event, Rules, Session, SessionKey};
use belay_store::{Result, SpendRow, Store};

use crate::restore::IGNORE_SNAPSHOTS;

/// Calls by ordinal.
pub(crate) type ChangedCalls = BTreeMap<u64, CallRecord>;

pub(crate) fn after_event(session: &Session, event: &Event, seq: u64, calls: &mut ChangedCalls) {
    let newest = session.newest_call();
    match &event.body {
        Body::ToolCalled(called) => {
            let previous = newest.and_then(|newest| session.call_record(newest.checked_sub(1)?));
            // A call that will never get a result is known as such only now. The others were recorded with their result
            // and every event since.
            if let Some(previous) = previous.filter(|call| matches!(call.mark, CallMark::Running | CallMark::HeldBack))
            {
                add(previous, calls);
            }
            record(session, newest, calls);
            if let Some(call) = newest.and_then(|newest| calls.get_mut(&newest)) {
                call.seq = seq;
                call.file = called.file().map(str::to_owned);
            }
        }
        Body::ToolReturned(_) => {
            record(session, session.last_answered_call(), calls);
            record(session, newest, calls);
        }
        // Cost, context and progress change with many kinds of events.
        _ => record(session, newest, calls),
    }
}

fn record(session: &Session, ordinal: Option<u64>, calls: &mut ChangedCalls) {
    if let Some(new) = ordinal.and_then(|ordinal| session.call_record(ordinal)) {
        add(new, calls);
    }
}

/// Adds the current record of a call. What only an earlier record knows is kept.
fn add(mut new: CallRecord, calls: &mut ChangedCalls) {
    if let Some(old) = calls.get_mut(&new.ordinal) {
        new.seq = old.seq;
        new.file = new.file.or_else(|| old.file.take());
        new.figures = new.figures.or(old.figures);
    }
    calls.insert(new.ordinal, new);
}

/// What an event adds to the spend of its hour.
pub(crate) fn spend(session: &Session, event: &Event, rules: &Rules) -> Option<SpendRow> {
    if session.key.is_trial() {
        return None;
    }
    let charge = session.charge(event, rules)?;
    let at = if event.at.is_known() { event.at } else { session.facts.last_at };
    Some(SpendRow {
        hour: at.millis().div_euclid(3_600_000),
        agent: session.key.agent.to_string(),
        project: session.facts.project.clone().unwrap_or_default(),
        model: charge.model.unwrap_or_default().to_owned(),
        tokens: charge.usage.total(),
        cost_micros: charge.cost_micros.unwrap_or(0),
        unpriced_micros: charge.unpriced_micros,
    })
}

/// The calls of a session, derived from its log.
#[derive(Debug)]
pub struct ReplayedCalls {
    /// Oldest first.
    pub calls: Vec<CallRecord>,
    pub strip: CallStrip,
}

/// Derives the calls of a session from its log, for events that were stored before the store kept calls. Reads the whole
/// log.
pub fn replay_calls(store: &dyn Store, key: &SessionKey) -> Result<ReplayedCalls> {
    let mut session = Session::new(key.clone());
    let mut calls = ChangedCalls::new();
    let mut rules: Option<(Digest, Rules)> = None;
    for row in store.load(key, IGNORE_SNAPSHOTS)?.map(|stored| stored.tail).unwrap_or_default() {
        // A restore reports events that cannot be read.
        let Ok(event) = row.event() else { continue };
        let (_, rules) = match rules.take() {
            Some(same) if same.0 == row.rules => rules.insert(same),
            _ => {
                let json = store.rules(row.rules)?;
                let stored = json.and_then(|json| serde_json::from_str(&json).ok());
                rules.insert((row.rules, stored.unwrap_or_default()))
            }
        };
        session.apply(&event, rules);
        after_event(&session, &event, row.seq, &mut calls);
    }
    Ok(ReplayedCalls { calls: calls.into_values().collect(), strip: session.strip })
}
