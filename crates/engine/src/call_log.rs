//! What pages show about calls and spend, recorded with the events that tell it.

use std::collections::BTreeMap;

use belay_core::session::CallRecord;
use belay_core::{Body, Event, Rules, Session};
use belay_store::SpendRow;

/// Calls by ordinal.
pub(crate) type ChangedCalls = BTreeMap<u64, CallRecord>;

/// The figures of a call end when the next call is made.
pub(crate) fn before_event(session: &Session, event: &Event, calls: &mut ChangedCalls) {
    if matches!(event.body, Body::ToolCalled(_)) {
        record(session, session.newest_call(), calls);
    }
}

pub(crate) fn after_event(session: &Session, event: &Event, seq: u64, calls: &mut ChangedCalls) {
    let newest = session.newest_call();
    match &event.body {
        Body::ToolCalled(called) => {
            // A call that will never get a result is known as such only now.
            record(session, newest.and_then(|newest| newest.checked_sub(1)), calls);
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
        Body::ModelAnswered(_) | Body::Learned(_) | Body::FileChanged(_) => record(session, newest, calls),
        _ => {}
    }
}

/// Adds the current record of a call. What only an earlier record knows is kept.
fn record(session: &Session, ordinal: Option<u64>, calls: &mut ChangedCalls) {
    let Some(mut new) = ordinal.and_then(|ordinal| session.call_record(ordinal)) else { return };
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
