//! Who may talk to us over HTTP.
//!
//! Any page the user opens can make their browser send requests to a loopback address, and a name
//! can be made to resolve to one after the fact. So every request must name a loopback host, and one
//! that a browser sends on behalf of another site is refused whatever it asks.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::MAX_BODY_BYTES;
use super::error::ApiError;
use crate::state::DaemonState;
use crate::token::ApiToken;

/// Nothing but our own style sheet, no scripts, no frames, no forms.
const PAGE_CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) async fn check_origin(State(shared): State<Arc<DaemonState>>, request: Request, next: Next) -> Response {
    shared.lifecycle.mark_active();
    let mut response = match examine(request.headers()) {
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

fn examine(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = headers.get(HOST).map(text).unwrap_or_default();
    if !is_loopback(&host) {
        return Err(ApiError::forbidden(format!(
            "this Belay answers to loopback names only, not to {host:?}; use 127.0.0.1 or localhost"
        )));
    }
    // Said at once, rather than after the rest has been read.
    let length = headers.get(CONTENT_LENGTH).map(text).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_BODY_BYTES as u64) {
        return Err(ApiError::too_long());
    }
    if let Some(origin) = headers.get(ORIGIN).map(text)
        && origin.strip_prefix("http://") != Some(host.as_str())
    {
        return Err(ApiError::forbidden("requests on behalf of other sites are refused"));
    }
    if let Some(site) = headers.get("sec-fetch-site").map(text)
        && !matches!(site.as_str(), "same-origin" | "none")
    {
        return Err(ApiError::forbidden("requests on behalf of other sites are refused"));
    }
    Ok(())
}

/// Whether a `Host` is this machine by name or number, with any port.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
        None => {
            host.rsplit_once(':').map_or(host, |(name, port)| if port.parse::<u16>().is_ok() { name } else { host })
        }
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A decision needs the token.
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
