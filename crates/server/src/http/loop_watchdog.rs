//! Loop Watchdog's REST interface, for its clients: same paths, bodies and statuses, our sessions.
//!
//! What it calls a session is one of ours under the agent `legacy`; sessions of agents are listed with
//! their own names beside them. Reading and posting events works as it did, decisions need the token
//! unless the user says otherwise (`compat.loop_watchdog_without_token`), and a kill is for good.

mod events;
mod simulation;
mod views;

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use belay_core::event::OperatorDecision;
use belay_core::event::loop_watchdog::LoopWatchdogEvent;
use belay_core::key::MAX_ID_BYTES;
use belay_core::{Body, Event, SessionKey, Source};
use belay_ipc::DecideRequest;
use belay_store::{Store, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::{blocking, request_guard};
use crate::housekeeping::now;
use crate::intake;
use crate::state::DaemonState;

/// The agent under which sessions known by Loop Watchdog's ids only are kept, as the proxy does.
const AGENT_ID: &str = "legacy";

type Answer = Result<Response, LoopWatchdogError>;

/// Why not.
#[derive(Debug)]
enum LoopWatchdogError {
    /// In the shape FastAPI gives it.
    Detail(StatusCode, Value),
    Ours(Box<ApiError>),
}

impl IntoResponse for LoopWatchdogError {
    fn into_response(self) -> Response {
        match self {
            Self::Detail(status, detail) => (status, Json(json!({ "detail": detail }))).into_response(),
            Self::Ours(error) => error.into_response(),
        }
    }
}

pub(super) fn routes() -> Router<Arc<DaemonState>> {
    Router::new()
        .route("/v1/watchdog/dashboard", get(dashboard))
        .route("/v1/watchdog/sessions", get(sessions))
        .route("/v1/watchdog/status/{*id}", get(status))
        .route("/v1/watchdog/events", post(post_event))
        .route("/v1/watchdog/demo/guided-trial", post(guided_trial))
        .route("/v1/watchdog/history/clear", post(clear))
        // Ids may hold slashes: what is asked of a session stands at the end.
        .route("/v1/watchdog/sessions/{*rest}", get(recent).post(decide))
        .route("/v1/watchdog/{*rest}", any(not_found))
        .method_not_allowed_fallback(|| async { detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed") })
}

fn detail(status: StatusCode, detail: impl Into<Value>) -> LoopWatchdogError {
    LoopWatchdogError::Detail(status, detail.into())
}

async fn not_found() -> LoopWatchdogError {
    detail(StatusCode::NOT_FOUND, "Not Found")
}

fn trouble(error: ApiError) -> LoopWatchdogError {
    LoopWatchdogError::Ours(Box::new(error))
}

/// A body that does not fit, field by field.
fn misfit(at: &[&str], problem: &str) -> LoopWatchdogError {
    let problem = json!([{ "type": "value_error", "loc": at, "msg": problem, "input": null }]);
    detail(StatusCode::UNPROCESSABLE_ENTITY, problem)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListQuery {
    include_archived: Option<String>,
}

/// Whether archived sessions are wanted, too, in any of the words that Python's clients have for it.
fn listed(query: Result<Query<ListQuery>, QueryRejection>) -> Result<bool, LoopWatchdogError> {
    let said = query.ok().map(|Query(listed)| listed.include_archived.map(|said| said.to_ascii_lowercase()));
    match said.as_ref().map(Option::as_deref) {
        Some(None | Some("false" | "0" | "off" | "f" | "n" | "no")) => Ok(false),
        Some(Some("true" | "1" | "on" | "t" | "y" | "yes")) => Ok(true),
        _ => Err(misfit(&["query", "include_archived"], "Input should be a valid boolean")),
    }
}

async fn dashboard(State(shared): State<Arc<DaemonState>>, query: Result<Query<ListQuery>, QueryRejection>) -> Answer {
    let archived = listed(query)?;
    let sessions = blocking(&shared, move |shared| Ok(views::snapshots(&*shared.readers.get()?, archived)?)).await;
    Ok(Json(views::dashboard(sessions.map_err(trouble)?, now())).into_response())
}

async fn sessions(State(shared): State<Arc<DaemonState>>, query: Result<Query<ListQuery>, QueryRejection>) -> Answer {
    let archived = listed(query)?;
    let sessions = blocking(&shared, move |shared| Ok(views::snapshots(&*shared.readers.get()?, archived)?)).await;
    Ok(Json(json!({ "sessions": sessions.map_err(trouble)? })).into_response())
}

async fn status(State(shared): State<Arc<DaemonState>>, Path(id): Path<String>) -> Answer {
    let status = blocking(&shared, move |shared| {
        let store = shared.readers.get()?;
        Ok(views::status(&*store, &key(&*store, &id)?)?)
    });
    Ok(Json(status.await.map_err(trouble)?).into_response())
}

/// How a session stands, for those who are refused a model call.
pub(crate) fn loop_watchdog_status(shared: &DaemonState, key: &SessionKey) -> Result<Value, StoreError> {
    views::status(&*shared.readers.get()?, key)
}

async fn recent(State(shared): State<Arc<DaemonState>>, Path(rest): Path<String>) -> Answer {
    let Some(id) = rest.strip_suffix("/events").map(str::to_owned) else { return Err(not_found().await) };
    let events = blocking(&shared, move |shared| {
        let store = shared.readers.get()?;
        let events = events::recent_events(&*store, &key(&*store, &id)?)?;
        Ok(json!({ "session_id": id, "events": events }))
    });
    Ok(Json(events.await.map_err(trouble)?).into_response())
}

async fn post_event(
    State(shared): State<Arc<DaemonState>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    // A page in a browser may send anything but this without asking first.
    require_json(&headers)?;
    let body = body.map_err(|error| detail(error.status(), error.body_text()))?;
    let value: Value = serde_json::from_slice(&body)
        .map_err(|error| detail(StatusCode::BAD_REQUEST, format!("Invalid JSON: {error}")))?;
    let event = LoopWatchdogEvent::from_value(&value)
        .map_err(|error| detail(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    check_id("session", &event.identity.watchdog_session_id)?;
    check_id("event", event.id.as_deref().unwrap_or_default())?;
    let status = blocking(&shared, move |shared| {
        let key = SessionKey::new(AGENT_ID, &event.identity.watchdog_session_id);
        let known = shared.readers.get()?.session(&key)?.is_some();
        let started = (!known).then(|| Body::SessionStarted(event.started()));
        let mut events: Vec<Event> = started.map(|body| told(&key, body)).into_iter().collect();
        events.extend(event.into_events(&new_id(), now()));
        for event in &mut events {
            event.session.clone_from(&key);
        }
        for answer in shared.decisions.committer.observe(events) {
            answer.map_err(intake::to_ipc_error)?;
        }
        Ok(views::status(&*shared.readers.get()?, &key)?)
    });
    Ok((StatusCode::ACCEPTED, Json(status.await.map_err(trouble)?)).into_response())
}

/// What a command may say.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Command {
    note: String,
    clear_recent_events: bool,
    cooldown_seconds: u64,
    changed_plan: String,
}

fn command(
    shared: &DaemonState,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Command, LoopWatchdogError> {
    if !shared.loop_watchdog_without_token {
        request_guard::authorize(&shared.token, headers).map_err(trouble)?;
    }
    require_json(headers)?;
    let body = body.map_err(|error| detail(error.status(), error.body_text()))?;
    let command: Command = serde_json::from_slice(&body).map_err(|error| misfit(&["body"], &error.to_string()))?;
    if command.cooldown_seconds > 86_400 {
        return Err(misfit(&["body", "cooldown_seconds"], "Input should be less than or equal to 86400"));
    }
    Ok(command)
}

fn require_json(headers: &HeaderMap) -> Result<(), LoopWatchdogError> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(misfit(&["body"], "Field required: send content-type: application/json")),
    }
}

async fn decide(
    State(shared): State<Arc<DaemonState>>,
    Path(rest): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let Some((id, action)) = rest.rsplit_once('/') else { return Err(not_found().await) };
    let (id, action) = (id.to_owned(), action.to_owned());
    if !["resume", "acknowledge", "kill", "archive"].contains(&action.as_str()) {
        return Err(not_found().await);
    }
    let Command { note, clear_recent_events, cooldown_seconds, changed_plan } = command(&shared, &headers, body)?;
    check_id("session", &id)?;
    let wants_plan = !changed_plan.trim().is_empty();
    let decision = match action.as_str() {
        "acknowledge" => OperatorDecision::Acknowledge,
        "kill" => OperatorDecision::Kill,
        "archive" => OperatorDecision::Archive,
        _ => OperatorDecision::Resume {
            cooldown_secs: (cooldown_seconds > 0).then_some(cooldown_seconds),
            plan: None,
            require_plan: wants_plan,
            reset: clear_recent_events,
        },
    };
    let note = if wants_plan { views::note_with_plan(&note, &changed_plan) } else { note };
    let status = blocking(&shared, move |shared| {
        let key = key(&*shared.readers.get()?, &id)?;
        if shared.readers.get()?.session(&key)?.is_none() {
            let started = told(&key, Body::SessionStarted(Default::default()));
            shared.decisions.committer.observe(vec![started]).pop().transpose().map_err(intake::to_ipc_error)?;
        }
        intake::decide(&shared.decisions.committer, &DecideRequest { session: key.clone(), decision, note, by: None })?;
        Ok(views::status(&*shared.readers.get()?, &key)?)
    });
    Ok(Json(status.await.map_err(trouble)?).into_response())
}

/// Its history is out of sight afterwards; the log keeps everything.
async fn clear(
    State(shared): State<Arc<DaemonState>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let Command { note, .. } = command(&shared, &headers, body)?;
    let cleared = blocking(&shared, move |shared| {
        for session in views::session_list(&*shared.readers.get()?, false)? {
            let (decision, note) = (OperatorDecision::Archive, note.clone());
            intake::decide(
                &shared.decisions.committer,
                &DecideRequest { session: session.key, decision, note, by: None },
            )?;
        }
        Ok(())
    });
    cleared.await.map_err(trouble)?;
    Ok(Json(views::dashboard(Vec::new(), now())).into_response())
}

async fn guided_trial(State(shared): State<Arc<DaemonState>>) -> Answer {
    let told = blocking(&shared, |shared| {
        let key = simulation::simulate(shared)?;
        let status = views::status(&*shared.readers.get()?, &key)?;
        let message = "A session that goes in circles was played and paused; decide what becomes of it.";
        Ok(json!({ "session_id": key.id, "status": status, "message": message }))
    });
    Ok((StatusCode::CREATED, Json(told.await.map_err(trouble)?)).into_response())
}

/// Refuses a name that could not be kept or shown: whatever it names may be made by this.
fn check_id(what: &str, id: &str) -> Result<(), LoopWatchdogError> {
    let problem = if id.len() > MAX_ID_BYTES {
        format!("the {what} id is {} bytes long; at most {MAX_ID_BYTES} are kept", id.len())
    } else if id.chars().any(char::is_control) {
        format!("the {what} id has control characters in it")
    } else {
        return Ok(());
    };
    Err(detail(StatusCode::UNPROCESSABLE_ENTITY, problem))
}

/// The session a client means: one of Loop Watchdog's own, else one of ours by its whole name.
fn key(store: &dyn Store, id: &str) -> Result<SessionKey, StoreError> {
    let legacy = SessionKey::new(AGENT_ID, id);
    if store.session(&legacy)?.is_none()
        && let Some(ours) = SessionKey::parse(id)
        && store.session(&ours)?.is_some()
    {
        return Ok(ours);
    }
    Ok(legacy)
}

fn told(key: &SessionKey, body: Body) -> Event {
    Event::new(new_id(), key.clone(), Source::Api, now(), body)
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
