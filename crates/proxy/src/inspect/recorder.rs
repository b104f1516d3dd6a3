//! The queue between the relay and the supervisor.
//!
//! Exchanges push records without waiting. A thread turns them into events and passes them to the supervisor in batches.
//! A record with a pending verdict skips the batch delay.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use belay_core::{Event, SessionKey, Timestamp, Verdict};
use tokio::sync::{Notify, oneshot};

use super::events::RequestRecord;
use super::history::NewMessageBytes;
use super::wire::ResponseSummary;
use crate::supervisor::Supervisor;
use crate::sync::lock;

/// How long records are collected before they are passed on.
const BATCH_DELAY: Duration = Duration::from_millis(10);
/// Queued bytes above which new requests wait.
const BACKPRESSURE_BYTES: usize = 8 * 1024 * 1024;
/// How long a request waits for the queue to shrink.
const BACKPRESSURE_TIMEOUT: Duration = Duration::from_millis(100);
/// Queued bytes above which records are dropped and counted. The agent continues.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;
const MAX_BATCH_RECORDS: usize = 256;
/// Large enough for the events of a typical batch: two transactions would write the hot pages of the store twice.
const MAX_BATCH_EVENTS: usize = 4 * MAX_BATCH_RECORDS;

#[derive(Debug)]
pub(crate) enum Record {
    /// A request was sent, or waits for a verdict.
    Request {
        request: Arc<RequestRecord>,
        new_messages: Option<NewMessageBytes>,
        verdict: Option<oneshot::Sender<Verdict>>,
    },
    /// A response ended, failed or was interrupted.
    Response(Box<ResponseRecord>),
    /// A request carries a nudge.
    NudgeDelivered { request: Arc<RequestRecord>, finding: String, at: Timestamp },
    /// Signals when all earlier records are passed on.
    Flush(Sender<()>),
}

/// The result of a request.
#[derive(Debug)]
pub(crate) struct ResponseRecord {
    pub(super) request: Arc<RequestRecord>,
    pub(super) summary: ResponseSummary,
    /// The output repeats itself.
    pub(super) degenerate: bool,
    /// Why Belay cut the response, if it did.
    pub(super) note: Option<String>,
    pub(super) at: Timestamp,
}

/// Dropping it waits until every record is passed on.
#[derive(Debug)]
pub(crate) struct Recorder {
    shared: Arc<RecorderShared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct RecorderShared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Notified when the queue shrinks below [`BACKPRESSURE_BYTES`].
    capacity: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    records: VecDeque<Record>,
    bytes: usize,
    dropped: u64,
    /// A record must not wait for the batch delay.
    urgent: bool,
    /// The thread is collecting and needs no wake-up.
    awake: bool,
    closed: bool,
    /// Sessions whose responses are being passed on.
    in_flight: Vec<SessionKey>,
}

impl RecorderShared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }
}

impl Recorder {
    pub(crate) fn start(supervisor: Arc<dyn Supervisor>) -> std::io::Result<Self> {
        let shared = Arc::new(RecorderShared::default());
        let worker = Arc::clone(&shared);
        let run = move || run(&worker, &*supervisor);
        let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(run)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(crate) fn push(&self, record: Record) {
        let bytes = record.size();
        let urgent = matches!(&record, Record::Request { verdict: Some(_), .. } | Record::Flush(_));
        let mut queue = self.shared.lock();
        if queue.bytes + bytes > MAX_QUEUED_BYTES && !urgent {
            queue.dropped += 1;
            return;
        }
        queue.bytes += bytes;
        queue.urgent |= urgent;
        queue.records.push_back(record);
        if urgent || !queue.awake || queue.records.len() == MAX_BATCH_RECORDS {
            queue.awake = true;
            drop(queue);
            self.shared.wake.notify_one();
        }
    }

    /// Whether a response of this session is queued or being passed on.
    pub(crate) fn has_pending_response(&self, session: &SessionKey) -> bool {
        let queue = self.shared.lock();
        queue.in_flight.contains(session)
            || queue.records.iter().any(|record| record.responding_session() == Some(session))
    }

    /// Whether a response of any session is queued or being passed on.
    pub(crate) fn has_any_pending_response(&self) -> bool {
        let queue = self.shared.lock();
        !queue.in_flight.is_empty() || queue.records.iter().any(|record| record.responding_session().is_some())
    }

    /// Waits briefly while the queue is long.
    pub(crate) async fn wait_for_capacity(&self) {
        let is_long = || self.shared.lock().bytes > BACKPRESSURE_BYTES;
        if is_long() {
            let capacity = self.shared.capacity.notified();
            // The queue may have shrunk before the notification was registered.
            if is_long() {
                let _ = tokio::time::timeout(BACKPRESSURE_TIMEOUT, capacity).await;
            }
        }
    }

    /// Waits until every record so far is passed on, or until the timeout.
    pub(crate) fn flush(&self, timeout: Duration) {
        let (flushed, wait) = channel();
        self.push(Record::Flush(flushed));
        let _ = wait.recv_timeout(timeout);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_one();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the recorder panicked");
        }
    }
}

impl Record {
    fn responding_session(&self) -> Option<&SessionKey> {
        match self {
            Self::Response(response) => Some(&response.request.session),
            _ => None,
        }
    }

