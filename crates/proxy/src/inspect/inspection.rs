//! The inspection of one request and its response.

use std::borrow::Cow;
use std::sync::Arc;

use belay_agents::wire::WireClient;
use belay_clock::now;
use belay_core::{SessionKey, Verdict};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::events::RequestRecord;
use super::history::{NewMessageBytes, NewMessages, RequestFields};
use super::inspector::Inspector;
use super::quota::read_quotas;
use super::recorder::{Record, ResponseRecord};
use super::request_meta::RequestMeta;
use super::response_reader::ResponseReader;
use super::token_estimate::{PromptTokens, estimate_prompt_tokens};
use super::{content_encoding, session_id};
use crate::buffer_pool::MemoryCharge;
use crate::local_response::LocalResponse;
use crate::messages;
use crate::routes::OpenExchange;
use crate::supervisor::{BoxFuture, HoldState, RemainingBudget};

/// One request and its response, as far as they have been read.
#[derive(Debug)]
pub(crate) struct ExchangeInspection {
    inspector: Arc<Inspector>,
    meta: Arc<RequestMeta>,
    /// The session that the body names, for requests whose head names none.
    session_in_body: Option<SessionKey>,
    /// A verdict admitted this request.
    granted: bool,
    /// What the response may still cost.
    budget: RemainingBudget,
    phase: Phase,
    /// Keeps the run of the exchange from ending before `drop` has recorded the response.
    _of_run: Option<OpenExchange>,
}

#[derive(Debug)]
enum Phase {
    /// The request has not been read.
    Pending,
    Requested {
        request: Arc<RequestRecord>,
        prompt: PromptTokens,
    },
    Responding {
        request: Arc<RequestRecord>,
        prompt: PromptTokens,
        reader: Box<ResponseReader>,
        cut: Option<CutReason>,
    },
    /// The response is recorded, or the request belongs to no session and nothing is recorded.
    Finished,
}

/// Body metadata from a response head.
#[derive(Debug)]
pub(crate) struct ResponseMeta {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) encoding: Option<String>,
    /// Seconds after which the agent may try again.
    pub(crate) retry_after: Option<u32>,
    /// Headers that report limits of the account.
    pub(crate) limits: Vec<(String, String)>,
}

/// Why Belay ended a response before its model did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CutReason {
    /// The output repeats itself.
    Repetition { output_bytes: u64, sample: String },
    /// The budget ran out.
    Budget,
    /// The session was killed.
    Killed,
}

impl CutReason {
    /// The stop reason in the event log.
    fn as_str(&self) -> &'static str {
        match self {
            Self::Repetition { .. } => "belay_repetition",
            Self::Budget => "belay_budget",
            Self::Killed => "belay_stopped",
        }
    }
}

impl ExchangeInspection {
    pub(super) fn new(inspector: Arc<Inspector>, meta: Arc<RequestMeta>, of_run: Option<OpenExchange>) -> Self {
        Self {
            inspector,
            meta,
            session_in_body: None,
            granted: false,
            budget: RemainingBudget::default(),
            phase: Phase::Pending,
            _of_run: of_run,
        }
    }

