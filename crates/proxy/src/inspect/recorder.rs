//! From the relay to the judge, without holding up either.
//!
//! Notes are written into a queue while bytes pass; a thread of its own turns them into events and
//! hands them over, many at a time. Whoever waits for a verdict makes it hurry.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use belay_core::{Event, SessionKey, Timestamp, Verdict};
use tokio::sync::{Notify, oneshot};

use super::answer::ResponseSummary;
use super::events::RequestRecord;
use super::inspection::Passage;
use super::news::NewMessageBytes;
use crate::supervisor::Supervisor;

/// How long notes are collected before they are handed over.
const BATCH_DELAY: Duration = Duration::from_millis(10);
/// How long while they come thick: a commit costs as much as several notes.
const LONG_LINGER: Duration = Duration::from_millis(50);
/// So many notes at once are thick: more requests than an agent makes in the time, whatever it does.
const THICK: usize = 6;
/// So many bytes of notes may wait before requests do, too.
const BACKPRESSURE_BYTES: usize = 8 * 1024 * 1024;
/// How long a request waits for the notes of others.
const BACKPRESSURE_TIMEOUT: Duration = Duration::from_millis(100);
/// Most bytes of notes that wait. Beyond that they are dropped and counted: the agent goes on.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;
/// Most notes taken at once.
const MAX_BATCH_RECORDS: usize = 256;
/// Most events handed over at once. What comes in while notes are collected should fit: to hand it over in two pieces is to
/// write the hot pages of the store twice.
const MAX_BATCH_EVENTS: usize = 4 * MAX_BATCH_RECORDS;
/// Most rooms that are kept for bodies to come.
const ROOMS: usize = 128;

/// One thing to be recorded.
#[derive(Debug)]
pub(crate) enum Record {
    /// A request left the agent.
    Asked { asked: Arc<RequestRecord>, news: Option<NewMessageBytes>, verdict: Option<oneshot::Sender<Verdict>> },
    /// An answer came, or none.
    Answered(Box<ResponseRecord>),
    /// An answer that nobody has looked at yet, and maybe its request.
    Passed(Box<Passage>),
    /// Somebody wants to know when all before this is handed over.
    Flush(Sender<()>),
    /// A nudge went along with a request.
    Delivered { asked: Arc<RequestRecord>, finding: String, at: Timestamp },
}

/// What came of a request.
#[derive(Debug)]
pub(crate) struct ResponseRecord {
    pub(super) asked: Arc<RequestRecord>,
    pub(super) answered: ResponseSummary,
    /// The output degenerated.
    pub(super) chanting: bool,
    /// What there is to say about an answer that was cut off.
    pub(super) saved: Option<String>,
    pub(super) at: Timestamp,
}

/// The queue. Whoever drops it waits until everything is handed over.
#[derive(Debug)]
pub(crate) struct Recorder(Arc<RecorderShared>, Option<JoinHandle<()>>);

#[derive(Debug, Default)]
struct RecorderShared {
    queue: Mutex<Queue>,
    bell: Condvar,
    /// Rings when few notes wait.
    room: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    notes: VecDeque<Record>,
    bytes: usize,
    dropped: u64,
    urgent: bool,
    /// The thread is collecting; it needs no bell.
    awake: bool,
    closed: bool,
    /// Sessions whose answers are just being handed over.
    in_hand: Vec<SessionKey>,
    /// Room of bodies that have been read. It was filled by one thread and would be given back by another, which is the
    /// slow way through an allocator.
    rooms: Vec<Vec<u8>>,
}

