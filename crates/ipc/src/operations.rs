//! The operations, their parameters and results.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use belay_config::ServeTlsConfig;
use belay_core::event::{Caller, OperatorDecision};
use belay_core::{EventOutcome, SessionKey, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::approvals::{AnswerRequest, ApprovalsRequest, AwaitAnswerRequest};
use crate::hook::HookRequest;
use crate::protocol::ErrorBody;
use crate::reads::{
    FindingRequest, FindingsRequest, IncidentsRequest, NotesRequest, OverviewRequest, ResolveRequest,
    SessionPageRequest, SessionRequest, SessionsRequest, ShortNamesRequest, TombstonesRequest, TotalsRequest,
};
use crate::reviews::{
    DecideReviewRequest, FileReviewRequest, LandReviewRequest, PauseReviewsRequest, ReviewRequest, ReviewsRequest,
};

/// Every operation, with its parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "op", content = "params", rename_all = "snake_case")]
pub enum Operation {
    /// Checks that the resident process responds: [`PingResponse`].
    Ping {},
    /// The status of the resident process: [`StatusResponse`].
    Status(StatusRequest),
    /// Records events: [`ObserveResponse`].
    Observe(ObserveRequest),
    /// Records an operator's decision: [`EventOutcome`].
    Decide(DecideRequest),
    /// A hook call of an agent: [`HookResponse`](crate::HookResponse).
    Hook(HookRequest),
    /// Permission prompts that wait for an answer, the oldest first: a list of
    /// [`PendingApproval`](crate::views::PendingApproval).
    Approvals(ApprovalsRequest),
    /// Answers a permission prompt: [`AnswerResponse`](crate::AnswerResponse).
    Answer(AnswerRequest),
    /// Waits for the answer of a ticket, in a hook process: [`AwaitAnswerResponse`](crate::AwaitAnswerResponse). The
    /// connection serves nothing else afterwards.
    AwaitAnswer(AwaitAnswerRequest),
    /// Starts, continues or ends a run of an agent through the proxy: [`RunResponse`].
    Run(Box<RunRequest>),
    /// Opens HTTP in a resident process that runs without it: [`ListenResponse`].
    Listen(ListenRequest),
    /// Creates a link that logs one browser in: [`LoginLinkResponse`].
    LoginLink {},
    /// Ends all logins of browsers: [`RevokeLoginsResponse`].
    RevokeLogins {},
    /// Follows the log: [`SubscribeResponse`], then one event per line.
    Subscribe(SubscribeRequest),
    /// The session with a name: [`SessionKey`].
    Resolve(ResolveRequest),
    /// Sessions, newest first: [`SessionsResponse`](crate::SessionsResponse).
    Sessions(SessionsRequest),
    /// One session: [`SessionView`](crate::views::SessionView) or null.
    Session(SessionRequest),
    /// Incidents, newest first: a list of [`IncidentView`](crate::views::IncidentView).
    Incidents(IncidentsRequest),
    /// Findings of a session, newest first: a list of [`FindingView`](crate::views::FindingView).
    Findings(FindingsRequest),
    /// One finding: [`FindingView`](crate::views::FindingView) or null.
    Finding(FindingRequest),
    /// Notes about a session, newest first: a list of [`NoteView`](crate::views::NoteView).
    Notes(NotesRequest),
    /// Tombstones, newest first: a list of [`TombstoneView`](crate::views::TombstoneView).
    Tombstones(TombstonesRequest),
    /// The shortest unique names of sessions, in their order.
    ShortNames(ShortNamesRequest),
    /// Totals over the store: [`TotalsView`](crate::views::TotalsView).
    Totals(TotalsRequest),
    /// Sessions that need a person, what the others do, and what today cost:
    /// [`OverviewView`](crate::views::OverviewView).
    Overview(OverviewRequest),
    /// Everything about one session: [`SessionPageView`](crate::views::SessionPageView) or null.
    SessionPage(SessionPageRequest),
    /// Files a review task: [`ReviewSummaryView`](crate::views::ReviewSummaryView).
    FileReview(Box<FileReviewRequest>),
    /// Decides about a review task: [`ReviewSummaryView`](crate::views::ReviewSummaryView).
    DecideReview(DecideReviewRequest),
    /// Merges or applies the result of a review task: [`LandedView`](crate::views::LandedView).
    LandReview(LandReviewRequest),
    /// Review tasks, newest first: [`ReviewsView`](crate::views::ReviewsView).
    Reviews(ReviewsRequest),
    /// One review task: [`ReviewView`](crate::views::ReviewView) or null.
    Review(ReviewRequest),
    /// Pauses or resumes the queue of review tasks: [`ReviewsView`](crate::views::ReviewsView).
    PauseReviews(PauseReviewsRequest),
    /// Finishes pending requests and exits: [`PingResponse`].
    Stop {},
}

/// Parameters of [`Operation::Status`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusRequest {
    /// Include the token that decisions over HTTP require.
    pub token: bool,
}

