//! Protects the HTTP API from other users and from web sites.
//!
//! Every user of the machine can connect to a loopback port. A request must come from a process of this user or carry a
//! credential: the API token, or the cookie of a login where the system does not tell the user. Through a listener that
//! other machines can reach, every request needs a credential. A cookie does not permit anything to another user of the
//! machine: browsers send it to every port of a host, so a server of that user may have received it.
//!
//! Any page the user opens can make the browser send requests to a loopback address, and DNS rebinding can point a name at
//! one. Every request to a loopback listener must therefore name a loopback host, and cross-site requests are refused.
//!
//! A decision requires the API token, or a login together with its form token, which only Belay's own pages contain.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use belay_clock::now;
use belay_core::Timestamp;
use belay_net::{PeerUser, is_loopback_authority};
use belay_proxy::Access;
use serde_json::json;

use super::error::ApiError;
use super::{MAX_BODY_BYTES, login, notice_page};
use crate::logins::{Login, Logins};
use crate::state::DaemonState;
use crate::token::ApiToken;

/// The header with the form token of a request that a script of a page sends.
const FORM_TOKEN_HEADER: &str = "x-belay-form-token";

/// Only Belay's own files: no inline scripts or styles, nothing from other hosts, no frames.
const PAGE_CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Headers of every response.
const SECURITY_HEADERS: [(HeaderName, HeaderValue); 5] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

pub(super) async fn guard(State(daemon): State<Arc<DaemonState>>, mut request: Request, next: Next) -> Response {
    daemon.lifecycle.mark_active();
    discard_public_body(&mut request);
    let peer = request.extensions().get::<PeerUser>().copied().unwrap_or(PeerUser::Unknown);
    let checked = check_headers(request.headers(), peer)
        .and_then(|()| check_access(&daemon.token, &daemon.logins, &request, peer).map_err(Refusal::Access));
    let mut response = match checked {
        Ok(()) if is_public(&request) && !is_owner(&daemon.token, &daemon.logins, request.headers(), peer) => {
            // Other users learn only that something runs here.
            Json(json!({ "status": "ok" })).into_response()
        }
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(&request),
    };
    secure(response.headers_mut());
    response
}

