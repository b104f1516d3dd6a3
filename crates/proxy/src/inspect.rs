//! Looking at what passes, without standing in its way.
//!
//! A [`Turn`] goes along with one request and its answer. Before the last piece of the request is
//! let go, it only answers from memory whether the session is held. The request is looked at when its
//! upstream takes its time over it, and from then on its answer as it passes. What is over before that
//! is looked at by the recorder: then nothing of it is in the way of the next bytes. Only a long
//! request is looked at while its answer begins, since to copy it would cost more.

mod answer;
mod content_encoding;
mod cut;
mod events;
#[cfg(fuzzing)]
mod fuzz;
mod history;
mod inspection;
mod items;
mod json_scan;
mod mint;
mod news;
mod nudge;
mod recorder;
mod request_meta;
mod session_cache;
mod session_id;
mod wire;

pub(crate) use cut::CutReason;
#[cfg(fuzzing)]
pub(crate) use fuzz::{fuzz_answer, fuzz_conversation};
pub(crate) use inspection::ResponseMeta;
pub(crate) use mint::now;
pub(crate) use request_meta::RequestMeta;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use belay_agents::wire::WireClient;
use belay_core::repetition::RepetitionRules;
use belay_core::{SessionKey, Verdict};
use tokio::sync::oneshot;

use crate::buffer_pool::MemoryCharge;
use crate::messages;
use crate::supervisor::{BoxFuture, HoldState, RemainingBudget, Supervisor};
use events::RequestRecord;
use inspection::{InspectorState, Passage, PutBy};
use mint::new_id;
use recorder::{Record, Recorder};

/// Looks at all requests.
#[derive(Debug)]
pub(crate) struct Inspector {
    eyes: Arc<InspectorState>,
    recorder: Recorder,
}

impl Inspector {
    pub(crate) fn new(judge: Arc<dyn Supervisor>, chant: Option<RepetitionRules>) -> std::io::Result<Self> {
        let recorder = Recorder::start(Arc::clone(&judge))?;
        Ok(Self { eyes: Arc::new(InspectorState::new(judge, chant)), recorder })
    }

    /// Waits until all that was looked at is told, for so long at most.
    pub(crate) fn flush(&self, patience: Duration) {
        self.recorder.flush(patience);
    }

    /// Waits a moment while more passes than can be told.
    pub(crate) async fn wait_for_capacity(&self) {
        self.recorder.wait_for_capacity().await;
    }

    /// Goes along with a request.
    pub(crate) fn start(self: &Arc<Self>, letterhead: &Arc<RequestMeta>) -> ExchangeInspection {
        let passage = Box::new(Passage::new(&self.eyes, letterhead));
        ExchangeInspection {
            inspector: Arc::clone(self),
            cleared: false,
            allowance: RemainingBudget::default(),
            passage,
        }
    }
}

/// One request and its answer, as far as they have been looked at.
#[derive(Debug)]
pub(crate) struct ExchangeInspection {
    inspector: Arc<Inspector>,
    /// A verdict let this very request go.
    cleared: bool,
    /// What the answer may cost.
    allowance: RemainingBudget,
    passage: Box<Passage>,
}

