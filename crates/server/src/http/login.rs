//! `/login` and `/logout`: exchanges the code of a link for a cookie, and ends a login.

use std::sync::Arc;

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::header::{COOKIE, HOST, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use belay_clock::now;
use belay_core::Timestamp;
use belay_net::PeerUser;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{ApiQuery, parse_query};
use super::error::ApiError;
use super::request_guard::{self, Author};
use super::{blocking, notice_page};
use crate::logins::{Login, Logins};
use crate::state::DaemonState;

pub(super) const PATH: &str = "/login";

/// Browsers keep a cookie for at most 400 days; Belay ends a login sooner if it is not used.
const COOKIE_MAX_AGE_SECONDS: u32 = 400 * 24 * 60 * 60;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LoginQuery {
    code: String,
}

/// Exchanges a code. Only a person who opens the link uses the code up, not a preview or a prefetch of it.
pub(super) async fn log_in(
    State(daemon): State<Arc<DaemonState>>,
    Extension(peer): Extension<PeerUser>,
    method: Method,
    headers: HeaderMap,
    query: ApiQuery<LoginQuery>,
) -> Result<Response, ApiError> {
    let LoginQuery { code } = parse_query(query)?;
    if method != Method::GET || !is_top_level(&headers) {
        return Err(ApiError::forbidden("open the link in a browser"));
    }
    let exchanged = blocking(&daemon, move |daemon| {
        daemon.logins.exchange_code(&code, now()).map_err(|error| {
            tracing::error!(%error, "cannot create a login");
            ApiError::internal()
        })
    });
    let Some((_, cookie)) = exchanged.await? else {
        return Ok(match request_guard::login_of(&daemon, &headers) {
            // For example by the Back button.
            Some(_) => redirect_to_index(),
            None => notice_page::invalid_code(),
        });
    };
    let mut response = redirect_to_index();
    let cookie = set_cookie(&headers, peer, &cookie, COOKIE_MAX_AGE_SECONDS);
    response.headers_mut().insert(SET_COOKIE, cookie.parse().map_err(|_| ApiError::internal())?);
    Ok(response)
}

/// Whether this browser is logged in, and the form token for its scripts. Another site can neither send this request nor
/// read the response.
pub(super) async fn show(State(daemon): State<Arc<DaemonState>>, headers: HeaderMap) -> Json<Value> {
    let login = request_guard::login_of(&daemon, &headers);
    let form_token = login.as_ref().map(|login| daemon.logins.form_token(login));
    Json(json!({ "logged_in": login.is_some(), "form_token": form_token }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LogoutForm {
    form_token: String,
}

/// Ends the login of this browser.
pub(super) async fn log_out(
    State(daemon): State<Arc<DaemonState>>,
    Extension(peer): Extension<PeerUser>,
    headers: HeaderMap,
    form: Result<Form<LogoutForm>, FormRejection>,
) -> Result<Response, ApiError> {
    let form = form.map(|Form(form)| form).map_err(|error| ApiError::bad_request(error.body_text()))?;
    let Author::Login(login) = request_guard::authorize_decision(&daemon, &headers, Some(&form.form_token))? else {
        return Err(ApiError::bad_request("the API token is not a login"));
    };
    blocking(&daemon, move |daemon| {
        daemon.logins.revoke(&login);
        Ok(())
    })
    .await?;
    let mut response = redirect_to_index();
    let cookie = set_cookie(&headers, peer, "", 0);
    response.headers_mut().insert(SET_COOKIE, cookie.parse().map_err(|_| ApiError::internal())?);
    Ok(response)
}

fn redirect_to_index() -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
}

/// The login of a request, by its cookie.
pub(super) fn find(logins: &Logins, headers: &HeaderMap, now: Timestamp) -> Option<Login> {
    let port = port(headers);
    let names = [cookie_name(port, true), cookie_name(port, false)];
    let cookies = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = cookies.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    cookies.find_map(|(name, value)| names.iter().any(|known| known == name).then(|| logins.find(value, now))?)
}

/// Whether a request may be a navigation of a tab: not of a frame, not from a script, not in advance. Old browsers and
/// other programs do not tell.
pub(super) fn is_top_level(headers: &HeaderMap) -> bool {
    let is = |name: &str, expected: &str| headers.get(name).is_none_or(|value| value == expected);
    is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
        && ["sec-purpose", "purpose", "x-moz"].iter().all(|name| !headers.contains_key(*name))
}

/// Whether a person opened the page in a browser. Other programs of the user, an agent's `curl` for example, do not say so.
pub(super) fn is_browser_navigation(headers: &HeaderMap) -> bool {
    headers.contains_key("sec-fetch-mode") && is_top_level(headers)
}

fn set_cookie(headers: &HeaderMap, peer: PeerUser, value: &str, max_age: u32) -> String {
    let is_tls = peer == PeerUser::Remote;
    let name = cookie_name(port(headers), is_tls);
    let secure = if is_tls { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age}{secure}")
}

/// A cookie is for all ports of a host, so its name tells the instances apart. Browsers accept the prefix `__Host-` only
/// from the host itself and only over TLS.
fn cookie_name(port: &str, is_tls: bool) -> String {
    format!("{}belay-login-{port}", if is_tls { "__Host-" } else { "" })
}

/// The port as the browser knows it, which a tunnel may change.
fn port(headers: &HeaderMap) -> &str {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) { port } else { "default" }
}

#[cfg(test)]
mod tests;
