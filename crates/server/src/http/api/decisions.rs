//! Decisions about one session or several.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use belay_core::event::OperatorDecision;
use belay_core::{Effect, EventOutcome, SessionKey};
use belay_ipc::views::SessionView;
use belay_ipc::{DecideRequest, ErrorBody};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::blocking;
use super::super::error::ApiError;
use super::super::request_guard::Author;
use super::super::signed_request::SignedJson;
use super::ApiResult;
use crate::intake;
use crate::state::DaemonState;
use crate::views::session_view;

/// Maximum number of sessions of one bulk decision.
const MAX_SESSIONS: usize = 200;

/// A decision.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct DecisionBody {
    #[serde(flatten)]
    pub(crate) decision: OperatorDecision,
    #[serde(default)]
    pub(crate) note: String,
    /// Who decides; by default the login.
    #[serde(default)]
    pub(crate) by: Option<String>,
}

/// The result of a decision.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Decided {
    /// The decision is stored.
    pub(crate) committed: bool,
    pub(crate) effects: Vec<Effect>,
    pub(crate) session: Option<SessionView>,
}

pub(in super::super) async fn decide(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    SignedJson { author, body }: SignedJson<DecisionBody>,
) -> ApiResult {
    let decided = blocking(&daemon, move |daemon| {
        let session = daemon.readers.get()?.resolve(&id)?;
        apply(daemon, session, body, &author)
    });
    Ok(Json(decided.await?).into_response())
}

/// A decision about several sessions.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BulkBody {
    /// Names of sessions; at most 200.
    sessions: Vec<String>,
    #[serde(flatten)]
    decision: DecisionBody,
}

/// The result for one session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum BulkResult {
    Refused { session: String, error: ErrorBody },
    Decided(Box<Decided>),
}

/// Results in the order of the request. A refused one does not affect the others.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BulkResponse {
    results: Vec<BulkResult>,
}

pub(in super::super) async fn decide_bulk(
    State(daemon): State<Arc<DaemonState>>,
    SignedJson { author, body }: SignedJson<BulkBody>,
) -> ApiResult {
    let BulkBody { sessions, decision } = body;
    if sessions.is_empty() || sessions.len() > MAX_SESSIONS {
        let message = format!("sessions: {} given; send 1 to {MAX_SESSIONS}", sessions.len());
        return Err(ApiError::bad_request(message));
    }
    let results = blocking(&daemon, move |daemon| Ok(apply_to_all(daemon, sessions, &decision, &author)));
    Ok(Json(BulkResponse { results: results.await? }).into_response())
}

pub(crate) fn apply_to_all(
    daemon: &DaemonState,
    sessions: Vec<String>,
    decision: &DecisionBody,
    author: &Author,
) -> Vec<BulkResult> {
    let one = |name: &str| {
        let session = daemon.readers.get()?.resolve(name)?;
        apply(daemon, session, decision.clone(), author)
    };
    let result = |session: String| match one(&session) {
        Ok(decided) => BulkResult::Decided(Box::new(decided)),
        Err(error) => BulkResult::Refused { session, error: error.into_body() },
    };
    sessions.into_iter().map(result).collect()
}

/// Records a decision.
pub(crate) fn apply(
    daemon: &DaemonState,
    session: SessionKey,
    request: DecisionBody,
    author: &Author,
) -> Result<Decided, ApiError> {
    let ask = DecideRequest::new(session.clone(), request.decision).note(request.note);
    let ask = ask.by(request.by.or_else(|| author.default_name()));
    let EventOutcome { decision, committed, .. } = intake::decide(&daemon.decisions.committer, &ask)?;
    let session = session_view(&*daemon.readers.get()?, &session)?;
    Ok(Decided { committed, effects: decision.effects, session })
}
