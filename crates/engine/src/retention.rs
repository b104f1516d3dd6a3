//! Pruning, with protection against a system clock that has just jumped ahead.

use std::time::Duration;

use belay_core::{SessionKey, Timestamp};
use belay_store::{Durability, Pruned, Result, Retention, Store, StoreError};

use crate::engine::Engine;
use crate::error::EngineError;

/// The setting that records the last observed time and since when the clock is trusted.
const LAST_SEEN_SETTING: &str = "retention.clock";

/// A clock that advanced by more than this since the last observation may have jumped.
const MAX_CLOCK_JUMP: Duration = Duration::from_secs(7 * 86_400);
/// A clock that may have jumped is trusted again after this long.
const CLOCK_JUMP_GRACE: Duration = Duration::from_secs(3600);

impl Engine {
    /// Prunes one slice; call again while [`Pruned::more`] is set.
    pub fn prune(&mut self, retention: &Retention) -> Result<Pruned, EngineError> {
        let now = self.options.clock.now();
        let Some(store) = self.store.as_deref_mut().filter(|_| self.memory.is_none()) else {
            return Ok(Pruned::default());
        };
        let mut retention = *retention;
        if !clock_is_trusted(store, now)? {
            // A wrong clock must not delete history.
            retention.max_age = Duration::MAX;
        }
        Ok(store.prune(&retention, now)?)
    }

    /// Deletes sessions with all their records, held or not, and returns how many existed. A call takes the store for a
    /// few milliseconds if it names a few dozen of them. Their events are deleted by later calls of [`Engine::prune`].
    pub fn delete_sessions(&mut self, sessions: &[SessionKey]) -> Result<u64, EngineError> {
        let Some(store) = self.store.as_deref_mut().filter(|_| self.memory.is_none()) else {
            return Err(StoreError::Database("the store is not writable".to_owned()).into());
        };
        let deleted = store.delete_sessions(sessions)?;
        for session in sessions {
            self.cache.take(session);
        }
        self.write_held_file(sessions);
        Ok(deleted)
    }

    /// Moves pending writes from the write-ahead log into the main file of the store. Returns `false` if that was not
    /// possible now.
    pub fn checkpoint(&mut self) -> Result<bool, EngineError> {
        let store = self.store.as_deref_mut().filter(|_| self.memory.is_none());
        Ok(store.map_or(Ok(false), |store| store.checkpoint())?)
    }
}

/// Whether ages computed with this clock can be trusted.
fn clock_is_trusted(store: &mut dyn Store, now: Timestamp) -> Result<bool> {
    let recorded = store.setting(LAST_SEEN_SETTING)?;
    let recorded = recorded.as_deref().and_then(|text| text.split_once(' ')).and_then(|(seen, from)| {
        Some((Timestamp::from_millis(seen.parse().ok()?), Timestamp::from_millis(from.parse().ok()?)))
    });
    let (seen, trusted_from) = match recorded {
        Some((seen, from)) if now >= seen && now.saturating_since(seen) <= MAX_CLOCK_JUMP => (seen, from),
        _ => (Timestamp::UNKNOWN, now + CLOCK_JUMP_GRACE),
    };
    if now.saturating_since(seen) > CLOCK_JUMP_GRACE {
        let mut transaction = store.begin(Durability::ProcessCrash)?;
        transaction.put_setting(LAST_SEEN_SETTING, Some(&format!("{} {}", now.millis(), trusted_from.millis())))?;
        transaction.commit()?;
    }
    Ok(now >= trusted_from)
}