/// Parameters of [`Operation::Observe`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObserveRequest {
    /// Events as JSON. An invalid event does not affect the others.
    pub events: Vec<Box<RawValue>>,
}

/// Result of [`Operation::Observe`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ObserveResponse {
    /// One per event, in their order.
    pub answers: Vec<EventResult>,
}

/// The result for one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventResult {
    Refused { error: ErrorBody },
    Accepted(EventOutcome),
}

/// Parameters of [`Operation::Decide`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    pub session: SessionKey,
    pub decision: OperatorDecision,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The process that called for the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Box<Caller>>,
    /// Identifies the decision: sent again with the same id, it counts once. Assigned if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl DecideRequest {
    /// A decision with an id of its own.
    pub fn new(session: SessionKey, decision: OperatorDecision) -> Self {
        let id = Some(uuid::Uuid::now_v7().to_string());
        Self { session, decision, note: String::new(), by: None, caller: None, id }
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    #[must_use]
    pub fn by(mut self, by: Option<String>) -> Self {
        self.by = by;
        self
    }

    #[must_use]
    pub fn caller(mut self, caller: Option<Box<Caller>>) -> Self {
        self.caller = caller;
        self
    }
}

/// Result of [`Operation::Ping`] and [`Operation::Stop`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingResponse {
    pub pid: u32,
    pub version: String,
    pub protocol: u16,
}

/// Result of [`Operation::Status`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusResponse {
    pub pid: u32,
    pub version: String,
    pub protocol: u16,
    pub started_at: Timestamp,
    /// The URL of the web page, if HTTP is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub socket: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    pub health: HealthView,
    /// What a person must know about how the process is configured, such as that dry run is on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// The browsers that are logged in, the one used last first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logins: Vec<LoginView>,
    /// Queued events.
    pub queued: usize,
    /// Open socket connections.
    pub connections: usize,
    /// Counters for display; fields may be added.
    pub counters: serde_json::Value,
}

/// A browser that is logged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginView {
    /// The name under which it decides.
    pub id: String,
    pub used_at: Timestamp,
    /// The process that asked for its link, and its ancestors, as pid and command line, nearest first.
    pub asked_by: String,
}

/// Whether decisions are also stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthView {
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Events in memory that are not stored yet.
    pub spooled: usize,
    /// Events that are lost to the log.
    pub dropped: u64,
}

/// Parameters of [`Operation::Subscribe`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SubscribeRequest {
    /// Only this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
    /// Only events after this number (`seq` for one session, else `ord`). Default: only new events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Only these kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// Result of [`Operation::Subscribe`]; the events follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeResponse {
    pub subscribed: bool,
}

/// Parameters of [`Operation::Listen`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListenRequest {
    /// The address. Default: any open one, otherwise the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// The certificate for an address that other machines can reach. Default: the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ServeTlsConfig>,
    /// Do not exit when idle any more.
    pub keep_running: bool,
}

/// Result of [`Operation::Listen`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenResponse {
    pub pid: u32,
    pub url: String,
    /// The address was not open before.
    pub opened: bool,
    /// SHA-256 of the certificate, if other machines can reach the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// Result of [`Operation::LoginLink`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginLinkResponse {
    /// Valid once, for a few minutes.
    pub url: String,
}

impl std::fmt::Debug for LoginLinkResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LoginLinkResponse(..)")
    }
}

/// Result of [`Operation::RevokeLogins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevokeLoginsResponse {
    /// How many browsers were logged in.
    pub revoked: usize,
}

/// Parameters of [`Operation::Run`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRequest {
    /// The key of the run: agent and a UUID.
    pub run: String,
    /// The run begins. Otherwise only its state is requested.
    pub begins: bool,
    /// The response waits until all its requests are recorded.
    pub drains: bool,
    /// The run is over. The response waits as for `drains`.
    pub ends: bool,
    /// Model APIs that its user had configured: name and base URL.
    pub upstreams: BTreeMap<String, String>,
    /// The session, if it is known before the first request.
    pub session: Option<SessionKey>,
    /// Its requests go through the proxy, so the proxy must listen.
    pub proxied: bool,
    /// The address its requests already go to: the run continues from a resident process that has exited.
    pub at: Option<SocketAddr>,
    /// Its budget, set as soon as its session is known.
    pub budget: Vec<OperatorDecision>,
    /// Settings of its sessions only: configuration keys and values.
    pub settings: BTreeMap<String, String>,
    /// Who started it.
    pub by: Option<String>,
    /// The process that runs it. Only sessions below it get its settings.
    pub pid: Option<u32>,
}

/// Result of [`Operation::Run`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResponse {
    /// The proxy's address.
    pub url: Option<String>,
    /// The run's session, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
}
