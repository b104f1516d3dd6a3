//! Cleaning up, and not believing a clock that has just jumped.

use std::time::Duration;

use belay_core::Timestamp;
use belay_store::{Durability, Pruned, Result, Retention, Store};

use crate::engine::Engine;
use crate::error::EngineError;

/// Where the store remembers when somebody last looked.
const LAST_SEEN_SETTING: &str = "retention.clock";

/// A clock that is further on than this since somebody last looked may have jumped...
const MAX_CLOCK_JUMP: Duration = Duration::from_secs(7 * 86_400);
/// ...and is believed after this long.
const CLOCK_JUMP_GRACE: Duration = Duration::from_secs(3600);

impl Engine {
    /// Cleans up a little; call again while [`Pruned::more`].
    pub fn prune(&mut self, retention: &Retention) -> Result<Pruned, EngineError> {
        let now = self.options.clock.now();
        let Some(store) = self.store.as_deref_mut().filter(|_| self.memory.is_none()) else {
            return Ok(Pruned::default());
        };
        let mut retention = *retention;
        if !believes(store, now)? {
            // A wrong year must not cost anybody their history.
            retention.max_age = Duration::MAX;
        }
        Ok(store.prune(&retention, now)?)
    }
}

/// Whether what is old by this clock is old.
fn believes(store: &mut dyn Store, now: Timestamp) -> Result<bool> {
    let noted = store.setting(LAST_SEEN_SETTING)?;
    let noted = noted.as_deref().and_then(|text| text.split_once(' ')).and_then(|(seen, from)| {
        Some((Timestamp::from_millis(seen.parse().ok()?), Timestamp::from_millis(from.parse().ok()?)))
    });
    let (seen, believed_from) = match noted {
        Some((seen, from)) if now >= seen && now.saturating_since(seen) <= MAX_CLOCK_JUMP => (seen, from),
        _ => (Timestamp::UNKNOWN, now + CLOCK_JUMP_GRACE),
    };
    if now.saturating_since(seen) > CLOCK_JUMP_GRACE {
        let mut transaction = store.begin(Durability::ProcessCrash)?;
        transaction.put_setting(LAST_SEEN_SETTING, Some(&format!("{} {}", now.millis(), believed_from.millis())))?;
        transaction.commit()?;
    }
    Ok(now >= believed_from)
}
