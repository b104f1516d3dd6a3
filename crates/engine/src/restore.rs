//! Snapshot and tail to session.

use std::sync::Arc;

use belay_core::session::SESSION_FORMAT;
use belay_core::{Digest, Incident, Rules, Session, SessionKey, SessionState};
use belay_store::{Result, SessionHead, StoredSession};

use crate::cache::CachedSession;

/// No snapshot has this format: asking for it gives the whole log.
const IGNORE_SNAPSHOTS: u16 = 0;

/// What a replay asks the store for.
pub(crate) trait RestoreSource {
    fn load(&mut self, head: SessionHead, format: u16) -> Result<StoredSession>;
    /// Rules that were in force once; today's when they are not known any more.
    fn rules(&mut self, digest: Digest) -> Result<Arc<Rules>>;
    fn incident(&mut self, id: &str) -> Result<Option<Incident>>;
}

pub(crate) fn restore(key: &SessionKey, head: SessionHead, lookup: &mut impl RestoreSource) -> Result<CachedSession> {
    let mut stored = lookup.load(head, SESSION_FORMAT)?;
    let mut session = Session::new(key.clone());
    if let Some(snapshot) = &stored.snapshot {
        match serde_json::from_str(&snapshot.data) {
            Ok(restored) => session = restored,
            Err(error) => {
                tracing::warn!(session = %key, %error, "a snapshot cannot be read; the log gives the session again");
                stored = lookup.load(stored.head, IGNORE_SNAPSHOTS)?;
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
    Ok(CachedSession { id: head.id, version: head.version, snapshot: head.snapshot, listed: head.listed, session })
}

fn incident_of(state: &SessionState) -> Option<&str> {
    match state.effective() {
        SessionState::Paused { incident, .. } | SessionState::Killed { incident, .. } => Some(incident),
        SessionState::Active | SessionState::Ended { .. } | SessionState::Archived { .. } => None,
    }
}
