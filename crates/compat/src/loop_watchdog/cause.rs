//! The events and files that an incident rests on.

use std::collections::HashSet;

use belay_core::{Body, Event, Finding, SessionKey};
use belay_store::{EventQuery, Order, Result, Store};

/// How many of a session's last events are searched.
const MAX_EVENTS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Cause {
    /// Oldest first, each once.
    pub event_ids: Vec<String>,
    /// Sorted.
    pub files: Vec<String>,
}

/// Looks up the evidence of a finding in the log. Events that retention has deleted are missing.
pub(super) fn find_cause(store: &dyn Store, session: &SessionKey, finding: &Finding) -> Result<Cause> {
    let evidence: HashSet<&str> = finding.evidence.iter().filter_map(|one| one.id.as_deref()).collect();
    if evidence.is_empty() {
        return Ok(Cause::default());
    }
    let (session, order, limit) = (Some(session.clone()), Order::Last, MAX_EVENTS);
    let rows = store.events(&EventQuery { session, order, limit, ..EventQuery::default() })?;
    let events: Vec<Event> = rows.iter().filter_map(|row| row.event().ok()).collect();
    let events: Vec<&Event> = events.iter().filter(|event| names(event).any(|id| evidence.contains(id))).collect();
    let mut files: Vec<String> = events.iter().flat_map(|event| changed_files(event)).collect();
    files.sort_unstable();
    files.dedup();
    Ok(Cause { event_ids: events.iter().map(|event| event.id.clone()).collect(), files })
}

/// The ids under which evidence may know an event.
fn names(event: &Event) -> impl Iterator<Item = &str> {
    let call = match &event.body {
        Body::ToolCalled(called) => called.call.as_deref(),
        Body::ToolReturned(returned) => returned.call.as_deref(),
        Body::FileChanged(change) => change.call.as_deref(),
        Body::CheckRan(check) => check.call.as_deref(),
        _ => None,
    };
    [Some(event.id.as_str()), call].into_iter().flatten()
}

fn changed_files(event: &Event) -> Vec<String> {
    match (&event.body, &event.report) {
        (_, Some(report)) => report.files.clone(),
        (Body::FileChanged(change), None) => vec![change.path.clone()],
        _ => Vec::new(),
    }
}
