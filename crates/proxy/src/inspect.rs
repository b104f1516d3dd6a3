//! Looking at what passes, without standing in its way.
//!
//! A [`Turn`] goes along with one request and its answer. Before the last piece of the request is
//! let go, it only answers from memory whether the session is held. The request is looked at when its
//! upstream takes its time over it, or else when the answer has gone on; answers are, as they pass.

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
mod memory;
mod mint;
mod nudge;
mod recorder;
mod scan;

pub(crate) use cut::Cut;
#[cfg(fuzzing)]
pub(crate) use fuzz::{fuzz_answer, fuzz_conversation};
pub(crate) use mint::now;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use belay_agents::wire::{Dialect, Head};
use belay_core::chant::ChantRules;
use belay_core::{SessionKey, Verdict};
use tokio::sync::oneshot;

use crate::buffer::Charge;
use crate::judge::{Allowance, Judge, Later, Standing};
use crate::words;
use answer::{Question, Reader, question_tokens};
use api::{Api, Asks};
use facts::Asked;
use identity::Who;
use memory::Memory;
use mint::new_id;
use recorder::{News, Note, Recorder};

/// Looks at all requests.
pub(crate) struct Inspector {
    judge: Arc<dyn Judge>,
    recorder: Recorder,
    memory: Mutex<Memory>,
    chant: Option<ChantRules>,
}

impl std::fmt::Debug for Inspector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspector").finish_non_exhaustive()
    }
}

impl Inspector {
    pub(crate) fn new(judge: Arc<dyn Judge>, chant: Option<ChantRules>) -> std::io::Result<Self> {
        let recorder = Recorder::start(Arc::clone(&judge))?;
        Ok(Self { judge, recorder, memory: Mutex::default(), chant })
    }

    /// Waits until all that was looked at is told, for so long at most.
    pub(crate) fn settle(&self, patience: Duration) {
        self.recorder.settle(patience);
    }

    /// Waits a moment while more passes than can be told.
    pub(crate) async fn keep_up(&self) {
        self.recorder.keep_up().await;
    }

    /// Goes along with a request, if it asks for a turn of a conversation.
    pub(crate) fn follow(self: &Arc<Self>, method: &str, head: &dyn Head, run: Option<&str>) -> Option<Turn> {
        let Asks::Turn(api) = Asks::of(method, head.path()) else { return None };
        let who = Who::read(head, run);
        let encoding = head.header("content-encoding").map(str::to_ascii_lowercase);
        Some(Turn {
            inspector: Arc::clone(self),
            api,
            model: api.model_in_path(head.path()).map(str::to_owned),
            encoding: encoding.filter(|encoding| encoding != "identity"),
            session: who.session.clone(),
            who,
            asked: None,
            question: Question::default(),
            reader: None,
            cleared: false,
            allowance: Allowance::default(),
            cut: None,
        })
    }
}

/// One request and its answer, as far as they have been looked at.
#[derive(Debug)]
pub(crate) struct Turn {
    inspector: Arc<Inspector>,
    api: Api,
    who: Who,
    model: Option<String>,
    encoding: Option<String>,
    session: Option<SessionKey>,
    asked: Option<Arc<Asked>>,
    /// What the question costs, as far as its body can tell.
    question: Question,
    reader: Option<Box<Reader>>,
    /// A verdict let this very request go.
    cleared: bool,
    /// What the answer may cost.
    allowance: Allowance,
    /// Why the answer was cut off.
    cut: Option<Cut>,
}

