//! Alerts about what needs a person. The needs that the overview lists become messages of the outbox, each once.
//!
//! Drivers enqueue nothing, so that a page and an alert cannot disagree. The message comes after the record of the task:
//! what a killed process recorded and did not enqueue, the next one enqueues, because it begins with all tasks. Messages
//! about sessions are not made here: the engine enqueues them in the transaction of the event that they follow from.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use belay_alerts::{Outbox, message_about};
use belay_clock::now;
use belay_ipc::views::Need;
use belay_store::Durability;

use crate::reviews;
use crate::state::DaemonState;

/// An older need is only listed. After an upgrade, nobody wants to be told about the results of last month.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Whether something that can need a person has changed since the watcher looked.
#[derive(Debug)]
pub(crate) struct NeedChanges {
    noted: AtomicU64,
    watched: AtomicU64,
}

impl Default for NeedChanges {
    /// The needs of the last process have not been watched.
    fn default() -> Self {
        Self { noted: AtomicU64::new(1), watched: AtomicU64::new(0) }
    }
}

impl NeedChanges {
    pub(crate) fn note(&self) {
        self.noted.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether a message may be missing in the outbox.
    pub(crate) fn are_pending(&self) -> bool {
        self.noted.load(Ordering::Acquire) != self.watched.load(Ordering::Acquire)
    }
}

/// Turns needs into messages.
#[derive(Debug)]
pub(crate) struct NeedWatcher {
    max_age: Duration,
    /// Keys of the needs that are in the outbox, or too old for it.
    seen: HashSet<String>,
}

impl NeedWatcher {
    /// `kept`: how long the outbox keeps a message. Later, its key no longer prevents a second one.
    pub(crate) fn new(kept: Duration) -> Self {
        Self { max_age: MAX_AGE.min(kept), seen: HashSet::new() }
    }

    /// Enqueues a message about each new need.
    pub(crate) fn enqueue_new(&mut self, daemon: &DaemonState, outbox: &dyn Outbox) -> belay_store::Result<()> {
        let changes = &daemon.need_changes;
        let noted = changes.noted.load(Ordering::Acquire);
        if !changes.are_pending() || !daemon.reviews.has_started() {
            return Ok(());
        }
        let tasks = reviews::all(daemon);
        let mut needs: Vec<Need> =
            tasks.iter().filter(|task| !task.follows_decision()).filter_map(|task| task.need()).collect();
        needs.sort_by_key(|need| need.since);
        let (now, base) = (now(), daemon.runs.listeners.url());
        let is_new = |need: &&Need| now.saturating_since(need.since) < self.max_age && !self.seen.contains(&need.key());
        let new: Vec<&Need> = needs.iter().filter(is_new).collect();
        if !new.is_empty() {
            outbox.write(&mut |store| {
                let mut transaction = store.begin(Durability::ProcessCrash)?;
                for need in &new {
                    let link =
                        base.as_ref().map(|base| format!("{}{}", base.trim_end_matches('/'), need.subject.page()));
                    transaction.enqueue(&message_about(need, link.as_deref()))?;
                }
                transaction.commit()
            })?;
        }
        self.seen = needs.iter().map(Need::key).collect();
        changes.watched.store(noted, Ordering::Release);
        Ok(())
    }
}
