//! Looking at what passes, without standing in its way.
//!
//! A [`Turn`] goes along with one request and its answer. Before the last piece of the request is
//! let go, it only answers from memory whether the session is held. The request is looked at when its
//! upstream takes its time over it, and from then on its answer as it passes. What is over before that
//! is looked at by the recorder: then nothing of it is in the way of the next bytes. Only a long
//! request is looked at while its answer begins, since to copy it would cost more.

mod answer;
mod api;
mod conversation;
mod cut;
mod decode;
mod facts;
#[cfg(fuzzing)]
mod fuzz;
mod identity;
mod items;
mod letterhead;
mod look;
mod memory;
mod mint;
mod news;
mod nudge;
mod recorder;
mod scan;

pub(crate) use cut::Cut;
#[cfg(fuzzing)]
pub(crate) use fuzz::{fuzz_answer, fuzz_conversation};
pub(crate) use letterhead::Letterhead;
pub(crate) use look::Opening;
pub(crate) use mint::now;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use belay_agents::wire::Dialect;
use belay_core::chant::ChantRules;
use belay_core::{SessionKey, Verdict};
use tokio::sync::oneshot;

use crate::buffer::Charge;
use crate::judge::{Allowance, Judge, Later, Standing};
use crate::words;
use facts::Asked;
use look::{Eyes, Passage, PutBy};
use mint::new_id;
use recorder::{Note, Recorder};

/// Looks at all requests.
#[derive(Debug)]
pub(crate) struct Inspector {
    eyes: Arc<Eyes>,
    recorder: Recorder,
}

impl Inspector {
    pub(crate) fn new(judge: Arc<dyn Judge>, chant: Option<ChantRules>) -> std::io::Result<Self> {
        let recorder = Recorder::start(Arc::clone(&judge))?;
        Ok(Self { eyes: Arc::new(Eyes::new(judge, chant)), recorder })
    }

    /// Waits until all that was looked at is told, for so long at most.
    pub(crate) fn settle(&self, patience: Duration) {
        self.recorder.settle(patience);
    }

    /// Waits a moment while more passes than can be told.
    pub(crate) async fn keep_up(&self) {
        self.recorder.keep_up().await;
    }

    /// Goes along with a request.
    pub(crate) fn follow(self: &Arc<Self>, letterhead: &Arc<Letterhead>) -> Turn {
        let passage = Box::new(Passage::new(&self.eyes, letterhead));
        Turn { inspector: Arc::clone(self), cleared: false, allowance: Allowance::default(), passage }
    }
}

/// One request and its answer, as far as they have been looked at.
#[derive(Debug)]
pub(crate) struct Turn {
    inspector: Arc<Inspector>,
    /// A verdict let this very request go.
    cleared: bool,
    /// What the answer may cost.
    allowance: Allowance,
    passage: Box<Passage>,
}

