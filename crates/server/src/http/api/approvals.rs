//! `/api/v1/approvals`: permission prompts that a person can answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use belay_core::event::PermissionAnswer;
use belay_ipc::AnswerRequest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::super::blocking;
use super::super::signed_request::SignedJson;
use super::ApiResult;
use crate::approvals;
use crate::state::DaemonState;

pub(in super::super) async fn list(State(daemon): State<Arc<DaemonState>>) -> ApiResult {
    Ok(Json(json!({ "approvals": daemon.approvals.pending() })).into_response())
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
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    SignedJson { author, body }: SignedJson<AnswerBody>,
) -> ApiResult {
    let AnswerBody { answer, hash, why, by } = body;
    let by = by.or_else(|| author.default_name());
    let request = AnswerRequest { id, answer, hash, why, by, caller: None };
    let response = blocking(&daemon, move |daemon| Ok(approvals::answer(daemon, &request)?)).await?;
    Ok(Json(response).into_response())
}
