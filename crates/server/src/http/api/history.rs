//! Audits of past sessions, and clearing the history.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::super::error::ApiError;
use super::super::signed_request::SignedJson;
use super::super::{blocking, request_guard};
use super::ApiResult;
use crate::audits::{self, AuditWork, DEFAULT_TRY_DAYS, MAX_DAYS};
use crate::history;
use crate::state::DaemonState;

/// What to audit.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuditBody {
    /// Only sessions of the last days, at most 3650; by default all.
    days: Option<u32>,
}

/// A setting to try.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TryBody {
    /// A setting of detection with one value: `detect.NAME`.
    key: String,
    /// The value as `belay config set` takes it.
    value: String,
    /// Only sessions of the last days, at most 3650; by default 30.
    #[serde(default)]
    days: Option<u32>,
}

/// How to clear the history.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ClearBody {
    /// Delete the sessions instead of archiving them.
    delete: bool,
}

fn check_days(days: Option<u32>) -> Result<Option<u32>, ApiError> {
    match days {
        Some(days) if !(1..=MAX_DAYS).contains(&days) => {
            Err(ApiError::bad_request(format!("days: use 1 to {MAX_DAYS}")))
        }
        days => Ok(days),
    }
}

pub(in super::super) async fn audits(State(daemon): State<Arc<DaemonState>>) -> ApiResult {
    let view = blocking(&daemon, |daemon| Ok(daemon.audits.view())).await?;
    Ok(Json(view).into_response())
}

pub(in super::super) async fn audit(State(daemon): State<Arc<DaemonState>>, Path(id): Path<String>) -> ApiResult {
    let found = blocking(&daemon, move |daemon| Ok(daemon.audits.find(&id))).await?;
    found.map(|view| Json(view).into_response()).ok_or_else(|| ApiError::not_found("no such finished audit"))
}

pub(in super::super) async fn start_audit(
    State(daemon): State<Arc<DaemonState>>,
    SignedJson { body, .. }: SignedJson<AuditBody>,
) -> ApiResult {
    start(&daemon, AuditWork { days: check_days(body.days)?, setting: None }).await
}

pub(in super::super) async fn try_setting(
    State(daemon): State<Arc<DaemonState>>,
    SignedJson { body, .. }: SignedJson<TryBody>,
) -> ApiResult {
    let TryBody { key, value, days } = body;
    let days = check_days(days)?.unwrap_or(DEFAULT_TRY_DAYS);
    start(&daemon, AuditWork { days: Some(days), setting: Some((key, value)) }).await
}

async fn start(daemon: &Arc<DaemonState>, work: AuditWork) -> ApiResult {
    let state = Arc::clone(daemon);
    let started = blocking(daemon, move |_| Ok(audits::start(&state, work)?)).await?;
    Ok(Json(started).into_response())
}

pub(in super::super) async fn cancel_audit(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> ApiResult {
    request_guard::authorize_decision(&daemon, &headers, None)?;
    match daemon.audits.cancel(&id) {
        true => Ok(Json(json!({ "cancelled": true })).into_response()),
        false => Err(ApiError::not_found("this audit is not running")),
    }
}

pub(in super::super) async fn clear(
    State(daemon): State<Arc<DaemonState>>,
    SignedJson { author, body: ClearBody { delete } }: SignedJson<ClearBody>,
) -> ApiResult {
    let cleared =
        blocking(&daemon, move |daemon| Ok(history::clear(daemon, delete, author.default_name().as_deref())?)).await?;
    Ok(Json(cleared).into_response())
}
