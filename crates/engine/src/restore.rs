//! Restores a session from its snapshot and the events since.

use std::sync::Arc;

use belay_core::session::SESSION_FORMAT;
use belay_core::{Digest, Incident, Rules, Session, SessionKey, SessionState};
use belay_store::{Result, SessionHead, StoredSession};

use crate::cache::CachedSession;

/// No snapshot has this format, so requesting it loads the complete log.
pub(crate) const IGNORE_SNAPSHOTS: u16 = 0;

/// What a restore reads from the store.
pub(crate) trait RestoreSource {
    fn load(&mut self, head: SessionHead, format: u16) -> Result<StoredSession>;
    /// The rules with this digest; the current ones if they are no longer stored.
    fn rules(&mut self, digest: Digest) -> Result<Arc<Rules>>;
    fn incident(&mut self, id: &str) -> Result<Option<Incident>>;
}

pub(crate) fn restore(key: &SessionKey, head: SessionHead, source: &mut impl RestoreSource) -> Result<CachedSession> {
    let mut stored = source.load(head, SESSION_FORMAT)?;
    let mut session = Session::new(key.clone());
    if let Some(snapshot) = &stored.snapshot {
        match serde_json::from_str(&snapshot.data) {
            Ok(restored) => session = restored,
            Err(error) => {
                tracing::warn!(session = %key, %error, "unreadable snapshot; replaying the log");
                stored = source.load(stored.head, IGNORE_SNAPSHOTS)?;
            }
        }
    }
    for row in &stored.tail {
        match row.event() {
            Ok(event) => {
                session.apply(&event, &*source.rules(row.rules)?);
            }
            Err(error) => tracing::error!(session = %key, seq = row.seq, %error, "unreadable event skipped in replay"),
        }
    }
    let head = stored.head;
    if session.state != head.state && !is_same_hold(&session.state, &head.state) {
        // Other rules or another version decided differently at the time. That decision remains in force.
        session.incident = match incident_of(&head.state) {
            Some(id) => source.incident(id)?,
            None => None,
        };
        session.state = head.state;
    }
    Ok(CachedSession { id: head.id, version: head.version, snapshot: head.snapshot, listed: head.listed, session })
}

/// Whether the row's state is unreadable except for its name (see `SessionRow::state`) and the replay agrees with it.
fn is_same_hold(replayed: &SessionState, stored: &SessionState) -> bool {
    incident_of(stored) == Some("")
        && replayed.as_str() == stored.as_str()
        && replayed.effective().as_str() == stored.effective().as_str()
}

fn incident_of(state: &SessionState) -> Option<&str> {
    match state.effective() {
        SessionState::Paused { incident, .. } | SessionState::Killed { incident, .. } => Some(incident),
        SessionState::Active | SessionState::Ended { .. } | SessionState::Archived { .. } => None,
    }
}
