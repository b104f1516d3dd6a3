//! Maps errors to HTTP responses: a stable code and a message for the client, details for the log.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belay_ipc::{ErrorBody, ErrorCode};
use belay_store::StoreError;
use serde_json::json;
use tokio::task::JoinError;

use crate::intake;

const TOKEN_HINT: &str = "send `authorization: Bearer TOKEN`; `belay status --token` shows it";
const LOGIN_HINT: &str =
    "log in with `belay open`, or send `authorization: Bearer TOKEN`; `belay status --token` shows it";

/// An error with its status.
#[derive(Debug)]
pub(crate) struct ApiError(StatusCode, ErrorBody);

impl ApiError {
    pub(super) fn into_body(self) -> ErrorBody {
        self.1
    }

    pub(super) fn status(&self) -> StatusCode {
        self.0
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        ErrorBody::new(ErrorCode::NotFound, message).into()
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        ErrorBody::new(ErrorCode::BadRequest, message).into()
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        ErrorBody::new(ErrorCode::Forbidden, message).into()
    }

    pub(super) fn too_long() -> Self {
        ErrorBody::new(ErrorCode::TooLong, format!("the body is longer than {} bytes", super::MAX_BODY_BYTES)).into()
    }

    pub(super) fn timeout(limit: Duration) -> Self {
        let message = format!("the body was not received within {} seconds", limit.as_secs());
        Self(StatusCode::REQUEST_TIMEOUT, ErrorBody::new(ErrorCode::BadRequest, message))
    }

    pub(super) fn method() -> Self {
        Self(StatusCode::METHOD_NOT_ALLOWED, ErrorBody::new(ErrorCode::BadRequest, "method not allowed on this path"))
    }

    pub(super) fn unauthorized() -> Self {
        Self::no_credential("a decision requires a login or the API token")
    }

    pub(super) fn login_required() -> Self {
        Self::no_credential("requests from other machines require a login or the API token")
    }

    fn no_credential(message: &str) -> Self {
        Self(StatusCode::UNAUTHORIZED, ErrorBody::new(ErrorCode::Forbidden, message).hint(LOGIN_HINT))
    }

    pub(super) fn form_token() -> Self {
        let message = "the form token is missing, or belongs to another login";
        ErrorBody::new(ErrorCode::Forbidden, message).hint("reload the page and try again").into()
    }

    pub(super) fn other_user(uid: u32) -> Self {
        let message = format!("this instance belongs to another user; your uid is {uid}");
        ErrorBody::new(ErrorCode::Forbidden, message).hint(TOKEN_HINT).into()
    }

    pub(super) fn unknown_user() -> Self {
        Self::no_credential(
            "this system does not tell which user sent the request; a login or the API token is required",
        )
    }

    pub(super) fn internal() -> Self {
        ErrorBody::new(ErrorCode::Internal, "internal error; see the log").into()
    }
}

impl From<ErrorBody> for ApiError {
    fn from(refusal: ErrorBody) -> Self {
        let status = match refusal.code {
            ErrorCode::BadRequest | ErrorCode::Unknown => StatusCode::BAD_REQUEST,
            ErrorCode::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::Refused => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::Ambiguous | ErrorCode::Conflict => StatusCode::CONFLICT,
            ErrorCode::Forbidden => StatusCode::FORBIDDEN,
            ErrorCode::QueueFull => StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::Busy | ErrorCode::Store => StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, refusal)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error.is_fault() {
            tracing::error!(%error, "store error in a request");
        }
        intake::store_error_to_ipc(&error).into()
    }
}

impl From<JoinError> for ApiError {
    fn from(error: JoinError) -> Self {
        tracing::error!(%error, "a request panicked");
        Self::internal()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}
