//! The live stream: which session changed. A page fetches what it shows of that session by itself.
//!
//! One thread follows the log while clients listen, and broadcasts a notice per event. Every client has a bounded queue; a
//! client that falls behind is told to reload. None of this is on the path of a decision: the thread reads committed
//! events with a reader of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belay_clock::now;
use belay_core::Timestamp;
use belay_store::{EventQuery, EventRow, Order, Store};
use serde::Serialize;
use tokio::sync::broadcast;

use crate::state::DaemonState;
use crate::sync::lock;

/// Notices that a client may be behind.
const QUEUE_LENGTH: usize = 512;

/// Maximum number of clients. A browser needs one for all of its tabs.
pub(crate) const MAX_CLIENTS: usize = 256;

/// Commits of other processes do not notify this one, so the store is also polled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Events read at a time.
const BATCH: usize = 500;

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct LiveNotice {
    /// Position in the log; the id of the server-sent event. 0 if the change is not in the log.
    #[serde(skip)]
    pub(crate) position: u64,
    /// `agent:native-id`.
    pub(crate) session: String,
    /// Sequence number in its session.
    pub(crate) seq: u64,
    /// Kind of the event.
    pub(crate) kind: String,
    pub(crate) at: Timestamp,
}

impl From<&EventRow> for LiveNotice {
    fn from(row: &EventRow) -> Self {
        Self {
            position: u64::try_from(row.ord).unwrap_or(0),
            session: row.session.to_string(),
            seq: row.seq,
            kind: row.kind.clone(),
            at: row.at,
        }
    }
}

/// Distributes notices to clients.
#[derive(Debug)]
pub(crate) struct LiveHub {
    sender: broadcast::Sender<LiveNotice>,
    clients: AtomicUsize,
    /// Whether the thread runs.
    following: Mutex<bool>,
}

impl Default for LiveHub {
    fn default() -> Self {
        Self { sender: broadcast::channel(QUEUE_LENGTH).0, clients: AtomicUsize::new(0), following: Mutex::new(false) }
    }
}

impl LiveHub {
    /// Tells clients about a change that is not in the log.
    pub(crate) fn tell(&self, kind: &str) {
        let notice = LiveNotice { position: 0, session: String::new(), seq: 0, kind: kind.to_owned(), at: now() };
        // Without a receiver nobody misses it.
        let _ = self.sender.send(notice);
    }
}

/// A client's subscription. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct LiveSubscription {
    pub(crate) notices: broadcast::Receiver<LiveNotice>,
    state: Arc<DaemonState>,
}

impl Drop for LiveSubscription {
    fn drop(&mut self) {
        self.state.live.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Subscribes a client. `None` if there are too many.
pub(crate) fn subscribe(state: &Arc<DaemonState>) -> Option<LiveSubscription> {
    let hub = &state.live;
    if hub.clients.fetch_add(1, Ordering::Relaxed) >= MAX_CLIENTS {
        hub.clients.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    let subscription = LiveSubscription { notices: hub.sender.subscribe(), state: Arc::clone(state) };
    let mut following = lock(&hub.following);
    if !*following {
        let state = Arc::clone(state);
        let thread = std::thread::Builder::new().name("live".to_owned()).spawn(move || follow(&state));
        *following =
            thread.map_err(|error| tracing::warn!(%error, "cannot follow the log for the live stream")).is_ok();
    }
    Some(subscription)
}

/// Position of the newest event in the log.
pub(crate) fn newest_position(store: &dyn Store) -> belay_store::Result<u64> {
    let query = EventQuery { order: Order::Last, limit: 1, ..EventQuery::default() };
    Ok(store.events(&query)?.last().map_or(0, |row| u64::try_from(row.ord).unwrap_or(0)))
}

/// The notices after a position, or `None` if there are more than a queue holds: the client has to reload.
pub(crate) fn replay(store: &dyn Store, after: u64) -> belay_store::Result<Option<Vec<LiveNotice>>> {
    let query = EventQuery { after: Some(after), limit: QUEUE_LENGTH + 1, ..EventQuery::default() };
    let rows = store.events(&query)?;
    Ok((rows.len() <= QUEUE_LENGTH).then(|| rows.iter().map(LiveNotice::from).collect()))
}

/// Broadcasts what is committed until no client is left.
fn follow(state: &DaemonState) {
    let mut position = None;
    let mut seen = 0;
    while !state.lifecycle.shutdown.is_set() {
        {
            let mut following = lock(&state.live.following);
            if state.live.sender.receiver_count() == 0 {
                *following = false;
                return;
            }
        }
        state.lifecycle.mark_active();
        match broadcast_new(state, &mut position) {
            Ok(BATCH) => continue,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot read the log for the live stream"),
        }
        seen = state.decisions.committer.commits().wait(seen, POLL_INTERVAL);
    }
}

fn broadcast_new(state: &DaemonState, position: &mut Option<u64>) -> belay_store::Result<usize> {
    let store = state.readers.get()?;
    let after = match *position {
        Some(after) => after,
        None => newest_position(&*store)?,
    };
    *position = Some(after);
    let rows = store.events(&EventQuery { after: Some(after), limit: BATCH, ..EventQuery::default() })?;
    for notice in rows.iter().map(LiveNotice::from) {
        *position = Some(notice.position);
        // Without a receiver nobody misses it.
        let _ = state.live.sender.send(notice);
    }
    Ok(rows.len())
}
