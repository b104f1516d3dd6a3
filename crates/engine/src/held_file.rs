//! The file of held sessions next to the store. It is read only if the store cannot be read: if the file is damaged or
//! was written by a newer Belay. A person's pause or kill then still applies.

use std::io;
use std::path::PathBuf;

use belay_core::{SessionKey, SessionState};
use belay_fs::{FileMode, Links};
use belay_store::{HeldSession, Transaction};

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

    /// Writes the held sessions of a transaction. Call it before the commit: the write lock then orders the writes of
    /// several processes. A failure is only logged, because the store is the authority.
    pub(crate) fn write(&self, transaction: &mut dyn Transaction) {
        let sessions = match transaction.held_sessions(MAX_SESSIONS) {
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

    /// The state of a session that the file lists as held.
    pub(crate) fn state_of(&self, key: &SessionKey) -> Option<SessionState> {
        let sessions: Vec<HeldSession> = serde_json::from_slice(&self.read().ok()?).ok()?;
        sessions.into_iter().find(|held| held.session == *key).map(|held| held.state).filter(is_held)
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        belay_fs::read_regular(&self.0, Links::Refuse, MAX_BYTES)
    }
}