impl RecorderShared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    pub(crate) fn start(judge: Arc<dyn Supervisor>) -> std::io::Result<Self> {
        let shared = Arc::new(RecorderShared::default());
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(move || run(&worker, &*judge))?;
        Ok(Self(shared, Some(thread)))
    }

    pub(crate) fn push(&self, note: Record) {
        let bytes = note.weight();
        let urgent = matches!(&note, Record::Asked { verdict: Some(_), .. } | Record::Flush(_));
        let mut queue = self.0.lock();
        if queue.bytes + bytes > MAX_QUEUED_BYTES && !urgent {
            queue.dropped += 1;
            return;
        }
        queue.bytes += bytes;
        queue.urgent |= urgent;
        queue.notes.push_back(note);
        if urgent || !queue.awake || queue.notes.len() == MAX_BATCH_RECORDS {
            queue.awake = true;
            drop(queue);
            self.0.bell.notify_one();
        }
    }

    /// Room for a body.
    pub(crate) fn room(&self) -> Vec<u8> {
        self.0.lock().rooms.pop().unwrap_or_default()
    }

    /// Whether an answer of this session waits to be handed over, or is just being.
    pub(crate) fn has_pending_response(&self, session: &SessionKey) -> bool {
        let of_it = |note: &Record| match note {
            Record::Answered(answer) => answer.asked.session == *session,
            Record::Passed(passed) => passed.belongs_to(session),
            _ => false,
        };
        let queue = self.0.lock();
        queue.in_hand.contains(session) || queue.notes.iter().any(of_it)
    }

    /// Whether an answer of any session does.
    pub(crate) fn has_any_pending_response(&self) -> bool {
        let queue = self.0.lock();
        !queue.in_hand.is_empty() || queue.notes.iter().any(Record::is_answer)
    }

    /// Waits while more is noted than can be handed over, for a moment at most: the queue should not run over.
    pub(crate) async fn wait_for_capacity(&self) {
        let is_behind = || self.0.lock().bytes > BACKPRESSURE_BYTES;
        if is_behind() {
            let room = self.0.room.notified();
            // There may be room since the first look; then nobody would ring.
            if is_behind() {
                let _ = tokio::time::timeout(BACKPRESSURE_TIMEOUT, room).await;
            }
        }
    }

    /// Waits until everything noted so far is handed over, for so long at most.
    pub(crate) fn flush(&self, patience: Duration) {
        let (settled, wait) = channel();
        self.push(Record::Flush(settled));
        let _ = wait.recv_timeout(patience);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.bell.notify_one();
        if self.1.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the recorder panicked");
        }
    }
}

impl Record {
    fn is_answer(&self) -> bool {
        matches!(self, Self::Answered(_) | Self::Passed(_))
    }

    fn weight(&self) -> usize {
        512 + match self {
            Self::Asked { news, .. } => news.as_ref().map_or(0, NewMessageBytes::size),
            Self::Answered(answer) => answer.answered.text.len(),
            Self::Passed(passed) => passed.len(),
            Self::Delivered { .. } | Self::Flush(_) => 0,
        }
    }
}

fn run(shared: &RecorderShared, judge: &dyn Supervisor) {
    let mut linger = BATCH_DELAY;
    while let Some(notes) = collect(shared, linger) {
        linger = if notes.len() >= THICK { LONG_LINGER } else { BATCH_DELAY };
        let mut batch = Batch::default();
        let mut notes = notes.into_iter();
        while let Some(note) = notes.next() {
            if batch.events.is_empty() {
                // Most notes make a few events, which are large: room that grows by and by would have them copied again.
                batch.events.reserve(MAX_BATCH_EVENTS.min(4 + 4 * notes.len()));
            }
            // A fault of ours over one request must not be the end of all recording.
            let before = batch.events.len();
            if catch_unwind(AssertUnwindSafe(|| batch.add(note))).is_err() {
                batch.events.truncate(before);
                tracing::error!("what passed could not be read and is not recorded; please report this");
            }
            if batch.events.len() >= MAX_BATCH_EVENTS {
                batch.hand_over(judge);
            }
        }
        batch.hand_over(judge);
        let mut queue = shared.lock();
        queue.in_hand.clear();
        let most = ROOMS.saturating_sub(queue.rooms.len());
        queue.rooms.extend(batch.rooms.drain(..).take(most));
        drop(queue);
        for settled in batch.settled {
            // Whoever asked may have run out of patience.
            let _ = settled.send(());
        }
    }
}

