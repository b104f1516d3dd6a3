//! The one place where errors become HTTP answers: a stable code and a sentence for the outside,
//! the detail for the log.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belay_store::StoreError;
use serde_json::json;

use crate::ops;
use crate::protocol::{Code, Refusal};

/// An error with its status.
#[derive(Debug)]
pub(super) struct ApiError(StatusCode, Refusal);

impl ApiError {
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Refusal::new(Code::NotFound, message).into()
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Refusal::new(Code::BadRequest, message).into()
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Refusal::new(Code::Forbidden, message).into()
    }

    pub(super) fn too_long() -> Self {
        Refusal::new(Code::TooLong, format!("a body may be {} bytes long", super::MAX_BODY)).into()
    }

    pub(super) fn method() -> Self {
        Self(StatusCode::METHOD_NOT_ALLOWED, Refusal::new(Code::BadRequest, "this address takes another method"))
    }

    pub(super) fn unauthorized() -> Self {
        let refusal = Refusal::new(Code::Forbidden, "a decision needs the token of this Belay")
            .hint("send `authorization: Bearer TOKEN`; `belay status --token` shows it");
        Self(StatusCode::UNAUTHORIZED, refusal)
    }

    pub(super) fn internal() -> Self {
        Refusal::new(Code::Internal, "a fault in Belay; the log tells more").into()
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.code {
            Code::BadRequest | Code::Unknown => StatusCode::BAD_REQUEST,
            Code::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Code::Refused => StatusCode::UNPROCESSABLE_ENTITY,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::Ambiguous => StatusCode::CONFLICT,
            Code::Forbidden => StatusCode::FORBIDDEN,
            Code::Busy | Code::Store => StatusCode::SERVICE_UNAVAILABLE,
            Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, refusal)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error.is_fault() {
            tracing::error!(%error, "a request failed on the store");
        }
        ops::store_refusal(&error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}
