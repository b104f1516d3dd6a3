//! Review tasks: list, file, decide, land. Filing equals running commands, so it needs what a decision needs.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use belay_core::redact::redact;
use belay_ipc::views::{ArtifactView, ReviewSummaryView, ReviewView, ReviewsView};
use belay_ipc::{
    DecideReviewRequest, FileReviewRequest, LandReviewRequest, PauseReviewsRequest, ReviewDecision, ReviewRequest,
    ReviewsRequest,
};
use belay_review::Task;
use belay_review_runner::task_dir::{self, JournalEntry};
use belay_review_runner::{read, root};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::blocking;
use super::super::error::ApiError;
use super::super::request_guard::Author;
use super::super::signed_request::SignedJson;
use super::{ApiQuery, ApiResult, MAX_ROWS, parse_query};
use crate::reviews;
use crate::state::DaemonState;

/// The name of a program that decides with the API token.
pub(in super::super) const API_AUTHOR: &str = "API token";

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReviewsQuery {
    limit: Option<usize>,
    /// Skip this many.
    offset: usize,
    /// Only tasks that have not ended.
    active: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct JournalQuery {
    /// Only records after this number; 0 for all.
    after: usize,
}

/// How to land a result.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LandBody {
    /// Change the files of the project without a commit, instead of merging.
    apply: bool,
    /// Keep the commits of the agent, which nobody has reviewed one by one, in the history.
    keep_commits: bool,
    /// Land it although issues are open or nobody has approved it.
    unapproved: bool,
}

/// A record of a task's journal.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JournalRecordView {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// The record: its time, kind and contents. Secrets are redacted.
    pub(crate) record: serde_json::Value,
}

/// The records of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JournalView {
    pub(crate) records: Vec<JournalRecordView>,
}

/// The artifacts of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArtifactsView {
    pub(crate) artifacts: Vec<ArtifactView>,
}

pub(in super::super) async fn list(State(daemon): State<Arc<DaemonState>>, query: ApiQuery<ReviewsQuery>) -> ApiResult {
    let ReviewsQuery { limit, offset, active } = parse_query(query)?;
    let request = ReviewsRequest { limit: Some(limit.unwrap_or(50).clamp(1, MAX_ROWS)), offset, active };
    let view: ReviewsView = blocking(&daemon, move |daemon| Ok(reviews::list(daemon, &request)?)).await?;
    Ok(Json(view).into_response())
}

pub(in super::super) async fn file(
    State(daemon): State<Arc<DaemonState>>,
    SignedJson { author, body }: SignedJson<FileReviewRequest>,
) -> ApiResult {
    let request = FileReviewRequest { by: Some(name(&author)), ..body };
    let filed: ReviewSummaryView =
        blocking(&daemon, move |daemon| Ok(reviews::file_from_browser(daemon, &request)?)).await?;
    Ok(Json(filed).into_response())
}

pub(in super::super) async fn task(State(daemon): State<Arc<DaemonState>>, Path(id): Path<String>) -> ApiResult {
    let view: ReviewView = blocking(&daemon, move |daemon| Ok(reviews::view(daemon, &ReviewRequest { id })?)).await?;
    Ok(Json(view).into_response())
}

/// The journal from a number on: a client that reconnects reads what it missed, or everything.
pub(in super::super) async fn journal(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    query: ApiQuery<JournalQuery>,
) -> ApiResult {
    let JournalQuery { after } = parse_query(query)?;
    let view = blocking(&daemon, move |daemon| {
        let dir = read::resolve(&root(&daemon.config.paths), &id).map_err(reviews::to_ipc_error)?;
        let entries = dir.read_journal::<Task>().map_err(|error| reviews::to_ipc_error(error.into()))?;
        let records = entries.iter().enumerate().skip(after).map(|(index, entry)| record_view(index, entry));
        Ok(JournalView { records: records.collect() })
    })
    .await?;
    Ok(Json(view).into_response())
}

fn record_view(index: usize, entry: &JournalEntry) -> JournalRecordView {
    let text = serde_json::to_string(entry).unwrap_or_default();
    // Redaction keeps JSON valid; if it did not, nothing is shown.
    let record = serde_json::from_str(&redact(&text)).unwrap_or_default();
    JournalRecordView { number: index + 1, record }
}

pub(in super::super) async fn decide(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    SignedJson { author, body: decision }: SignedJson<ReviewDecision>,
) -> ApiResult {
    let request = DecideReviewRequest { id, decision, by: Some(name(&author)) };
    let decided = blocking(&daemon, move |daemon| Ok(reviews::decide(daemon, &request)?)).await?;
    Ok(Json(decided).into_response())
}

pub(in super::super) async fn land(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    SignedJson { author, body: LandBody { apply, keep_commits, unapproved } }: SignedJson<LandBody>,
) -> ApiResult {
    let request = LandReviewRequest { id, apply, keep_commits, unapproved, by: Some(name(&author)) };
    let landed = blocking(&daemon, move |daemon| Ok(reviews::land(daemon, &request)?)).await?;
    Ok(Json(landed).into_response())
}

pub(in super::super) async fn pause(
    State(daemon): State<Arc<DaemonState>>,
    SignedJson { body, .. }: SignedJson<PauseReviewsRequest>,
) -> ApiResult {
    let view = blocking(&daemon, move |daemon| Ok(reviews::pause(daemon, body)?)).await?;
    Ok(Json(view).into_response())
}

pub(in super::super) async fn artifacts(State(daemon): State<Arc<DaemonState>>, Path(id): Path<String>) -> ApiResult {
    let artifacts = blocking(&daemon, move |daemon| {
        let dir = read::resolve(&root(&daemon.config.paths), &id).map_err(reviews::to_ipc_error)?;
        let filed = dir.read_filed::<Task>().map_err(|error| reviews::to_ipc_error(error.into()))?;
        Ok(task_dir::artifacts(&filed.artifacts))
    })
    .await?;
    Ok(Json(ArtifactsView { artifacts }).into_response())
}

/// One artifact as text, redacted.
pub(in super::super) async fn artifact(
    State(daemon): State<Arc<DaemonState>>,
    Path((id, name)): Path<(String, String)>,
) -> ApiResult {
    let text = blocking(&daemon, move |daemon| artifact_text(daemon, &id, &name)).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

pub(in super::super) fn artifact_text(daemon: &DaemonState, id: &str, name: &str) -> Result<String, ApiError> {
    let dir = read::resolve(&root(&daemon.config.paths), id).map_err(reviews::to_ipc_error)?;
    let filed = dir.read_filed::<Task>().map_err(|error| reviews::to_ipc_error(error.into()))?;
    let bytes = task_dir::read_artifact(&filed.artifacts, name).map_err(reviews::to_ipc_error)?;
    Ok(redact(&String::from_utf8_lossy(&bytes)).into_owned())
}

pub(in super::super) fn name(author: &Author) -> String {
    author.default_name().unwrap_or_else(|| API_AUTHOR.to_owned())
}