    fn size(&self) -> usize {
        512 + match self {
            Self::Request { new_messages, .. } => new_messages.as_ref().map_or(0, NewMessageBytes::size),
            Self::Response(response) => response.summary.text.len(),
            Self::NudgeDelivered { .. } | Self::Flush(_) => 0,
        }
    }
}

fn run(shared: &RecorderShared, supervisor: &dyn Supervisor) {
    while let Some(records) = collect(shared) {
        let mut batch = Batch::default();
        for record in records {
            // A fault over one request must not end all recording.
            let before = batch.events.len();
            if catch_unwind(AssertUnwindSafe(|| batch.add(record))).is_err() {
                batch.events.truncate(before);
                tracing::error!("a request could not be recorded because of a bug in Belay; please report it");
            }
            if batch.events.len() >= MAX_BATCH_EVENTS {
                batch.pass_on(supervisor);
            }
        }
        batch.pass_on(supervisor);
        shared.lock().in_flight.clear();
        for flushed in batch.flushed {
            // The caller may have timed out.
            let _ = flushed.send(());
        }
    }
}

/// Waits for records and takes as many as one batch holds. `None` after the queue was closed.
fn collect(shared: &RecorderShared) -> Option<Vec<Record>> {
    let mut queue = shared.lock();
    while queue.records.is_empty() {
        if queue.closed {
            return None;
        }
        queue.awake = false;
        queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    let may_wait = |queue: &mut Queue| !queue.urgent && !queue.closed && queue.records.len() < MAX_BATCH_RECORDS;
    let waited = shared.wake.wait_timeout_while(queue, BATCH_DELAY, may_wait);
    let mut queue = waited.unwrap_or_else(PoisonError::into_inner).0;
    if queue.dropped > 0 {
        tracing::error!(records = queue.dropped, "records were dropped: the store cannot keep up");
        queue.dropped = 0;
    }
    let before = queue.bytes;
    let mut records = Vec::with_capacity(queue.records.len().min(MAX_BATCH_RECORDS));
    while let Some(record) = queue.records.pop_front() {
        queue.bytes -= record.size();
        records.push(record);
        // The batch occupies memory as well.
        if records.len() == MAX_BATCH_RECORDS || before - queue.bytes > BACKPRESSURE_BYTES / 2 {
            break;
        }
    }
    if queue.records.is_empty() {
        queue.records.shrink_to(MAX_BATCH_RECORDS);
        queue.urgent = false;
    }
    if before > BACKPRESSURE_BYTES && queue.bytes <= BACKPRESSURE_BYTES {
        shared.capacity.notify_waiters();
    }
    queue.in_flight = records.iter().filter_map(Record::responding_session).cloned().collect();
    queue.in_flight.dedup();
    Some(records)
}

/// Events to pass on, and the verdicts that requests wait for.
#[derive(Default)]
struct Batch {
    events: Vec<Event>,
    /// Each with the index of its event.
    verdicts: Vec<(usize, oneshot::Sender<Verdict>)>,
    flushed: Vec<Sender<()>>,
}

impl Batch {
    fn add(&mut self, record: Record) {
        match record {
            Record::Request { request, new_messages, verdict } => self.add_request(&request, new_messages, verdict),
            Record::Response(response) => {
                let ResponseRecord { request, summary, degenerate, note, at } = *response;
                request.push_response_events(summary, degenerate, at, &mut self.events);
                self.events.extend(note.map(|note| request.note_event(&note, at)));
            }
            Record::NudgeDelivered { request, finding, at } => {
                self.events.push(request.nudge_delivered_event(finding, at));
            }
            Record::Flush(flushed) => self.flushed.push(flushed),
        }
    }

    fn add_request(
        &mut self,
        request: &RequestRecord,
        new_messages: Option<NewMessageBytes>,
        verdict: Option<oneshot::Sender<Verdict>>,
    ) {
        if new_messages.as_ref().is_some_and(NewMessageBytes::is_new_conversation) {
            self.events.push(request.session_started_event());
        }
        let before = self.events.len();
        let tail = new_messages.and_then(|new| request.events_from_messages(new.messages(), &mut self.events));
        let asked = request.model_asked_event(tail);
        match verdict {
            // The messages count for the verdict on the request that carries them.
            Some(verdict) => {
                self.verdicts.push((self.events.len(), verdict));
                self.events.push(asked);
            }
            // The request has been sent: its messages count for the next one.
            None => self.events.insert(before, asked),
        }
    }

    fn pass_on(&mut self, supervisor: &dyn Supervisor) {
        if self.events.is_empty() {
            return;
        }
        let events = std::mem::take(&mut self.events);
        // The recorder must survive a panic: otherwise requests would wait for their verdicts forever.
        let mut verdicts = catch_unwind(AssertUnwindSafe(|| supervisor.observe(events))).unwrap_or_else(|_| {
            tracing::error!("events may be lost because of a bug in Belay; please report it");
            Vec::new()
        });
        for (index, waiter) in self.verdicts.drain(..) {
            // Without a verdict the sender is dropped and the request uses its fallback.
            if let Some(verdict) = verdicts.get_mut(index).map(std::mem::take) {
                // The request may be gone.
                let _ = waiter.send(verdict);
            }
        }
    }
}

#[cfg(test)]
mod tests;
