//! Sessions at hand. A copy is good only while its version is the store's.

#[cfg(test)]
mod tests;

use belay_core::{Session, SessionKey, Timestamp};
use belay_store::SessionId;
use foldhash::HashMap;

/// A session as of some event.
#[derive(Clone, Debug)]
pub(crate) struct CachedSession {
    pub(crate) id: SessionId,
    pub(crate) version: u64,
    /// Event number of its newest snapshot.
    pub(crate) snapshot: u64,
    /// The time it is listed by.
    pub(crate) listed: Timestamp,
    pub(crate) session: Session,
}

/// Keeps the sessions used last.
pub(crate) struct SessionCache {
    sessions: HashMap<SessionKey, (u64, CachedSession)>,
    capacity: usize,
    uses: u64,
}

impl SessionCache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { sessions: HashMap::default(), capacity: capacity.max(1), uses: 0 }
    }

    /// Takes a session out; whoever changes it puts it back once the change is committed.
    pub(crate) fn take(&mut self, key: &SessionKey) -> Option<CachedSession> {
        self.sessions.remove(key).map(|(_, held)| held)
    }

    pub(crate) fn peek(&self, key: &SessionKey) -> Option<&CachedSession> {
        self.sessions.get(key).map(|(_, held)| held)
    }

    pub(crate) fn put(&mut self, held: CachedSession) {
        self.uses += 1;
        self.sessions.insert(held.session.key.clone(), (self.uses, held));
        if self.sessions.len() > self.capacity {
            self.shed();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.sessions.clear();
    }

    /// Lets an eighth go at once, so that a full cache does not search for the oldest at every event.
    fn shed(&mut self) {
        let mut uses: Vec<u64> = self.sessions.values().map(|(used, _)| *used).collect();
        let keep = self.capacity - self.capacity / 8;
        let gone = uses.len().saturating_sub(keep.max(1));
        if gone > 0 {
            let (_, last_gone, _) = uses.select_nth_unstable(gone - 1);
            let last_gone = *last_gone;
            self.sessions.retain(|_, (used, _)| *used > last_gone);
        }
    }
}
