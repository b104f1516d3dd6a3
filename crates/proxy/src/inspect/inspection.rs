//! Reading one request and its answer, wherever that is done: beside the bytes while they pass, or by the recorder when
//! all of them have.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belay_core::repetition::RepetitionRules;
use belay_core::{SessionKey, Timestamp};

use super::answer::{PromptTokens, ResponseReader, estimate_prompt_tokens};
use super::events::RequestRecord;
use super::history::{NewMessages as Found, RequestFields};
use super::mint::{new_id, now};
use super::news::NewMessageBytes;
use super::recorder::ResponseRecord;
use super::request_meta::RequestMeta;
use super::session_cache::SessionCache;
use super::session_id;
use super::{CutReason, content_encoding};
use crate::buffer_pool::MemoryCharge;
use crate::messages;
use crate::supervisor::Supervisor;

/// What all looks share.
pub(super) struct InspectorState {
    pub(super) judge: Arc<dyn Supervisor>,
    memory: Mutex<SessionCache>,
    chant: Option<RepetitionRules>,
    /// How many requests have come.
    requests: AtomicU64,
}

impl std::fmt::Debug for InspectorState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Eyes").finish_non_exhaustive()
    }
}

impl InspectorState {
    pub(super) fn new(judge: Arc<dyn Supervisor>, chant: Option<RepetitionRules>) -> Self {
        Self { judge, memory: Mutex::default(), chant, requests: AtomicU64::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SessionCache> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a request tells, and what is new in its body.
type RecordedRequest = (Arc<RequestRecord>, Option<NewMessageBytes>);

/// One request and its answer, as far as they have been read.
#[derive(Debug)]
pub(super) struct Look {
    eyes: Arc<InspectorState>,
    /// Which request it is, of all that have come: they are not read in order.
    number: u64,
    pub(super) letterhead: Arc<RequestMeta>,
    /// The session, where only the body could tell.
    found: Option<SessionKey>,
    pub(super) asked: Option<Arc<RequestRecord>>,
    /// What the question costs, as far as its body can tell.
    question: PromptTokens,
    pub(super) reader: Option<Box<ResponseReader>>,
    /// Why the answer was cut off.
    pub(super) cut: Option<CutReason>,
}

impl Look {
    fn new(eyes: &Arc<InspectorState>, letterhead: &Arc<RequestMeta>) -> Self {
        Self {
            eyes: Arc::clone(eyes),
            number: eyes.requests.fetch_add(1, Ordering::Relaxed),
            letterhead: Arc::clone(letterhead),
            found: None,
            asked: None,
            question: PromptTokens::default(),
            reader: None,
            cut: None,
        }
    }

    /// Whose request it is, as far as is known.
    pub(super) fn session(&self) -> Option<&SessionKey> {
        self.letterhead.who.session.as_ref().or(self.found.as_ref())
    }

    /// Finds out whose request it is, where only its body can tell.
    pub(super) fn resolve_session(&mut self, body: &[u8]) {
        if self.session().is_none() {
            self.found = self.decoded(body.into()).and_then(|body| {
                let mut memory = self.eyes.lock();
                self.letterhead.who.resolve_session(self.letterhead.api, &body, &mut memory.beginnings)
            });
        }
    }

    /// Reads the request; `None` when it is nobody's. One that is not held goes on.
    pub(super) fn read_request(
        &mut self,
        body: Option<Cow<'_, [u8]>>,
        held: bool,
        at: Timestamp,
    ) -> Option<RecordedRequest> {
        let session = self.session().cloned()?;
        if !held {
            self.eyes.lock().refused.retain(|refused| *refused != session);
        }
        let bytes = body.as_ref().map_or(0, |body| body.len() as u64);
        let body = body.and_then(|body| self.decoded(body));
        self.question.tokens = body.as_deref().map_or(0, estimate_prompt_tokens);
        let found = body.as_deref().and_then(|body| self.read(&session, body));
        let auxiliary = self.is_aside(found.as_ref().map(|found| &found.fields));
        let RequestMeta { who, model, .. } = &*self.letterhead;
        let plan = who.plan.clone();
        let in_body = || session_id::plan_in_body(body.as_deref()?);
        let plan = if held { plan.or_else(in_body) } else { plan };
        let mut told = who.told.clone();
        if *session.agent == *session_id::LOOP_WATCHDOG_AGENT
            && let Some(body) = &body
        {
            told.fill_from_body(body);
        }
        let (fields, news) = found.map(|found| (found.fields, (found.messages, found.afresh))).unzip();
        let news = news.zip(body).map(|((messages, afresh), body)| NewMessageBytes::of(body, messages, afresh));
        let asked = Arc::new(RequestRecord {
            session,
            letterhead: Arc::clone(&self.letterhead),
            request: new_id(),
            at,
            auxiliary,
            told,
            model: fields.and_then(|fields| fields.model).or_else(|| model.clone()),
            bytes,
            plan,
        });
        self.asked = Some(Arc::clone(&asked));
        Some((asked, news))
    }

    /// Whether the request is beside the conversation: a title or a summary carries a history of its own.
    fn is_aside(&self, fields: Option<&RequestFields>) -> bool {
        let who = &self.letterhead.who;
        let offers_tools = fields.is_none_or(|fields| fields.tools);
        who.sender.auxiliary || (!offers_tools && who.dialect.always_offers_tools())
    }

    /// What is new in the body.
    fn read(&self, session: &SessionKey, body: &[u8]) -> Option<Found> {
        let mut memory = self.eyes.lock();
        let is_part = |fields: &RequestFields| !self.is_aside(Some(fields));
        let known = memory.entry(session);
        // What came before a request that has been read must not set back what is known since.
        let mut late = (self.number < known.newest).then(|| known.conversation.clone());
        let conversation = late.as_mut().unwrap_or(&mut known.conversation);
        let Some(found) = conversation.read_new(self.letterhead.api, body, is_part) else {
            memory.warn_unknown_shape_once(self.letterhead.api, self.letterhead.who.dialect.agent());
            return None;
        };
        if is_part(&found.fields) {
            known.newest = known.newest.max(self.number);
        }
        Some(found)
    }

    /// The body, unpacked if need be; `None` when that cannot be done.
    pub(super) fn decoded<'b>(&self, body: Cow<'b, [u8]>) -> Option<Cow<'b, [u8]>> {
        match &self.letterhead.encoding {
            None => Some(body),
            Some(encoding) => content_encoding::decode_all(encoding, &body).map(Cow::Owned),
        }
    }

    /// The answer begins. One to a question that is nobody's is not read.
    pub(super) fn begin(&mut self, opening: &ResponseMeta, charge: MemoryCharge) {
        if self.asked.is_some() {
            let ResponseMeta { status, kind, encoding } = opening;
            let reader =
                ResponseReader::new(self.letterhead.api, *status, kind, encoding.as_deref(), self.eyes.chant, charge);
            if reader.is_unreadable() {
                self.eyes.lock().warn_unreadable_once(self.letterhead.api, kind, encoding.as_deref());
            }
            self.reader = Some(Box::new(reader));
        }
    }

    /// The answer goes on.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if let Some(reader) = &mut self.reader {
            reader.feed(bytes);
        }
    }

    /// All of the answer, which was put by.
    fn feed_all(&mut self, bytes: Vec<u8>) {
        if let Some(reader) = &mut self.reader {
            reader.feed_all(bytes);
        }
    }

    /// The answer is over: completely, or broken off.
    pub(super) fn finish_response(&mut self, whole: bool, at: Timestamp) -> Option<ResponseRecord> {
        let (asked, reader) = self.asked.take().zip(self.reader.take())?;
        let (mut answered, chant) = reader.finish(whole && self.cut.is_none());
        // What is asked beside the conversation repeats nothing of it.
        if !asked.auxiliary {
            self.question.before = self.eyes.lock().update_usage(&asked.session, answered.usage);
        }
        answered.fill_missing_usage(self.question);
        if let Some(cut) = &self.cut {
            answered.stop = Some(cut.as_str().to_owned());
        }
        let chanting = chant.is_some() || matches!(self.cut, Some(CutReason::Repetition { .. }));
        let saved = self.cut.take().map(|cut| messages::cut_text(&cut));
        Some(ResponseRecord { asked, answered, chanting, saved, at })
    }
}

