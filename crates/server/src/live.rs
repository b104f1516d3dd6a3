//! The live stream: which session changed. A page fetches what it shows of that session by itself.
//!
//! While clients listen, the follower of the log hands over what was committed ([`crate::follower`]). It is broadcast as
//! one batch: the newest event of each session, written once for all clients. Every client has a bounded queue; a client
//! that falls behind is told to reload.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use belay_clock::now;
use belay_core::Timestamp;
use belay_store::{EventQuery, EventRow, Store};
use serde::Serialize;
use tokio::sync::broadcast;

use crate::follower::{self, EventKinds, LogEntry, LogSubscriber};
use crate::state::DaemonState;

/// Batches that a client may be behind.
const QUEUE_LENGTH: usize = 64;

/// Events after which a client that was away reloads instead of reading what it missed.
const MAX_REPLAY: usize = 512;

/// Maximum number of clients, unless there are few connections. A browser needs one for all of its tabs.
const MAX_CLIENTS: usize = 256;

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
            position: follower::position(row),
            session: row.session.to_string(),
            seq: row.seq,
            kind: row.kind.clone(),
            at: row.at,
        }
    }
}

/// Changes that are sent together.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveBatch {
    /// The newest event of each session, in the order of the log.
    notices: Arc<[LiveNotice]>,
    /// All of them as server-sent events.
    text: Bytes,
}

impl LiveBatch {
    fn new(notices: Vec<LiveNotice>) -> Self {
        let mut newest: HashMap<&str, u64> = HashMap::new();
        for notice in &notices {
            newest.insert(&notice.session, notice.position);
        }
        let notices: Arc<[LiveNotice]> =
            notices.iter().filter(|notice| newest[&*notice.session] == notice.position).cloned().collect();
        Self { text: as_events(&*notices), notices }
    }

    /// Position of the newest event, unless the batch is about something else.
    pub(crate) fn position(&self) -> Option<u64> {
        self.notices.last().map(|notice| notice.position).filter(|position| *position > 0)
    }

    /// The changes after a position as server-sent events, or those of one session; may be empty.
    pub(crate) fn text(&self, after: u64, session: Option<&str>) -> Bytes {
        let is_wanted = |notice: &LiveNotice| {
            (notice.position == 0 || notice.position > after) && session.is_none_or(|session| session == notice.session)
        };
        if self.notices.iter().all(is_wanted) {
            return self.text.clone();
        }
        as_events(self.notices.iter().filter(|notice| is_wanted(notice)))
    }
}

fn as_events<'n>(notices: impl IntoIterator<Item = &'n LiveNotice>) -> Bytes {
    let mut text = String::new();
    for notice in notices {
        if notice.position > 0 {
            let _ = writeln!(text, "id: {}", notice.position);
        }
        // JSON has no line breaks.
        let _ = write!(text, "event: change\ndata: {}\n\n", serde_json::to_string(notice).unwrap_or_default());
    }
    text.into()
}

/// Distributes changes to clients.
#[derive(Debug)]
pub(crate) struct LiveHub {
    sender: broadcast::Sender<LiveBatch>,
    clients: AtomicUsize,
    max_clients: usize,
}

impl LiveHub {
    /// Streams take at most half of the connections, so that agents can always use the rest.
    pub(crate) fn new(max_connections: usize) -> Self {
        Self {
            sender: broadcast::channel(QUEUE_LENGTH).0,
            clients: AtomicUsize::new(0),
            max_clients: MAX_CLIENTS.min(max_connections / 2),
        }
    }

    /// Notifies clients about a change that is not in the log.
    pub(crate) fn notify(&self, kind: &str) {
        self.notify_about("", kind);
    }

    /// Whether anybody listens.
    pub(crate) fn has_clients(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Notifies clients about a change of something that is not in the log, such as `review:ID`.
    pub(crate) fn notify_about(&self, what: &str, kind: &str) {
        let notice = LiveNotice { position: 0, session: what.to_owned(), seq: 0, kind: kind.to_owned(), at: now() };
        // Without a receiver nobody misses it.
        let _ = self.sender.send(LiveBatch::new(vec![notice]));
    }
}

/// A client's subscription. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct LiveSubscription {
    pub(crate) batches: broadcast::Receiver<LiveBatch>,
    state: Arc<DaemonState>,
}

impl Drop for LiveSubscription {
    fn drop(&mut self) {
        self.state.lifecycle.mark_active();
        self.state.live.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Subscribes a client. `None` if there are too many.
pub(crate) fn subscribe(state: &Arc<DaemonState>) -> Option<LiveSubscription> {
    let hub = &state.live;
    if hub.clients.fetch_add(1, Ordering::Relaxed) >= hub.max_clients {
        hub.clients.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    Some(LiveSubscription { batches: hub.sender.subscribe(), state: Arc::clone(state) })
}

/// What happened after a position, or `None` if that is too much: the client has to reload.
pub(crate) fn replay(store: &dyn Store, after: u64) -> belay_store::Result<Option<LiveBatch>> {
    let query = EventQuery { after: Some(after), limit: MAX_REPLAY + 1, ..EventQuery::default() };
    let rows = store.events(&query)?;
    Ok((rows.len() <= MAX_REPLAY).then(|| LiveBatch::new(rows.iter().map(LiveNotice::from).collect())))
}

/// Broadcasts committed events while clients listen.
pub(crate) struct LiveFeed(pub(crate) Arc<DaemonState>);

impl LogSubscriber for LiveFeed {
    fn kinds(&self) -> EventKinds {
        match self.0.live.has_clients() {
            true => EventKinds::All,
            false => EventKinds::None,
        }
    }

    fn on_events(&self, events: &[&LogEntry]) {
        let notices = events.iter().map(|entry| LiveNotice::from(entry.row())).collect();
        // Without a receiver nobody misses it.
        let _ = self.0.live.sender.send(LiveBatch::new(notices));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(position: u64, session: &str) -> LiveNotice {
        LiveNotice {
            position,
            session: session.to_owned(),
            seq: position,
            kind: "note".to_owned(),
            at: Timestamp::from_millis(0),
        }
    }

    fn ids(text: &Bytes) -> Vec<u64> {
        let text = std::str::from_utf8(text).unwrap();
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
    }

    #[test]
    fn a_batch_names_each_session_once_with_its_newest_event() {
        let batch = LiveBatch::new(vec![notice(3, "a"), notice(4, "b"), notice(5, "a"), notice(7, "c")]);
        assert_eq!(ids(&batch.text(0, None)), [4, 5, 7]);
        assert_eq!(batch.position(), Some(7));
        assert_eq!(ids(&batch.text(4, None)), [5, 7], "the client knows the first four");
        assert_eq!(ids(&batch.text(0, Some("a"))), [5]);
        assert!(batch.text(0, Some("d")).is_empty());
    }

    #[test]
    fn all_clients_share_the_bytes_of_a_batch() {
        let batch = LiveBatch::new(vec![notice(3, "a"), notice(4, "b")]);
        assert_eq!(batch.text(0, None).as_ptr(), batch.clone().text(2, None).as_ptr());
    }

    #[test]
    fn a_change_outside_of_the_log_reaches_clients_at_any_position() {
        let batch = LiveBatch::new(vec![notice(0, "")]);
        assert_eq!(batch.position(), None);
        assert!(batch.text(99, None).starts_with(b"event: change\n"));
    }
}
