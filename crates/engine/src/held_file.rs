//! The file of held sessions next to the store. It is read if the store cannot be read, because the store is damaged or
//! was written by a newer Belay, and if the store does not know a session, because the store was deleted or emptied. A
//! person's pause or kill then still applies.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use belay_core::event::{Operator, OperatorDecision};
use belay_core::{Body, Event, SessionKey, SessionState, Source, Timestamp};
use belay_fs::{FileMode, Links};
use belay_store::{HeldSession, Result, SessionHead, Store, Transaction};

use crate::transaction::is_held;

/// Maximum number of sessions in the file, the newest ones.
const MAX_SESSIONS: usize = 4096;

/// Maximum size of a file that is read.
const MAX_BYTES: u64 = 8 << 20;

/// The file of held sessions.
#[derive(Clone, Debug)]
pub struct HeldFile(PathBuf);

impl HeldFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Writes the held sessions of a transaction, and keeps those that the store does not know, except `deleted` ones. Call
    /// it before the commit: the write lock then orders the writes of several processes. A failure is only logged, because
    /// the store is the authority.
    pub(crate) fn write(&self, transaction: &mut dyn Transaction, deleted: &[SessionKey]) {
        let sessions = match self.merge(transaction, deleted) {
            Ok(sessions) => sessions,
            Err(error) => return tracing::warn!(%error, "cannot list held sessions"),
        };
        let written = serde_json::to_vec(&sessions).map_err(io::Error::from).and_then(|bytes| {
            if self.read().is_ok_and(|current| current == bytes) {
                return Ok(());
            }
            belay_fs::replace_file(&self.0, &bytes, FileMode::Private)
        });
        if let Err(error) = written {
            tracing::warn!(path = %self.0.display(), %error, "cannot write the file of held sessions");
        }
    }

    fn merge(&self, transaction: &mut dyn Transaction, deleted: &[SessionKey]) -> Result<Vec<HeldSession>> {
        let mut sessions = transaction.held_sessions(MAX_SESSIONS)?;
        let mut others = without(self.sessions(), &sessions);
        others.retain(|other| !deleted.contains(&other.session));
        for other in others {
            if is_unknown(transaction.session_head(&other.session)?.as_ref()) && sessions.len() < MAX_SESSIONS {
                sessions.push(other);
            }
        }
        Ok(sessions)
    }

    /// The sessions that the file lists and the store does not know.
    pub(crate) fn missing_in(&self, store: &dyn Store) -> Result<Vec<HeldSession>> {
        let listed = self.sessions();
        if listed.is_empty() {
            return Ok(listed);
        }
        let mut missing = Vec::new();
        for held in without(listed, &store.held_sessions(MAX_SESSIONS)?) {
            if store.session(&held.session)?.is_none_or(|row| row.version == 0) {
                missing.push(held);
            }
        }
        Ok(missing)
    }

    /// The state of a session that the file lists as held.
    pub(crate) fn state_of(&self, key: &SessionKey) -> Option<SessionState> {
        self.find(key).map(|held| held.state)
    }

    /// The session, if the file lists it as held.
    pub(crate) fn find(&self, key: &SessionKey) -> Option<HeldSession> {
        self.sessions().into_iter().find(|held| held.session == *key)
    }

    /// The sessions that the file lists; none if it cannot be read.
    pub(crate) fn sessions(&self) -> Vec<HeldSession> {
        let sessions: Option<Vec<HeldSession>> = self.read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut sessions = sessions.unwrap_or_default();
        sessions.retain(|held| is_held(&held.state));
        sessions
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        belay_fs::read_regular(&self.0, Links::Refuse, MAX_BYTES)
    }
}

/// Whether the store has no event of a session. A sub-agent may have created a row of its parent.
pub(crate) fn is_unknown(head: Option<&SessionHead>) -> bool {
    head.is_none_or(|head| head.version == 0)
}

fn without(mut sessions: Vec<HeldSession>, known: &[HeldSession]) -> Vec<HeldSession> {
    let known: HashSet<&SessionKey> = known.iter().map(|held| &held.session).collect();
    sessions.retain(|held| !known.contains(&held.session));
    sessions
}

/// The event that holds a session in a store that has lost it. Derived from the hold, so that it counts once.
pub(crate) fn hold_again(held: &HeldSession, at: Timestamp) -> Event {
    let (decision, since) = match held.state.effective() {
        SessionState::Killed { since, .. } => (OperatorDecision::Kill, since.millis()),
        SessionState::Paused { since, .. } => (OperatorDecision::Pause, since.millis()),
        _ => (OperatorDecision::Pause, 0),
    };
    let note = "Held before the store was deleted or emptied; taken from held.json".into();
    let operator = Operator { decision, note, by: Some("belay".to_owned()), caller: None };
    Event::new(format!("held-file-{since}"), held.session.clone(), Source::Timer, at, Body::Operator(operator))
}
