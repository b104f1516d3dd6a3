//! `/api/v1/approvals`: permission prompts that a person can answer.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use belay_core::event::PermissionAnswer;
use belay_ipc::AnswerRequest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::super::error::ApiError;
use super::super::{blocking, request_guard};
use super::{ApiResult, json_body};
use crate::approvals;
use crate::state::DaemonState;

pub(in super::super) async fn list(State(shared): State<Arc<DaemonState>>) -> ApiResult {
    Ok(Json(json!({ "approvals": shared.approvals.pending() })).into_response())
}

/// An answer to a permission prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    answer: PermissionAnswer,
    hash: String,
    #[serde(default)]
    why: String,
    #[serde(default)]
    by: Option<String>,
}

pub(in super::super) async fn answer(
    State(shared): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> ApiResult {
    let author = request_guard::authorize_decision(&shared, &headers, None)?;
    let body = json_body(&headers, body)?;
    let AnswerBody { answer, hash, why, by } =
        serde_json::from_slice(&body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let by = by.or_else(|| author.default_name());
    let request = AnswerRequest { id, answer, hash, why, by, caller: None };
    let response = blocking(&shared, move |shared| Ok(approvals::answer(shared, &request)?)).await?;
    Ok(Json(response).into_response())
}