/// Sets the headers that protect pages. A handler may set its own policy and caching.
fn secure(headers: &mut HeaderMap) {
    headers.extend(SECURITY_HEADERS);
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(PAGE_CONTENT_SECURITY_POLICY);
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Why a request does not reach its handler.
#[derive(Debug)]
enum Refusal {
    /// Its headers are not acceptable.
    Headers(ApiError),
    /// Another site sent it through the user's browser.
    CrossSite,
    /// Its sender may not use Belay.
    Access(ApiError),
}

impl Refusal {
    /// A page for a person who follows a link, otherwise JSON.
    fn into_response(self, request: &Request) -> Response {
        let is_navigation = is_navigation(request);
        match self {
            Self::CrossSite if is_navigation => notice_page::cross_site_link(request.uri()),
            Self::CrossSite => ApiError::forbidden("cross-site requests are refused").into_response(),
            Self::Access(error) if is_navigation && error.status() == StatusCode::UNAUTHORIZED => {
                notice_page::login_required()
            }
            Self::Headers(error) | Self::Access(error) => error.into_response(),
        }
    }
}

/// Whether a browser wants to show the response as a page.
fn is_navigation(request: &Request) -> bool {
    let accepts = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    request.method() == Method::GET && accepts.contains("text/html") && login::is_top_level(request.headers())
}

/// Requests that every user may send: a health check reveals nothing.
const PUBLIC_PATHS: &[&str] = &["/healthz"];

fn is_public(request: &Request) -> bool {
    PUBLIC_PATHS.contains(&request.uri().path())
}

/// Drops the body of a request that every user may send. Otherwise other users could take up the memory and the time for
/// bodies.
fn discard_public_body(request: &mut Request) {
    if is_public(request) {
        *request.body_mut() = Body::empty();
    }
}

fn check_access(token: &ApiToken, logins: &Logins, request: &Request, peer: PeerUser) -> Result<(), ApiError> {
    if is_public(request) || is_owner(token, logins, request.headers(), peer) {
        return Ok(());
    }
    match Access::decide(false, peer) {
        // A browser exchanges its code before it has a cookie.
        Access::OwnKeyOnly | Access::Remote if request.uri().path() == login::PATH => Ok(()),
        Access::Full => Ok(()),
        Access::OwnKeyOnly | Access::NoUser => Err(ApiError::unknown_user()),
        Access::Remote => Err(ApiError::login_required()),
        Access::OtherUser(uid) => Err(ApiError::other_user(uid)),
    }
}

/// Whether a request is sent by the owner or proves that it is sent for the owner.
fn is_owner(token: &ApiToken, logins: &Logins, headers: &HeaderMap, peer: PeerUser) -> bool {
    match Access::decide(has_token(token, headers), peer) {
        Access::Full => true,
        Access::OwnKeyOnly | Access::Remote => login::find(logins, headers, now()).is_some(),
        Access::NoUser | Access::OtherUser(_) => false,
    }
}

fn check_headers(headers: &HeaderMap, peer: PeerUser) -> Result<(), Refusal> {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let mut hosts = headers.get_all(HOST).iter().map(text);
    let (host, None) = (hosts.next().unwrap_or_default(), hosts.next()) else {
        return Err(Refusal::Headers(ApiError::bad_request("the request has several Host headers")));
    };
    // Other machines may use any name for this one. Their requests need a credential, which a browser does not send to a
    // name that an attacker chose.
    if peer != PeerUser::Remote && !is_loopback_authority(&host) {
        let message = format!("host {host:?} is not a loopback name; use 127.0.0.1 or localhost");
        return Err(Refusal::Headers(ApiError::forbidden(message)));
    }
    // Refuse before reading the body.
    let length = headers.get(CONTENT_LENGTH).map(text).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_BODY_BYTES as u64) {
        return Err(Refusal::Headers(ApiError::too_long()));
    }
    let scheme = if peer == PeerUser::Remote { "https://" } else { "http://" };
    let is_own = |origin: String| origin.strip_prefix(scheme) == Some(host.as_str());
    let is_same_site = |site: String| matches!(site.as_str(), "same-origin" | "none");
    if headers.get_all(ORIGIN).iter().map(text).all(is_own)
        && headers.get_all("sec-fetch-site").iter().map(text).all(is_same_site)
    {
        return Ok(());
    }
    Err(Refusal::CrossSite)
}

/// Who makes a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// A program with the API token.
    Token,
    /// A person in a browser.
    Login(Login),
}

impl Author {
    /// The name for the log, if the request gives none.
    pub(super) fn default_name(&self) -> Option<String> {
        match self {
            Self::Token => None,
            Self::Login(login) => Some(format!("browser {}", login.short_id())),
        }
    }
}

/// The login of the browser that sent a request.
pub(super) fn login_of(daemon: &DaemonState, headers: &HeaderMap) -> Option<Login> {
    login::find(&daemon.logins, headers, now())
}

/// Checks that a request may decide: it carries the API token, or a login and its form token. The form token is in the
/// header `x-belay-form-token`, or in the form field `form_token`, which the caller passes.
pub(super) fn authorize_decision(
    daemon: &DaemonState,
    headers: &HeaderMap,
    form_token: Option<&str>,
) -> Result<Author, ApiError> {
    decision_author(&daemon.token, &daemon.logins, headers, form_token, now())
}

fn decision_author(
    token: &ApiToken,
    logins: &Logins,
    headers: &HeaderMap,
    form_token: Option<&str>,
    now: Timestamp,
) -> Result<Author, ApiError> {
    if has_token(token, headers) {
        return Ok(Author::Token);
    }
    let login = login::find(logins, headers, now).ok_or_else(ApiError::unauthorized)?;
    let offered = form_token.or_else(|| headers.get(FORM_TOKEN_HEADER)?.to_str().ok());
    match offered.is_some_and(|offered| logins.verify_form_token(&login, offered)) {
        true => Ok(Author::Login(login)),
        false => Err(ApiError::form_token()),
    }
}

/// Whether a request carries the API token.
fn has_token(token: &ApiToken, headers: &HeaderMap) -> bool {
    let offered = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let offered = offered.and_then(|value| value.split_once(' '));
    offered.is_some_and(|(scheme, offered)| scheme.eq_ignore_ascii_case("bearer") && token.matches(offered.trim()))
}

#[cfg(test)]
mod tests;
