//! Snapshot and tail to session.

use std::sync::Arc;

use belay_core::session::SESSION_FORMAT;
use belay_core::{Digest, Incident, Rules, Session, SessionKey, State};
use belay_store::{Head, Result, Stored};

use crate::cache::Held;

/// No snapshot has this format: asking for it gives the whole log.
const NO_FORMAT: u16 = 0;

/// What a replay asks the store for.
pub(crate) trait Lookup {
    fn load(&mut self, head: Head, format: u16) -> Result<Stored>;
    /// Rules that were in force once; today's when they are not known any more.
    fn rules(&mut self, digest: Digest) -> Result<Arc<Rules>>;
    fn incident(&mut self, id: &str) -> Result<Option<Incident>>;
}

pub(crate) fn restore(key: &SessionKey, head: Head, lookup: &mut impl Lookup) -> Result<Held> {
    let mut stored = lookup.load(head, SESSION_FORMAT)?;
    let mut session = Session::new(key.clone());
    if let Some(snapshot) = &stored.snapshot {
        match serde_json::from_str(&snapshot.data) {
            Ok(restored) => session = restored,
            Err(error) => {
                tracing::warn!(session = %key, %error, "a snapshot cannot be read; the log gives the session again");
                stored = lookup.load(stored.head, NO_FORMAT)?;
            }
        }
    }
    for row in &stored.tail {
        match row.event() {
            Ok(event) => {
                session.apply(&event, &*lookup.rules(row.rules)?);
            }
            Err(error) => tracing::error!(session = %key, seq = row.seq, %error, "an event of the log is left out"),
        }
    }
    let head = stored.head;
    if session.state != head.state {
        // Other rules, or another Belay, would have decided differently. What was decided stands.
        session.incident = match incident_of(&head.state) {
            Some(id) => lookup.incident(id)?,
            None => None,
        };
        session.state = head.state;
    }
    Ok(Held { id: head.id, version: head.version, snapshot: head.snapshot, listed: head.listed, session })
}

fn incident_of(state: &State) -> Option<&str> {
    match state.holding() {
        State::Paused { incident, .. } | State::Killed { incident, .. } => Some(incident),
        State::Active | State::Ended { .. } | State::Archived { .. } => None,
    }
}
