//! The one place where errors become HTTP answers: a stable code and a sentence for the outside,
//! the detail for the log.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belay_ipc::{ErrorBody, ErrorCode};
use belay_store::StoreError;
use serde_json::json;

use crate::intake;

/// An error with its status.
#[derive(Debug)]
pub(super) struct ApiError(StatusCode, ErrorBody);

impl ApiError {
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
        ErrorBody::new(ErrorCode::TooLong, format!("a body may be {} bytes long", super::MAX_BODY_BYTES)).into()
    }

    pub(super) fn method() -> Self {
        Self(StatusCode::METHOD_NOT_ALLOWED, ErrorBody::new(ErrorCode::BadRequest, "this address takes another method"))
    }

    pub(super) fn unauthorized() -> Self {
        let refusal = ErrorBody::new(ErrorCode::Forbidden, "a decision needs the token of this Belay")
            .hint("send `authorization: Bearer TOKEN`; `belay status --token` shows it");
        Self(StatusCode::UNAUTHORIZED, refusal)
    }

    pub(super) fn internal() -> Self {
        ErrorBody::new(ErrorCode::Internal, "a fault in Belay; the log tells more").into()
    }
}

impl From<ErrorBody> for ApiError {
    fn from(refusal: ErrorBody) -> Self {
        let status = match refusal.code {
            ErrorCode::BadRequest | ErrorCode::Unknown => StatusCode::BAD_REQUEST,
            ErrorCode::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::Refused => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::Ambiguous => StatusCode::CONFLICT,
            ErrorCode::Forbidden => StatusCode::FORBIDDEN,
            ErrorCode::Busy | ErrorCode::Store => StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, refusal)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error.is_fault() {
            tracing::error!(%error, "a request failed on the store");
        }
        intake::store_error_to_ipc(&error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}
