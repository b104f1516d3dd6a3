//! Requests that decide: the body of a form or of a program, with its author. Extractors, so that a handler cannot forget
//! the check.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Form, FromRequest, Request};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::error::ApiError;
use super::request_guard::{Author, authorize_decision};
use crate::state::DaemonState;

/// A body of JSON. The author has the API token, or a login and its form token in a header.
pub(super) struct SignedJson<T> {
    pub(super) author: Author,
    pub(super) body: T,
}

impl<T: DeserializeOwned> FromRequest<Arc<DaemonState>> for SignedJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, daemon: &Arc<DaemonState>) -> Result<Self, ApiError> {
        let author = authorize_decision(daemon, request.headers(), None)?;
        let bytes = json_bytes(request, daemon).await?;
        let body = serde_json::from_slice(&bytes).map_err(|error| ApiError::bad_request(error.to_string()))?;
        Ok(Self { author, body })
    }
}

/// Reads a body of JSON. A browser sends this content type from another site only after a CORS preflight, which is never
/// granted.
pub(super) async fn json_bytes(request: Request, daemon: &Arc<DaemonState>) -> Result<Bytes, ApiError> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::bad_request("send content-type: application/json"));
    }
    Bytes::from_request(request, daemon).await.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::too_long(),
        _ => ApiError::bad_request(error.body_text()),
    })
}

/// A form of a page. The author is logged in, and the form has the form token.
pub(super) struct SignedForm {
    pub(super) author: Author,
    pub(super) fields: Fields,
    /// A script sent the form in place.
    in_place: bool,
}

impl FromRequest<Arc<DaemonState>> for SignedForm {
    type Rejection = ApiError;

    async fn from_request(request: Request, daemon: &Arc<DaemonState>) -> Result<Self, ApiError> {
        let headers: HeaderMap = request.headers().clone();
        let form = Form::<Vec<(String, String)>>::from_request(request, daemon).await;
        let Form(fields) = form.map_err(|error| ApiError::bad_request(error.body_text()))?;
        let fields = Fields(fields);
        let author = authorize_decision(daemon, &headers, fields.get("form_token"))?;
        let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        Ok(Self { author, fields, in_place: accept.contains("application/json") })
    }
}

impl SignedForm {
    /// The response to a form that leads to another page.
    pub(super) fn go_to(&self, page: &str) -> Response {
        match self.in_place {
            true => Json(json!({ "location": page })).into_response(),
            false => Redirect::to(page).into_response(),
        }
    }

    /// The response to the form: JSON for a script, otherwise back to a page.
    pub(super) fn done(&self, message: &str, page: &str) -> Response {
        match self.in_place {
            true => Json(json!({ "message": message })).into_response(),
            false => Redirect::to(page).into_response(),
        }
    }
}

/// The fields of a form, in their order.
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The value of a field; `None` if it is absent or empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let parse = |text: &str| {
            text.parse().map_err(|_| ApiError::bad_request(format!("{name}: {text:?} is not a whole number")))
        };
        self.get(name).map(parse).transpose()
    }
}