impl ExchangeInspection {
    pub(crate) fn dialect(&self) -> &'static dyn WireClient {
        self.passage.look.letterhead.who.dialect
    }

    /// The session's own id, where it is known.
    pub(crate) fn session_id(&self) -> &str {
        self.passage.look.session().map_or("", |session| &session.id)
    }

    /// Whether Loop Watchdog's answers are expected.
    pub(crate) fn is_loop_watchdog_client(&self) -> bool {
        self.passage.look.letterhead.who.legacy
    }

    /// How the session stands, for those who expect Loop Watchdog's answers.
    pub(crate) async fn loop_watchdog_status(&self) -> serde_json::Value {
        match self.passage.look.session() {
            Some(session) if self.is_loop_watchdog_client() => {
                self.inspector.eyes.judge.loop_watchdog_status(session).await
            }
            _ => serde_json::Value::Null,
        }
    }

    /// This request may go, whatever holds the session.
    pub(crate) fn grant(&mut self) {
        self.cleared = true;
    }

    /// The session was stopped after all.
    pub(crate) fn revoke_grant(&mut self) {
        self.cleared = false;
    }

    /// Whether the session is known not to be free, and not only to be asked about.
    pub(crate) fn is_blocked(&self) -> bool {
        self.standing() != HoldState::Free
    }

    /// Whether something holds the session back. Without a body only the head can tell whose it is.
    pub(crate) fn is_held(&mut self, body: Option<&[u8]>) -> bool {
        if self.cleared {
            return false;
        }
        if let Some(body) = body {
            self.passage.look.resolve_session(body);
        }
        self.standing() != HoldState::Free || self.is_unsettled()
    }

    /// Whether an answer before, of this session or of one that shares its budget, may have used up the budget, and
    /// nobody has said so yet.
    fn is_unsettled(&self) -> bool {
        let Some(session) = self.passage.look.session() else { return false };
        let Inspector { eyes, recorder } = &*self.inspector;
        let allowance = eyes.judge.remaining_budget(session, None);
        allowance.outdated
            || (allowance.shared && recorder.has_any_pending_response())
            || (allowance.is_limited() && recorder.has_pending_response(session))
    }

    /// Whoever holds a session holds its sub-agents.
    fn standing(&self) -> HoldState {
        let of = |session: &SessionKey| self.inspector.eyes.judge.hold_state(session);
        let own = self.passage.look.session().map_or(HoldState::Free, of);
        own.max(self.passage.look.letterhead.who.sender.parent.as_ref().map_or(HoldState::Free, of))
    }

    /// What is to be done where whoever judges has no answer, by a fault of ours. That stops nobody who was free to go, and
    /// undoes nobody's decision.
    pub(crate) fn fallback_verdict(&self) -> Verdict {
        let incident = String::new();
        match self.standing() {
            HoldState::Free | HoldState::MustAsk => Verdict::Go,
            HoldState::Held => Verdict::Hold {
                incident,
                reason: messages::PAUSED_FALLBACK.to_owned(),
                until: None,
                plan_required: false,
            },
            HoldState::Killed => Verdict::Stop { incident, reason: messages::KILLED_FALLBACK.to_owned() },
        }
    }

    /// Whether the session was stopped for good.
    pub(crate) fn is_killed(&self) -> bool {
        self.standing() == HoldState::Killed
    }

    /// Resolves when the session's standing may have changed.
    pub(crate) fn hold_state_changed(&self) -> BoxFuture<()> {
        self.inspector.eyes.judge.hold_state_changed()
    }

    /// Whether waiting for a person makes sense: the first time an incident holds a request back. Then
    /// the person has had their time, and whoever asks again should hear at once.
    pub(crate) fn may_hold_open(&self) -> bool {
        let Some(session) = self.passage.look.session() else { return false };
        !self.inspector.eyes.lock().refused.contains(session)
    }

    /// The request was refused.
    pub(crate) fn record_refusal(&mut self) {
        if let Some(session) = self.passage.look.session() {
            self.inspector.eyes.lock().record_refusal(session);
        }
    }

    /// Looks at the body of a request that is on its way.
    pub(crate) fn read_request(&mut self, body: Option<&[u8]>) {
        if self.passage.look.asked.is_none() {
            self.record(body, None);
        }
    }

    /// The body, unpacked, with a note for the agent in it, where that can be done.
    pub(crate) fn with_nudge(&self, body: &[u8], note: &str) -> Option<Vec<u8>> {
        let look = &self.passage.look;
        nudge::insert_nudge(look.letterhead.api, &look.decoded(body.into())?, note)
    }

    /// The note is on its way.
    pub(crate) fn record_nudge_delivery(&self, finding: &str) {
        if let Some(asked) = &self.passage.look.asked {
            let note = Record::Delivered { asked: Arc::clone(asked), finding: finding.to_owned(), at: now() };
            self.inspector.recorder.push(note);
        }
    }

    /// Looks at the body of a request that waits, and asks whether it may go. `None`: it is nobody's.
    pub(crate) fn request_verdict(&mut self, body: Option<&[u8]>) -> Option<oneshot::Receiver<Verdict>> {
        if self.passage.look.asked.is_some() {
            return self.request_verdict_again();
        }
        let (sender, receiver) = oneshot::channel();
        self.record(body, Some(sender));
        self.passage.look.asked.is_some().then_some(receiver)
    }

    /// The question once more: has a verdict changed meanwhile?
    pub(crate) fn request_verdict_again(&mut self) -> Option<oneshot::Receiver<Verdict>> {
        let asked = self.passage.look.asked.as_ref()?;
        let (sender, receiver) = oneshot::channel();
        // Asked under a new id: the same question twice would get the same answer twice.
        let mut again = RequestRecord::clone(asked);
        again.request = new_id();
        again.at = now();
        let again = Arc::new(again);
        self.passage.look.asked = Some(Arc::clone(&again));
        self.inspector.recorder.push(Record::Asked { asked: again, news: None, verdict: Some(sender) });
        Some(receiver)
    }

    fn record(&mut self, body: Option<&[u8]>, verdict: Option<oneshot::Sender<Verdict>>) {
        let held = self.is_held(body);
        if let Some((asked, news)) = self.passage.look.read_request(body.map(Cow::Borrowed), held, now()) {
            self.inspector.recorder.push(Record::Asked { asked, news, verdict });
        }
    }

    /// The answer begins, and the request has been looked at.
    pub(crate) fn start_response(&mut self, opening: &ResponseMeta, charge: MemoryCharge) {
        self.passage.look.begin(opening, charge);
        if let Some(asked) = &self.passage.look.asked {
            self.allowance = self.inspector.eyes.judge.remaining_budget(&asked.session, asked.model.as_deref());
        }
    }

    /// Whether request and answer may be put by: where there is a limit, each piece is weighed as it comes.
    pub(crate) fn may_put_by(&self) -> bool {
        let limited = |session| self.inspector.eyes.judge.remaining_budget(session, None).is_limited();
        !self.passage.look.session().is_some_and(limited)
    }

    /// The answer begins before anybody has taken the time to look: it is put by, and the request too if that is short.
    pub(crate) fn put_by(
        &mut self,
        body: Option<Cow<'_, [u8]>>,
        is_short: bool,
        opening: ResponseMeta,
        charge: MemoryCharge,
    ) {
        let body = if is_short && self.passage.look.asked.is_none() {
            body.map(|body| match body {
                Cow::Owned(body) => body,
                Cow::Borrowed(body) => {
                    let mut room = self.inspector.recorder.room();
                    room.extend_from_slice(body);
                    room
                }
            })
        } else {
            self.read_request(body.as_deref());
            None
        };
        self.passage.put_by = Some(PutBy::new(body, opening, charge));
    }

    /// Whether more was put by than should be.
    pub(crate) fn is_behind(&self) -> bool {
        self.passage.put_by.as_ref().is_some_and(PutBy::is_much)
    }

    /// Looks at what was put by of the answer, once the request has been looked at.
    pub(crate) fn catch_up(&mut self) {
        if let Some(PutBy { opening, bytes, charge, .. }) = self.passage.put_by.take() {
            self.start_response(&opening, charge);
            self.passage.look.feed(&bytes);
        }
    }

    /// The answer goes on.
    pub(crate) fn read_response(&mut self, bytes: &[u8]) {
        match &mut self.passage.put_by {
            Some(put_by) => put_by.add(bytes),
            None => self.passage.look.feed(bytes),
        }
    }

    /// The bytes that end the answer here, if it should end and can: at least so many of them. To be asked when
    /// everything that was shown has reached the agent, and to be followed by [`Turn::cut_off`] when they are used.
    pub(crate) fn cut_bytes(&mut self, at_least: usize) -> Option<(Vec<u8>, CutReason)> {
        let reader = self.passage.look.reader.as_ref()?;
        let so_far = reader.summary();
        if self.passage.look.cut.is_some() || !reader.can_be_cut() || !reader.is_at_event_boundary() {
            return None;
        }
        let why = if let Some(finding) = reader.repetition() {
            CutReason::Repetition { said: so_far.said, what: finding.what.clone() }
        } else if self.allowance.is_exceeded_by_output(so_far.output_tokens()) {
            CutReason::Budget
        } else if self.is_killed() {
            CutReason::Stopped
        } else {
            return None;
        };
        let ending = self.passage.look.reader.as_mut()?.cut_bytes(&messages::cut_text(&why), at_least)?;
        Some((ending, why))
    }

    /// The answer was ended by us.
    pub(crate) fn mark_cut(&mut self, why: CutReason) {
        self.passage.look.cut = Some(why);
    }

    /// The answer is over: completely, or broken off. What nobody has looked at yet, the recorder will.
    pub(crate) fn finish_response(self, whole: bool) {
        let Self { inspector, mut passage, .. } = self;
        let note = if passage.put_by.is_some() {
            (passage.whole, passage.at) = (whole, now());
            Some(Record::Passed(passage))
        } else {
            passage.look.finish_response(whole, now()).map(|answer| Record::Answered(Box::new(answer)))
        };
        if let Some(note) = note {
            inspector.recorder.push(note);
        }
    }
}
