//! Follows the log: hands committed events to the parts of this process that react to them.
//!
//! One thread reads for all of them, with a reader of its own, so that none of this is on the path of a decision. A
//! commit wakes it after a rest; then it reads at most ten times a second ([`READ_INTERVAL`]). It reads only what a
//! subscriber wants, and parses a row only if one does. It starts at the newest position. What must not be missed over a
//! restart, a subscriber derives from the store again or keeps in a journal of its own.
//!
//! `events tail` does not use it: it reads from any position, at the pace of its client.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use belay_core::Event;
use belay_store::{EventQuery, EventRow, Order, Store};

use crate::group_commit::CommitNotifier;
use crate::read_pool::ReadPool;
use crate::shutdown::ShutdownFlag;

/// Shortest time between two reads. The first change after a rest is read at once, those that follow it together. Live
/// pages are updated as often: waking 200 of them for every event made decisions 40 % slower; waking them ten times a
/// second does not (`cargo xtask bench dashboard`).
const READ_INTERVAL: Duration = Duration::from_millis(100);

/// Commits of other processes do not notify this one, so the store is also polled.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Events read at a time.
const PAGE: usize = 500;

/// A part of this process that reacts to committed events.
pub(crate) trait LogSubscriber: Send + Sync {
    /// The kinds of events that it wants. Asked before each read, so that the answer may change: it gets every event that
    /// is committed after it wanted its kind.
    fn kinds(&self) -> EventKinds;

    /// What was committed, in the order of the log, and at least one event. Other subscribers wait meanwhile.
    fn on_events(&self, events: &[&LogEntry]);
}

/// Kinds of events, as [`belay_core::Body::kind`] names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKinds {
    None,
    Only(&'static [&'static str]),
    All,
}

impl EventKinds {
    fn contain(self, kind: &str) -> bool {
        match self {
            Self::None => false,
            Self::Only(kinds) => kinds.contains(&kind),
            Self::All => true,
        }
    }
}

/// A row of the log, parsed at most once.
#[derive(Debug)]
pub(crate) struct LogEntry {
    row: EventRow,
    event: OnceCell<Option<Event>>,
}

impl LogEntry {
    pub(crate) fn row(&self) -> &EventRow {
        &self.row
    }

    /// The event; `None` if another version of Belay wrote it and this one cannot read it.
    pub(crate) fn event(&self) -> Option<&Event> {
        self.event.get_or_init(|| self.row.event().ok()).as_ref()
    }
}

impl From<EventRow> for LogEntry {
    fn from(row: EventRow) -> Self {
        Self { row, event: OnceCell::new() }
    }
}

/// Reads the log for its subscribers.
pub(crate) struct LogFollower {
    subscribers: Vec<Box<dyn LogSubscriber>>,
    /// Position of the last event read; `None` if the log could not be read yet.
    position: Option<u64>,
}

impl LogFollower {
    /// Starts at the newest event. Call it before the first request is served, so that nothing is missed.
    pub(crate) fn new(readers: &ReadPool, subscribers: Vec<Box<dyn LogSubscriber>>) -> Self {
        let position = readers.get().and_then(|store| newest_position(&*store)).ok();
        Self { subscribers, position }
    }

    /// Follows the log until the shutdown.
    pub(crate) fn run(mut self, readers: &ReadPool, commits: &CommitNotifier, shutdown: &ShutdownFlag) {
        let mut seen = 0;
        while !shutdown.is_set() {
            match self.read(readers) {
                Ok(PAGE) => continue,
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "cannot follow the log"),
            }
            if shutdown.wait_for(READ_INTERVAL) {
                return;
            }
            seen = commits.wait(seen, POLL_INTERVAL);
        }
    }

    /// Reads a page and hands it to the subscribers. Returns the number of events read.
    fn read(&mut self, readers: &ReadPool) -> belay_store::Result<usize> {
        let store = readers.get()?;
        // Before the subscribers are asked. The other way round, one that begins to want something in between would miss
        // what was committed after that.
        let newest = newest_position(&*store)?;
        let after = *self.position.get_or_insert(newest);
        let wanted: Vec<EventKinds> = self.subscribers.iter().map(|subscriber| subscriber.kinds()).collect();
        let Some(kinds) = all_kinds(&wanted).filter(|_| newest > after) else {
            // Also backwards: the newest events may have been deleted.
            self.position = Some(newest);
            return Ok(0);
        };
        let query = EventQuery {
            after: Some(after),
            before: Some(newest.saturating_add(1)),
            kinds,
            limit: PAGE,
            ..EventQuery::default()
        };
        let entries: Vec<LogEntry> = store.events(&query)?.into_iter().map(LogEntry::from).collect();
        drop(store);
        let last = entries.last().filter(|_| entries.len() == PAGE).map(|entry| position(entry.row()));
        self.position = Some(last.unwrap_or(newest));
        for (subscriber, kinds) in self.subscribers.iter().zip(wanted) {
            let own: Vec<&LogEntry> = entries.iter().filter(|entry| kinds.contain(&entry.row.kind)).collect();
            // A panic of one must not end the thread for all.
            if !own.is_empty() && catch_unwind(AssertUnwindSafe(|| subscriber.on_events(&own))).is_err() {
                tracing::error!("a subscriber of the log panicked");
            }
        }
        Ok(entries.len())
    }
}

/// The kinds to read, where an empty list selects all; `None` if nobody wants any.
fn all_kinds(wanted: &[EventKinds]) -> Option<Vec<String>> {
    let mut kinds: Vec<&str> = Vec::new();
    for wanted in wanted {
        match wanted {
            EventKinds::None => {}
            EventKinds::Only(more) => kinds.extend(*more),
            EventKinds::All => return Some(Vec::new()),
        }
    }
    (!kinds.is_empty()).then(|| kinds.into_iter().map(str::to_owned).collect())
}

/// Position of an event in the log.
pub(crate) fn position(row: &EventRow) -> u64 {
    u64::try_from(row.ord).unwrap_or(0)
}

/// Position of the newest event in the log.
pub(crate) fn newest_position(store: &dyn Store) -> belay_store::Result<u64> {
    let query = EventQuery { order: Order::Last, limit: 1, ..EventQuery::default() };
    Ok(store.events(&query)?.last().map_or(0, position))
}

#[cfg(test)]
mod tests;