impl Turn {
    pub(crate) fn dialect(&self) -> &'static dyn Dialect {
        self.passage.look.letterhead.who.dialect
    }

    /// The session's own id, where it is known.
    pub(crate) fn session_id(&self) -> &str {
        self.passage.look.session().map_or("", |session| &session.id)
    }

    /// Whether Loop Watchdog's answers are expected.
    pub(crate) fn is_legacy(&self) -> bool {
        self.passage.look.letterhead.who.legacy
    }

    /// How the session stands, for those who expect Loop Watchdog's answers.
    pub(crate) async fn legacy_status(&self) -> serde_json::Value {
        match self.passage.look.session() {
            Some(session) if self.is_legacy() => self.inspector.eyes.judge.status(session).await,
            _ => serde_json::Value::Null,
        }
    }

    /// This request may go, whatever holds the session.
    pub(crate) fn clear(&mut self) {
        self.cleared = true;
    }

    /// The session was stopped after all.
    pub(crate) fn revoke(&mut self) {
        self.cleared = false;
    }

    /// Whether the session is known not to be free, and not only to be asked about.
    pub(crate) fn is_barred(&self) -> bool {
        self.standing() != Standing::Free
    }

    /// Whether something holds the session back. Without a body only the head can tell whose it is.
    pub(crate) fn is_held(&mut self, body: Option<&[u8]>) -> bool {
        if self.cleared {
            return false;
        }
        if let Some(body) = body {
            self.passage.look.identify(body);
        }
        self.standing() != Standing::Free || self.is_unsettled()
    }

    /// Whether an answer before, of this session or of one that shares its budget, may have used up the budget, and
    /// nobody has said so yet.
    fn is_unsettled(&self) -> bool {
        let Some(session) = self.passage.look.session() else { return false };
        let Inspector { eyes, recorder } = &*self.inspector;
        let allowance = eyes.judge.allowance(session, None);
        allowance.outdated
            || (allowance.shared && recorder.is_anything_unsettled())
            || (allowance.is_limited() && recorder.is_unsettled(session))
    }

    /// Whoever holds a session holds its sub-agents.
    fn standing(&self) -> Standing {
        let of = |session: &SessionKey| self.inspector.eyes.judge.standing(session);
        let own = self.passage.look.session().map_or(Standing::Free, of);
        own.max(self.passage.look.letterhead.who.sender.parent.as_ref().map_or(Standing::Free, of))
    }

    /// What is to be done where whoever judges has no answer, by a fault of ours. That stops nobody who was free to go, and
    /// undoes nobody's decision.
    pub(crate) fn verdict_as_it_stands(&self) -> Verdict {
        let incident = String::new();
        match self.standing() {
            Standing::Free | Standing::Asks => Verdict::Go,
            Standing::Held => {
                Verdict::Hold { incident, reason: words::PAUSED.to_owned(), until: None, plan_required: false }
            }
            Standing::Stopped => Verdict::Stop { incident, reason: words::KILLED.to_owned() },
        }
    }

    /// Whether the session was stopped for good.
    pub(crate) fn is_stopped(&self) -> bool {
        self.standing() == Standing::Stopped
    }

    /// Resolves when the session's standing may have changed.
    pub(crate) fn changed(&self) -> Later<()> {
        self.inspector.eyes.judge.changed()
    }

    /// Whether waiting for a person makes sense: the first time an incident holds a request back. Then
    /// the person has had their time, and whoever asks again should hear at once.
    pub(crate) fn may_wait(&self) -> bool {
        let Some(session) = self.passage.look.session() else { return false };
        !self.inspector.eyes.lock().refused.contains(session)
    }

    /// The request was refused.
    pub(crate) fn refused(&mut self) {
        if let Some(session) = self.passage.look.session() {
            self.inspector.eyes.lock().note_refused(session);
        }
    }

    /// Looks at the body of a request that is on its way.
    pub(crate) fn observe(&mut self, body: Option<&[u8]>) {
        if self.passage.look.asked.is_none() {
            self.record(body, None);
        }
    }

    /// The body, unpacked, with a note for the agent in it, where that can be done.
    pub(crate) fn with_note(&self, body: &[u8], note: &str) -> Option<Vec<u8>> {
        let look = &self.passage.look;
        nudge::with_note(look.letterhead.api, &look.unpacked(body.into())?, note)
    }

    /// The note is on its way.
    pub(crate) fn delivered(&self, finding: &str) {
        if let Some(asked) = &self.passage.look.asked {
            let note = Note::Delivered { asked: Arc::clone(asked), finding: finding.to_owned(), at: now() };
            self.inspector.recorder.note(note);
        }
    }

    /// Looks at the body of a request that waits, and asks whether it may go. `None`: it is nobody's.
    pub(crate) fn ask(&mut self, body: Option<&[u8]>) -> Option<oneshot::Receiver<Verdict>> {
        if self.passage.look.asked.is_some() {
            return self.ask_again();
        }
        let (sender, receiver) = oneshot::channel();
        self.record(body, Some(sender));
        self.passage.look.asked.is_some().then_some(receiver)
    }

    /// The question once more: has a verdict changed meanwhile?
    pub(crate) fn ask_again(&mut self) -> Option<oneshot::Receiver<Verdict>> {
        let asked = self.passage.look.asked.as_ref()?;
        let (sender, receiver) = oneshot::channel();
        // Asked under a new id: the same question twice would get the same answer twice.
        let mut again = Asked::clone(asked);
        again.request = new_id();
        again.at = now();
        let again = Arc::new(again);
        self.passage.look.asked = Some(Arc::clone(&again));
        self.inspector.recorder.note(Note::Asked { asked: again, news: None, verdict: Some(sender) });
        Some(receiver)
    }

    fn record(&mut self, body: Option<&[u8]>, verdict: Option<oneshot::Sender<Verdict>>) {
        let held = self.is_held(body);
        if let Some((asked, news)) = self.passage.look.question(body.map(Cow::Borrowed), held, now()) {
            self.inspector.recorder.note(Note::Asked { asked, news, verdict });
        }
    }

    /// The answer begins, and the request has been looked at.
    pub(crate) fn answer_begins(&mut self, opening: &Opening, charge: Charge) {
        self.passage.look.begin(opening, charge);
        if let Some(asked) = &self.passage.look.asked {
            self.allowance = self.inspector.eyes.judge.allowance(&asked.session, asked.model.as_deref());
        }
    }

    /// Whether request and answer may be put by: where there is a limit, each piece is weighed as it comes.
    pub(crate) fn may_put_by(&self) -> bool {
        let limited = |session| self.inspector.eyes.judge.allowance(session, None).is_limited();
        !self.passage.look.session().is_some_and(limited)
    }

    /// The answer begins before anybody has taken the time to look: it is put by, and the request too if that is short.
    pub(crate) fn put_by(&mut self, body: Option<Cow<'_, [u8]>>, is_short: bool, opening: Opening, charge: Charge) {
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
            self.observe(body.as_deref());
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
            self.answer_begins(&opening, charge);
            self.passage.look.feed(&bytes);
        }
    }

    /// The answer goes on.
    pub(crate) fn answer_goes_on(&mut self, bytes: &[u8]) {
        match &mut self.passage.put_by {
            Some(put_by) => put_by.add(bytes),
            None => self.passage.look.feed(bytes),
        }
    }

    /// The bytes that end the answer here, if it should end and can: at least so many of them. To be asked when
    /// everything that was shown has reached the agent, and to be followed by [`Turn::cut_off`] when they are used.
    pub(crate) fn ending(&mut self, at_least: usize) -> Option<(Vec<u8>, Cut)> {
        let reader = self.passage.look.reader.as_ref()?;
        let so_far = reader.so_far();
        if self.passage.look.cut.is_some() || !reader.is_open_stream() || !reader.may_end_here() {
            return None;
        }
        let why = if let Some(finding) = reader.chanting() {
            Cut::Chant { said: so_far.said, what: finding.what.clone() }
        } else if self.allowance.is_exceeded_by(so_far.output_tokens()) {
            Cut::Budget
        } else if self.is_stopped() {
            Cut::Stopped
        } else {
            return None;
        };
        let ending = self.passage.look.reader.as_mut()?.ending(&words::cut(&why), at_least)?;
        Some((ending, why))
    }

    /// The answer was ended by us.
    pub(crate) fn cut_off(&mut self, why: Cut) {
        self.passage.look.cut = Some(why);
    }

    /// The answer is over: completely, or broken off. What nobody has looked at yet, the recorder will.
    pub(crate) fn answer_ends(self, whole: bool) {
        let Self { inspector, mut passage, .. } = self;
        let note = if passage.put_by.is_some() {
            (passage.whole, passage.at) = (whole, now());
            Some(Note::Passed(passage))
        } else {
            passage.look.end(whole, now()).map(|answer| Note::Answered(Box::new(answer)))
        };
        if let Some(note) = note {
            inspector.recorder.note(note);
        }
    }
}
