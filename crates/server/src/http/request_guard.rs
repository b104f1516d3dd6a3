//! Protects the HTTP API from other users and from web sites.
//!
//! Every user of the machine can connect to a loopback port. A request must come from a process of this user or carry the
//! API token. (A cookie of the dashboard will be a third way; see [`has_credential`].)
//!
//! Any page the user opens can make the browser send requests to a loopback address, and DNS rebinding can point a name at
//! one. Every request must therefore name a loopback host, and cross-site requests are refused.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use belay_net::{PeerUser, is_loopback_authority};
use belay_proxy::Access;

use super::MAX_BODY_BYTES;
use super::error::ApiError;
use crate::state::DaemonState;
use crate::token::ApiToken;

/// Allows only Belay's own style sheet: no scripts, frames or forms.
const PAGE_CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) async fn guard(State(shared): State<Arc<DaemonState>>, mut request: Request, next: Next) -> Response {
    shared.lifecycle.mark_active();
    discard_public_body(&mut request);
    let checked = check_headers(request.headers()).and_then(|()| check_access(&shared.token, &request));
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_CONTENT_SECURITY_POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Requests that every user may send: a health check reveals nothing.
const PUBLIC_PATHS: &[&str] = &["/healthz"];

/// Drops the body of a request that every user may send. Otherwise other users could take up the memory and the time for
/// bodies.
fn discard_public_body(request: &mut Request) {
    if PUBLIC_PATHS.contains(&request.uri().path()) {
        *request.body_mut() = Body::empty();
    }
}

fn check_access(token: &ApiToken, request: &Request) -> Result<(), ApiError> {
    if PUBLIC_PATHS.contains(&request.uri().path()) {
        return Ok(());
    }
    let peer = request.extensions().get::<PeerUser>().copied().unwrap_or(PeerUser::Unknown);
    match Access::decide(has_credential(token, request.headers()), peer) {
        Access::Full => Ok(()),
        Access::OwnKeyOnly | Access::NoUser => Err(ApiError::unknown_user()),
        Access::OtherUser(uid) => Err(ApiError::other_user(uid)),
    }
}

/// Whether a request proves that it is sent for the owner.
fn has_credential(token: &ApiToken, headers: &HeaderMap) -> bool {
    authorize(token, headers).is_ok()
}

fn check_headers(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = headers.get(HOST).map(text).unwrap_or_default();
    if !is_loopback_authority(&host) {
        return Err(ApiError::forbidden(format!("host {host:?} is not a loopback name; use 127.0.0.1 or localhost")));
    }
    // Refuse before reading the body.
    let length = headers.get(CONTENT_LENGTH).map(text).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_BODY_BYTES as u64) {
        return Err(ApiError::too_long());
    }
    if let Some(origin) = headers.get(ORIGIN).map(text)
        && origin.strip_prefix("http://") != Some(host.as_str())
    {
        return Err(ApiError::forbidden("cross-site requests are refused"));
    }
    if let Some(site) = headers.get("sec-fetch-site").map(text)
        && !matches!(site.as_str(), "same-origin" | "none")
    {
        return Err(ApiError::forbidden("cross-site requests are refused"));
    }
    Ok(())
}

/// Checks the API token, which decisions require.
pub(super) fn authorize(token: &ApiToken, headers: &HeaderMap) -> Result<(), ApiError> {
    let offered = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let offered =
        offered.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    match offered {
        Some((_, offered)) if token.matches(offered.trim()) => Ok(()),
        _ => Err(ApiError::unauthorized()),
    }
}

#[cfg(test)]
mod tests;
