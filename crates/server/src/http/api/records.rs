//! Reads: the overview, a session's calls and findings, tombstones, spend.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use belay_clock::now;
use belay_core::SessionKey;
use belay_ipc::{
    FindingRequest, FindingsRequest, NotesRequest, OverviewRequest, SessionPageRequest, TombstonesRequest,
};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::super::blocking;
use super::super::error::ApiError;
use super::{ApiQuery, ApiResult, MAX_ROWS, parse_query};
use crate::dashboard;
use crate::reads::StoreRead;
use crate::reviews;
use crate::state::DaemonState;

/// Days of a spend report unless the request says otherwise.
const DEFAULT_DAYS: u32 = 30;
const MAX_DAYS: u32 = 400;

pub(in super::super) async fn overview(State(daemon): State<Arc<DaemonState>>) -> ApiResult {
    let view = blocking(&daemon, |daemon| {
        let mut view = run(daemon, &OverviewRequest {})?;
        view.today.quotas = daemon.limits.view(now());
        view.reviews = reviews::for_overview(daemon);
        Ok(view)
    });
    Ok(Json(view.await?).into_response())
}

pub(in super::super) async fn quotas(State(daemon): State<Arc<DaemonState>>) -> ApiResult {
    Ok(Json(json!({ "quotas": daemon.limits.view(now()) })).into_response())
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct PageQuery {
    /// Only calls before this number; the newest ones of them are returned.
    pub(in super::super) before: Option<u64>,
    /// Number of calls, at most 120; by default 57.
    pub(in super::super) calls: usize,
    /// Only events before this sequence number.
    pub(in super::super) events_before: Option<u64>,
}

pub(in super::super) async fn session_page(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    query: ApiQuery<PageQuery>,
) -> ApiResult {
    let PageQuery { before, calls, events_before } = parse_query(query)?;
    read(&daemon, move |daemon| {
        let session = resolve(daemon, &id)?;
        Ok(SessionPageRequest { session, before, calls, events_before })
    })
    .await
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct LimitQuery {
    limit: Option<usize>,
}

impl LimitQuery {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(100).clamp(1, MAX_ROWS)
    }
}

pub(in super::super) async fn findings(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    query: ApiQuery<LimitQuery>,
) -> ApiResult {
    let limit = parse_query(query)?.limit();
    let findings =
        blocking(&daemon, move |daemon| run(daemon, &FindingsRequest { session: resolve(daemon, &id)?, limit }));
    Ok(Json(json!({ "findings": findings.await? })).into_response())
}

pub(in super::super) async fn finding(State(daemon): State<Arc<DaemonState>>, Path(id): Path<String>) -> ApiResult {
    let finding = blocking(&daemon, move |daemon| run(daemon, &FindingRequest { id })).await?;
    finding.map(|view| Json(view).into_response()).ok_or_else(|| ApiError::not_found("no such finding"))
}

pub(in super::super) async fn notes(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    query: ApiQuery<LimitQuery>,
) -> ApiResult {
    let limit = parse_query(query)?.limit();
    let notes = blocking(&daemon, move |daemon| run(daemon, &NotesRequest { session: resolve(daemon, &id)?, limit }));
    Ok(Json(json!({ "notes": notes.await? })).into_response())
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct TombstonesQuery {
    /// Only this project.
    project: Option<String>,
}

pub(in super::super) async fn tombstones(
    State(daemon): State<Arc<DaemonState>>,
    query: ApiQuery<TombstonesQuery>,
) -> ApiResult {
    let request = TombstonesRequest { project: parse_query(query)?.project, now: now() };
    let tombstones = blocking(&daemon, move |daemon| run(daemon, &request)).await?;
    Ok(Json(json!({ "tombstones": tombstones })).into_response())
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in super::super) struct SpendQuery {
    /// Number of days up to today, at most 400; by default 30.
    pub(in super::super) days: Option<u32>,
}

impl SpendQuery {
    pub(in super::super) fn days(&self) -> u32 {
        self.days.unwrap_or(DEFAULT_DAYS).clamp(1, MAX_DAYS)
    }
}

pub(in super::super) async fn spend(State(daemon): State<Arc<DaemonState>>, query: ApiQuery<SpendQuery>) -> ApiResult {
    let days = parse_query(query)?.days();
    let report = blocking(&daemon, move |daemon| {
        Ok(dashboard::spend_report(&*daemon.readers.get()?, now(), days, &TimeZone::system())?)
    });
    Ok(Json(report.await?).into_response())
}

fn resolve(daemon: &DaemonState, name: &str) -> Result<SessionKey, ApiError> {
    Ok(daemon.readers.get()?.resolve(name)?)
}

fn run<R: StoreRead>(daemon: &DaemonState, request: &R) -> Result<R::Response, ApiError> {
    Ok(request.run(Some(&*daemon.readers.get()?))?)
}

/// Runs a read operation and returns its result as it is.
async fn read<R: StoreRead + 'static>(
    daemon: &Arc<DaemonState>,
    request: impl FnOnce(&DaemonState) -> Result<R, ApiError> + Send + 'static,
) -> ApiResult
where
    R::Response: Send + 'static,
{
    let response = blocking(daemon, move |daemon| run(daemon, &request(daemon)?)).await?;
    Ok(Json(response).into_response())
}
