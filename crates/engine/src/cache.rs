//! Cache of recently used sessions. An entry is valid only while its version equals the store's.

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;

use belay_core::{Session, SessionKey, Timestamp};
use belay_store::SessionId;
use foldhash::fast::RandomState;
use lru::LruCache;

/// A session as of one of its events.
#[derive(Clone, Debug)]
pub(crate) struct CachedSession {
    pub(crate) id: SessionId,
    pub(crate) version: u64,
    /// Sequence number of its newest snapshot.
    pub(crate) snapshot: u64,
    /// Its indexed sort time.
    pub(crate) listed: Timestamp,
    pub(crate) session: Session,
}

/// The most recently used sessions.
pub(crate) struct SessionCache {
    sessions: LruCache<SessionKey, CachedSession, RandomState>,
}

impl SessionCache {
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN);
        Self { sessions: LruCache::with_hasher(capacity, RandomState::default()) }
    }

    /// Removes a session for modification. The caller puts it back after the commit.
    pub(crate) fn take(&mut self, key: &SessionKey) -> Option<CachedSession> {
        self.sessions.pop(key)
    }

    pub(crate) fn peek(&self, key: &SessionKey) -> Option<&CachedSession> {
        self.sessions.peek(key)
    }

    pub(crate) fn put(&mut self, held: CachedSession) {
        self.sessions.put(held.session.key.clone(), held);
    }

    pub(crate) fn clear(&mut self) {
        self.sessions.clear();
    }
}