/// Waits for notes, collects them for a while, and takes as many as one batch needs; `None` at the end.
fn collect(shared: &RecorderShared, linger: Duration) -> Option<Vec<Record>> {
    let mut queue = shared.lock();
    while queue.notes.is_empty() {
        if queue.closed {
            return None;
        }
        queue.awake = false;
        queue = shared.bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    let may_wait = |queue: &mut Queue| !queue.urgent && !queue.closed && queue.notes.len() < MAX_BATCH_RECORDS;
    let waited = shared.bell.wait_timeout_while(queue, linger, may_wait);
    let mut queue = waited.unwrap_or_else(PoisonError::into_inner).0;
    if queue.dropped > 0 {
        tracing::error!(notes = queue.dropped, "facts were lost: the store cannot keep up");
        queue.dropped = 0;
    }
    let before = queue.bytes;
    let mut notes = Vec::with_capacity(queue.notes.len().min(MAX_BATCH_RECORDS));
    while let Some(note) = queue.notes.pop_front() {
        queue.bytes -= note.weight();
        notes.push(note);
        // What is in hand is memory, too.
        if notes.len() == MAX_BATCH_RECORDS || before - queue.bytes > BACKPRESSURE_BYTES / 2 {
            break;
        }
    }
    if queue.notes.is_empty() {
        // The room of a crowd goes back.
        queue.notes.shrink_to(MAX_BATCH_RECORDS);
        queue.urgent = false;
    }
    if before > BACKPRESSURE_BYTES && queue.bytes <= BACKPRESSURE_BYTES {
        shared.room.notify_waiters();
    }
    queue.in_hand.clear();
    for note in &notes {
        let session = match note {
            Record::Answered(answer) => Some(&answer.asked.session),
            Record::Passed(passed) => passed.look.session(),
            _ => None,
        };
        // Those of one session come in rows.
        if session.is_some() && queue.in_hand.last() != session {
            queue.in_hand.extend(session.cloned());
        }
    }
    Some(notes)
}

/// Events on their way, and who waits for the verdict on which of them.
#[derive(Default)]
struct Batch {
    events: Vec<Event>,
    waiting: Vec<(usize, oneshot::Sender<Verdict>)>,
    rooms: Vec<Vec<u8>>,
    settled: Vec<Sender<()>>,
}

impl Batch {
    fn add(&mut self, note: Record) {
        match note {
            Record::Asked { asked, news, verdict } => self.ask(&asked, news, verdict),
            Record::Answered(answer) => self.answer(*answer),
            Record::Passed(passed) => {
                let (question, answer) = passed.read();
                if let Some((asked, news)) = question {
                    self.ask(&asked, news, None);
                }
                if let Some(answer) = answer {
                    self.answer(answer);
                }
            }
            Record::Flush(settled) => self.settled.push(settled),
            Record::Delivered { asked, finding, at } => self.events.push(asked.nudge_delivered_event(finding, at)),
        }
    }

    fn ask(&mut self, asked: &RequestRecord, news: Option<NewMessageBytes>, verdict: Option<oneshot::Sender<Verdict>>) {
        if news.as_ref().is_some_and(NewMessageBytes::is_new_conversation) {
            self.events.push(asked.session_started_event());
        }
        let before = self.events.len();
        let tail = news.as_ref().and_then(|news| asked.events_from_messages(news.messages(), &mut self.events));
        self.rooms.extend(news.and_then(NewMessageBytes::into_room));
        let question = asked.model_asked_event(tail);
        match verdict {
            // What the request tells counts for the verdict on it.
            Some(verdict) => {
                self.waiting.push((self.events.len(), verdict));
                self.events.push(question);
            }
            // It has gone: what follows from what it tells is for the next one.
            None => self.events.insert(before, question),
        }
    }

    fn answer(&mut self, ResponseRecord { asked, answered, chanting, saved, at }: ResponseRecord) {
        asked.push_response_events(answered, chanting, at, &mut self.events);
        self.events.extend(saved.map(|saved| asked.note_event(&saved, at)));
    }

    fn hand_over(&mut self, judge: &dyn Supervisor) {
        if self.events.is_empty() {
            return;
        }
        let events = std::mem::take(&mut self.events);
        // Without the recorder whoever waits for a verdict, then or later, would wait for ever.
        let mut verdicts = catch_unwind(AssertUnwindSafe(|| judge.observe(events))).unwrap_or_else(|_| {
            tracing::error!("what passed could not be judged and may not be recorded; please report this");
            Vec::new()
        });
        for (index, waiting) in self.waiting.drain(..) {
            // Without a verdict the question is dropped, and whoever asked goes by what they know.
            if let Some(verdict) = verdicts.get_mut(index).map(std::mem::take) {
                // They may have gone.
                let _ = waiting.send(verdict);
            }
        }
    }
}

#[cfg(test)]
mod tests;