    pub(crate) fn client(&self) -> &'static dyn WireClient {
        self.meta.sender.client
    }

    /// The supervisor's own refusal, if the client expects one.
    pub(crate) async fn supervisor_refusal(&self, verdict: &Verdict) -> Option<LocalResponse> {
        let session = self.session().filter(|_| self.meta.sender.expects_supervisor_refusal)?;
        self.inspector.supervisor.refusal(session, verdict).await
    }

    /// Admits this request even if its session is held.
    pub(crate) fn grant(&mut self) {
        self.granted = true;
    }

    /// Withdraws the grant: the session was killed since.
    pub(crate) fn revoke_grant(&mut self) {
        self.granted = false;
    }

    /// Whether the session is known to be held. Unlike [`Self::must_wait`], a pending check does not count.
    pub(crate) fn is_blocked(&self) -> bool {
        self.hold_state() != HoldState::Free
    }

    /// Whether the request needs a verdict before it may reach the upstream. Without a body only the head can name the
    /// session.
    pub(crate) fn must_wait(&mut self, body: Option<&[u8]>) -> bool {
        if self.granted {
            return false;
        }
        if let Some(body) = body {
            self.resolve_session(body);
        }
        self.is_blocked() || self.is_unsettled()
    }

    /// Whether an earlier response, of this session or of one that shares its budget, may have used up the budget but is
    /// not accounted for yet.
    fn is_unsettled(&self) -> bool {
        let Some(session) = self.session() else { return false };
        let Inspector { supervisor, recorder, .. } = &*self.inspector;
        let budget = supervisor.remaining_budget(session, None);
        budget.outdated
            || (budget.shared && recorder.has_any_pending_response())
            || (budget.is_limited() && recorder.has_pending_response(session))
    }

    /// A hold on a session also holds its sub-agents.
    fn hold_state(&self) -> HoldState {
        let of = |session: &SessionKey| self.inspector.supervisor.hold_state(session);
        let own = self.session().map_or(HoldState::Free, of);
        own.max(self.meta.sender.identity.parent.as_ref().map_or(HoldState::Free, of))
    }

    /// The verdict if the supervisor fails. A fault of Belay stops no active session and lifts no hold.
    pub(crate) fn fallback_verdict(&self) -> Verdict {
        let incident = String::new();
        match self.hold_state() {
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

    /// Whether the session was killed.
    pub(crate) fn is_killed(&self) -> bool {
        self.hold_state() == HoldState::Killed
    }

    /// Resolves when the session's hold state may have changed.
    pub(crate) fn hold_state_changed(&self) -> BoxFuture<()> {
        self.inspector.supervisor.hold_state_changed()
    }

    /// Whether to keep the request open for a person's decision. Only the first request of a hold waits; retries are
    /// refused immediately.
    pub(crate) fn may_hold_open(&self) -> bool {
        let Some(session) = self.session() else { return false };
        !self.inspector.sessions().refused.contains(session)
    }

    /// Records that the request was refused.
    pub(crate) fn record_refusal(&mut self) {
        if let Some(session) = self.session() {
            self.inspector.sessions().record_refusal(session);
        }
    }

    /// The decoded body with a nudge in it, if the nudge can be inserted.
    pub(crate) fn with_nudge(&self, body: &[u8], text: &str) -> Option<Vec<u8>> {
        self.meta.api.format().insert_nudge(&self.decode(body)?, text)
    }

    /// Records that the request carries the nudge.
    pub(crate) fn record_nudge_delivery(&self, finding: &str) {
        if let Phase::Requested { request, .. } = &self.phase {
            let (request, finding) = (Arc::clone(request), finding.to_owned());
            self.inspector.recorder.push(Record::NudgeDelivered { request, finding, at: now() });
        }
    }

    /// Records the request and asks for a verdict on it. `None` if the request belongs to no session.
    pub(crate) fn request_verdict(&mut self, body: Option<&[u8]>) -> Option<oneshot::Receiver<Verdict>> {
        if !self.is_pending() {
            return self.request_verdict_again();
        }
        let (sender, receiver) = oneshot::channel();
        self.record_request(body, Some(sender));
        matches!(self.phase, Phase::Requested { .. }).then_some(receiver)
    }

    /// Asks for another verdict on a request that was read before.
    pub(crate) fn request_verdict_again(&mut self) -> Option<oneshot::Receiver<Verdict>> {
        let Phase::Requested { request, .. } = &mut self.phase else { return None };
        // A new id: an event with a known id is a duplicate and gets the old verdict.
        *request = Arc::new(RequestRecord { id: new_request_id(), at: now(), ..RequestRecord::clone(request) });
        let (sender, receiver) = oneshot::channel();
        let request = Arc::clone(request);
        self.inspector.recorder.push(Record::Request { request, new_messages: None, verdict: Some(sender) });
        Some(receiver)
    }

    /// Whether the request has not been read yet.
    pub(crate) fn is_pending(&self) -> bool {
        matches!(self.phase, Phase::Pending)
    }

    /// Reads and records the request, unless that has happened before.
    pub(crate) fn read_request(&mut self, body: Option<&[u8]>) {
        if self.is_pending() {
            self.record_request(body, None);
        }
    }

    fn record_request(&mut self, body: Option<&[u8]>, verdict: Option<oneshot::Sender<Verdict>>) {
        let waits = self.must_wait(body);
        let Some(session) = self.session().cloned() else {
            self.phase = Phase::Finished;
            return;
        };
        if !waits {
            self.inspector.sessions().refused.retain(|refused| *refused != session);
        }
        let decoded = body.and_then(|body| self.decode(body));
        let found = decoded.as_deref().and_then(|body| self.read_new_messages(&session, body));
        let RequestMeta { sender, model, .. } = &*self.meta;
        let plan_in_body =
            || decoded.as_deref().filter(|_| waits && !self.meta.unverified).and_then(session_id::plan_in_body);
        let mut labels = sender.labels.clone();
        if *session.agent == *session_id::LOOP_WATCHDOG_AGENT
            && !self.meta.unverified
            && let Some(body) = &decoded
        {
            labels.fill_from_body(body);
        }
        let model_in_body = found.as_ref().and_then(|found| found.fields.model.clone());
        let request = Arc::new(RequestRecord {
            session,
            meta: Arc::clone(&self.meta),
            id: new_request_id(),
            at: now(),
            auxiliary: self.is_auxiliary(found.as_ref().map(|found| &found.fields)),
            labels,
            model: model_in_body.or_else(|| model.clone()),
            bytes: body.map_or(0, |body| body.len() as u64),
            plan: sender.plan.clone().or_else(plan_in_body),
        });
        let new_messages = found.zip(decoded.as_deref()).map(|(found, body)| NewMessageBytes::copy(body, found));
        let tokens = decoded.as_deref().map_or(0, estimate_prompt_tokens);
        self.inspector.recorder.push(Record::Request { request: Arc::clone(&request), new_messages, verdict });
        self.phase = Phase::Requested { request, prompt: PromptTokens { tokens, before: None } };
    }

    /// Starts reading the response. The request has been read before.
    pub(crate) fn start_response(&mut self, head: &ResponseMeta, charge: MemoryCharge) {
        let Phase::Requested { request, prompt } = &self.phase else { return };
        let (request, prompt) = (Arc::clone(request), *prompt);
        let ResponseMeta { status, content_type, encoding, retry_after, limits } = head;
        if !limits.is_empty() {
            let quotas = read_quotas(limits, now());
            self.inspector.supervisor.report_quotas(&request.session, self.meta.sender.account, quotas);
        }
        let (api, repetition) = (self.meta.api, self.inspector.repetition);
        let reader = ResponseReader::new(api, *status, content_type, encoding.as_deref(), repetition, charge);
        let reader = reader.with_retry_after(*retry_after);
        if reader.is_unreadable() {
            self.inspector.sessions().warn_unreadable_once(api, content_type, encoding.as_deref());
        }
        self.budget = self.inspector.supervisor.remaining_budget(&request.session, request.model.as_deref());
        self.phase = Phase::Responding { request, prompt, reader: Box::new(reader), cut: None };
    }

    /// Reads the next piece of the response.
    pub(crate) fn read_response(&mut self, bytes: &[u8]) {
        if let Phase::Responding { reader, .. } = &mut self.phase {
            reader.feed(bytes);
        }
    }

    /// The bytes that end the response here, if it should end and can: at least `min_bytes` of them. Call this when the
    /// client has received everything read so far, and [`Self::mark_cut`] once the bytes are used.
    pub(crate) fn cut_bytes(&mut self, min_bytes: usize) -> Option<(Vec<u8>, CutReason)> {
        let Phase::Responding { reader, cut: None, .. } = &self.phase else { return None };
        if !reader.can_be_cut() || !reader.is_at_event_boundary() {
            return None;
        }
        let so_far = reader.summary();
        let reason = if let Some(finding) = reader.repetition() {
            CutReason::Repetition { output_bytes: so_far.output_bytes, sample: finding.what.clone() }
        } else if self.budget.is_exceeded_by_output(so_far.output_tokens()) {
            CutReason::Budget
        } else if self.is_killed() {
            CutReason::Killed
        } else {
            return None;
        };
        let Phase::Responding { reader, .. } = &mut self.phase else { return None };
        let ending = reader.cut_bytes(&messages::cut_text(&reason), min_bytes)?;
        Some((ending, reason))
    }

    /// Records that Belay ended the response.
    pub(crate) fn mark_cut(&mut self, reason: CutReason) {
        if let Phase::Responding { cut, .. } = &mut self.phase {
            *cut = Some(reason);
        }
    }

    /// The response is complete. An inspection that is dropped before records an interrupted response.
    pub(crate) fn finish(mut self) {
        self.record_response(true);
    }

    fn record_response(&mut self, complete: bool) {
        let phase = std::mem::replace(&mut self.phase, Phase::Finished);
        let Phase::Responding { request, mut prompt, reader, cut } = phase else { return };
        let (mut summary, repetition) = reader.finish(complete && cut.is_none());
        // An auxiliary request does not repeat the history of the conversation.
        if !request.auxiliary {
            prompt.before = self.inspector.sessions().update_usage(&request.session, summary.usage);
        }
        summary.fill_missing_usage(prompt);
        if let Some(cut) = &cut {
            summary.stop = Some(cut.as_str().to_owned());
        }
        let degenerate = repetition.is_some() || matches!(cut, Some(CutReason::Repetition { .. }));
        let note = cut.map(|cut| messages::cut_text(&cut));
        let record = ResponseRecord { request, summary, degenerate, note, at: now() };
        self.inspector.recorder.push(Record::Response(Box::new(record)));
    }

    /// The session, as far as it is known.
    fn session(&self) -> Option<&SessionKey> {
        self.meta.sender.session.as_ref().or(self.session_in_body.as_ref())
    }

    /// Finds the session in the body if the head does not name it.
    fn resolve_session(&mut self, body: &[u8]) {
        if self.session().is_none() {
            let is_held = |session: &SessionKey| self.inspector.supervisor.hold_state(session) >= HoldState::Held;
            self.session_in_body = self.decode(body).and_then(|body| {
                let (api, cache) = (self.meta.api, &mut *self.inspector.sessions());
                self.meta.sender.resolve_session(api, &body, &mut cache.prefixes, &mut cache.anonymous, is_held)
            });
        }
    }

    /// Whether the request is not part of the conversation: a title or a summary has its own history.
    fn is_auxiliary(&self, fields: Option<&RequestFields>) -> bool {
        let sender = &self.meta.sender;
        let offers_tools = fields.is_none_or(|fields| fields.tools);
        sender.identity.auxiliary || (!offers_tools && sender.client.always_offers_tools())
    }

    fn read_new_messages(&self, session: &SessionKey, body: &[u8]) -> Option<NewMessages> {
        let mut sessions = self.inspector.sessions();
        let is_part = |fields: &RequestFields| !self.is_auxiliary(Some(fields));
        let found = sessions.entry(session).history.read_new(self.meta.api, body, is_part);
        if found.is_none() {
            sessions.warn_unknown_shape_once(self.meta.api, self.meta.sender.client.agent());
        }
        found
    }

    /// The body without its content encoding. `None` if it cannot be decoded.
    fn decode<'b>(&self, body: &'b [u8]) -> Option<Cow<'b, [u8]>> {
        match &self.meta.encoding {
            None => Some(Cow::Borrowed(body)),
            Some(encoding) => content_encoding::decode_all(encoding, body).map(Cow::Owned),
        }
    }
}

impl Drop for ExchangeInspection {
    fn drop(&mut self) {
        self.record_response(false);
    }
}

fn new_request_id() -> String {
    Uuid::now_v7().to_string()
}