/// What an answer's head says about its body.
#[derive(Debug)]
pub(crate) struct ResponseMeta {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) encoding: Option<String>,
}

/// The beginning of an answer that nobody has looked at.
#[derive(Debug)]
pub(super) struct PutBy {
    /// Its request, if nobody has looked at that either.
    body: Option<Vec<u8>>,
    pub(super) opening: ResponseMeta,
    pub(super) bytes: Vec<u8>,
    pub(super) charge: MemoryCharge,
    fits: bool,
    begun: Timestamp,
}

impl PutBy {
    /// So much of an answer is put by. Whoever says more is heard at once: it may have to be cut off.
    const MUCH: usize = 16 * 1024;

    pub(super) fn new(body: Option<Vec<u8>>, opening: ResponseMeta, charge: MemoryCharge) -> Self {
        Self { body, opening, bytes: Vec::new(), charge, fits: true, begun: now() }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.fits = self.charge.set(self.bytes.len());
    }

    pub(super) fn is_much(&self) -> bool {
        self.bytes.len() > Self::MUCH || !self.fits
    }
}

/// A request and its answer, and what was put by of them.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(super) look: Look,
    pub(super) put_by: Option<PutBy>,
    /// The answer came to its end, and when.
    pub(super) whole: bool,
    pub(super) at: Timestamp,
}

impl Passage {
    pub(super) fn new(eyes: &Arc<InspectorState>, letterhead: &Arc<RequestMeta>) -> Self {
        Self { look: Look::new(eyes, letterhead), put_by: None, whole: false, at: Timestamp::default() }
    }

    /// How many bytes were put by.
    pub(super) fn len(&self) -> usize {
        let len = |put_by: &PutBy| put_by.body.as_ref().map_or(0, Vec::len) + put_by.bytes.len();
        self.put_by.as_ref().map_or(0, len)
    }

    pub(super) fn belongs_to(&self, session: &SessionKey) -> bool {
        self.look.session() == Some(session)
    }

    /// Looks at what was put by, once all is over.
    pub(super) fn read(self) -> (Option<RecordedRequest>, Option<ResponseRecord>) {
        let Self { mut look, put_by, whole, at } = self;
        let Some(PutBy { body, opening, bytes, charge, begun, .. }) = put_by else { return (None, None) };
        let question = match look.asked {
            None => look.read_request(body.map(Cow::Owned), false, begun),
            Some(_) => None,
        };
        look.begin(&opening, charge);
        look.feed_all(bytes);
        (question, look.finish_response(whole, at))
    }
}