impl Turn {
    pub(crate) fn dialect(&self) -> &'static dyn Dialect {
        self.who.dialect
    }

    /// The session's own id, where it is known.
    pub(crate) fn session_id(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.id)
    }

    /// Whether Loop Watchdog's answers are expected.
    pub(crate) fn is_legacy(&self) -> bool {
        self.who.legacy
    }

    /// How the session stands, for those who expect Loop Watchdog's answers.
    pub(crate) async fn legacy_status(&self) -> serde_json::Value {
        match &self.session {
            Some(session) if self.is_legacy() => self.inspector.judge.status(session).await,
            _ => serde_json::Value::Null,
        }
    }

    /// The session, where the head names it and it is nobody's sub-agent.
    pub(crate) fn main_session(&self) -> Option<&SessionKey> {
        self.session.as_ref().filter(|_| self.who.sender.parent.is_none() && !self.who.sender.auxiliary)
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
        if self.session.is_none()
            && let Some(body) = body
        {
            self.session = self.with_body(body, |turn, body| {
                let mut memory = turn.inspector.lock();
                turn.who.session(turn.api, body, &mut memory.beginnings)
            });
        }
        self.standing() != Standing::Free || self.is_unsettled()
    }

    /// Whether an answer before, of this session or of one that shares its budget, may have used up the budget, and
    /// nobody has said so yet.
    fn is_unsettled(&self) -> bool {
        let Some(session) = &self.session else { return false };
        let Inspector { judge, recorder, .. } = &*self.inspector;
        let allowance = judge.allowance(session, None);
        allowance.outdated
            || (allowance.shared && recorder.is_anything_unsettled())
            || (allowance.is_limited() && recorder.is_unsettled(session))
    }

    /// Whoever holds a session holds its sub-agents.
    fn standing(&self) -> Standing {
        let of = |session: &SessionKey| self.inspector.judge.standing(session);
        let own = self.session.as_ref().map_or(Standing::Free, of);
        own.max(self.who.sender.parent.as_ref().map_or(Standing::Free, of))
    }

    /// Whether the session was stopped for good.
    pub(crate) fn is_stopped(&self) -> bool {
        self.standing() == Standing::Stopped
    }

    /// Resolves when the session's standing may have changed.
    pub(crate) fn changed(&self) -> Later<()> {
        self.inspector.judge.changed()
    }

    /// Whether waiting for a person makes sense: the first time an incident holds a request back. Then
    /// the person has had their time, and whoever asks again should hear at once.
    pub(crate) fn may_wait(&self) -> bool {
        let Some(session) = &self.session else { return false };
        !self.inspector.lock().refused.contains(session)
    }

    /// The request was refused.
    pub(crate) fn refused(&mut self) {
        if let Some(session) = &self.session {
            self.inspector.lock().note_refused(session);
        }
    }

    /// Looks at the body of a request that is on its way.
    pub(crate) fn observe(&mut self, body: Option<&[u8]>) {
        if self.asked.is_none() {
            self.record(body, None);
        }
    }

    /// The body, unpacked, with a note for the agent in it, where that can be done.
    pub(crate) fn with_note(&self, body: &[u8], note: &str) -> Option<Vec<u8>> {
        self.with_body(body, |turn, body| nudge::with_note(turn.api, body, note))
    }

    /// The note is on its way.
    pub(crate) fn delivered(&self, finding: &str) {
        if let Some(asked) = &self.asked {
            let note = Note::Delivered { asked: Arc::clone(asked), finding: finding.to_owned(), at: now() };
            self.inspector.recorder.note(note);
        }
    }

    /// Looks at the body of a request that waits, and asks whether it may go. `None`: it is nobody's.
    pub(crate) fn ask(&mut self, body: Option<&[u8]>) -> Option<oneshot::Receiver<Verdict>> {
        if self.asked.is_some() {
            return self.ask_again();
        }
        let (sender, receiver) = oneshot::channel();
        self.record(body, Some(sender));
        self.asked.is_some().then_some(receiver)
    }

    /// The question once more: has a verdict changed meanwhile?
    pub(crate) fn ask_again(&mut self) -> Option<oneshot::Receiver<Verdict>> {
        let asked = self.asked.as_ref()?;
        let (sender, receiver) = oneshot::channel();
        // Asked under a new id: the same question twice would get the same answer twice.
        let mut again = Asked::clone(asked);
        again.request = new_id();
        again.at = now();
        let again = Arc::new(again);
        self.asked = Some(Arc::clone(&again));
        self.inspector.recorder.note(Note::Asked { asked: again, news: None, verdict: Some(sender) });
        Some(receiver)
    }

    fn record(&mut self, body: Option<&[u8]>, verdict: Option<oneshot::Sender<Verdict>>) {
        let bytes = body.map_or(0, |body| body.len() as u64);
        let held = self.is_held(body);
        if !held && let Some(session) = &self.session {
            let mut memory = self.inspector.lock();
            memory.refused.retain(|refused| refused != session);
        }
        let Some(session) = self.session.clone() else { return };
        let read = body.and_then(|body| {
            self.with_body(body, |turn, body| Some((question_tokens(body), turn.read(&session, body))))
        });
        let (tokens, news) = read.unwrap_or_default();
        self.question.tokens = tokens;
        let (fields, news) = news.unzip();
        let offers_tools = fields.as_ref().is_none_or(|fields| fields.tools);
        let auxiliary = self.who.sender.auxiliary || (!offers_tools && self.who.dialect.offers_tools());
        let plan = self.who.plan.clone();
        let in_body = || self.with_body(body?, |_, body| identity::plan_in_body(body));
        let plan = if held { plan.or_else(in_body) } else { plan };
        let mut told = self.who.told.clone();
        if session.agent == identity::LEGACY
            && let Some(body) = body
        {
            self.with_body(body, |_, body| {
                told.complete(body);
                Some(())
            });
        }
        let asked = Arc::new(Asked {
            session,
            parent: self.who.sender.parent.clone(),
            dialect: self.who.dialect,
            api: self.api,
            request: new_id(),
            at: now(),
            auxiliary,
            told,
            version: self.who.sender.version.clone(),
            model: fields.and_then(|fields| fields.model).or_else(|| self.model.clone()),
            bytes,
            account: self.who.account,
            plan,
        });
        self.asked = Some(Arc::clone(&asked));
        // A title or a summary carries a history of its own, which is no part of the conversation.
        let news = news.filter(|_| !auxiliary);
        self.inspector.recorder.note(Note::Asked { asked, news, verdict });
    }

    /// What is new in the body.
    fn read(&self, session: &SessionKey, body: &[u8]) -> Option<(conversation::Fields, News)> {
        let mut memory = self.inspector.lock();
        let conversation = memory.conversation(session);
        let Some(found) = conversation.read(self.api, body) else {
            memory.note_strange(self.api, self.who.dialect.agent());
            return None;
        };
        let news = News::copy(body, found.messages, found.afresh);
        Some((found.fields, news))
    }

    /// Works on the body, unpacked if need be.
    fn with_body<R>(&self, body: &[u8], work: impl FnOnce(&Self, &[u8]) -> Option<R>) -> Option<R> {
        match &self.encoding {
            None => work(self, body),
            Some(encoding) => work(self, &decode::whole(encoding, body)?),
        }
    }

    /// The answer begins.
    pub(crate) fn answer_begins(&mut self, status: u16, kind: &str, encoding: Option<&str>, charge: Charge) {
        if let Some(asked) = &self.asked {
            let chant = self.inspector.chant;
            let reader = Reader::new(self.api, status, kind, encoding, chant, charge);
            if reader.is_blind() {
                self.inspector.lock().note_unreadable(self.api, kind, encoding);
            }
            self.reader = Some(Box::new(reader));
            self.allowance = self.inspector.judge.allowance(&asked.session, asked.model.as_deref());
        }
    }

    /// The answer goes on.
    pub(crate) fn answer_goes_on(&mut self, bytes: &[u8]) {
        if let Some(reader) = &mut self.reader {
            reader.feed(bytes);
        }
    }

    /// The bytes that end the answer here, if it should end and can: at least so many of them. To be asked when
    /// everything that was shown has reached the agent, and to be followed by [`Turn::cut_off`] when they are used.
    pub(crate) fn ending(&mut self, at_least: usize) -> Option<(Vec<u8>, Cut)> {
        let reader = self.reader.as_ref()?;
        let so_far = reader.so_far();
        if self.cut.is_some() || !reader.is_open_stream() || !reader.may_end_here() {
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
        let ending = self.reader.as_mut()?.ending(&words::cut(&why), at_least)?;
        Some((ending, why))
    }

    /// The answer was ended by us.
    pub(crate) fn cut_off(&mut self, why: Cut) {
        self.cut = Some(why);
    }

    /// The answer is over: completely, or broken off.
    pub(crate) fn answer_ends(&mut self, whole: bool) {
        let (Some(asked), Some(reader)) = (self.asked.take(), self.reader.take()) else { return };
        let (mut answered, chant) = reader.finish(whole && self.cut.is_none());
        let told = answered.usage.filter(|_| !asked.auxiliary);
        self.question.before = self.inspector.lock().usage(&asked.session, told);
        answered.estimate(self.question);
        if let Some(cut) = &self.cut {
            answered.stop = Some(cut.word().to_owned());
        }
        let chanting = chant.is_some() || matches!(self.cut, Some(Cut::Chant { .. }));
        let (at, saved) = (now(), self.cut.take().map(|cut| words::cut(&cut)));
        let answered = Box::new(answered);
        self.inspector.recorder.note(Note::Answered { asked, answered, chanting, saved, at });
    }
}

/// An answer that nobody ended broke off.
impl Drop for Turn {
    fn drop(&mut self) {
        self.answer_ends(false);
    }
}

impl Inspector {
    fn lock(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
