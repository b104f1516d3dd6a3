//! Loop Watchdog's HTTP endpoints: its paths, bodies and statuses on Belay's sessions.
//!
//! Its sessions are Belay's sessions of the agent [`AGENT_ID`]. Sessions of other agents are listed under their full
//! names. Reading and posting events need no token; decisions need one unless the user configures otherwise
//! (`compat.loop_watchdog_without_token`). A kill is final.

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
use belay_core::event::{OperatorDecision, SessionStarted};
use belay_core::key::validate_id;
use belay_core::{Body, Event, SessionKey, Source, Timestamp};
use belay_store::{Store, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::backend::{Backend, blocking};
use super::event::PostedEvent;
use super::{AGENT_ID, recent_events, simulation, views};

/// The longest cooldown that a resume may set.
const MAX_COOLDOWN_SECS: u64 = 86_400;

type EndpointResult<B> = Result<Response, EndpointError<<B as Backend>::Error>>;

#[derive(Debug)]
enum EndpointError<E> {
    /// An error in FastAPI's format.
    Detail(StatusCode, Value),
    Backend(E),
}

impl<E: IntoResponse> IntoResponse for EndpointError<E> {
    fn into_response(self) -> Response {
        match self {
            Self::Detail(status, detail) => (status, Json(json!({ "detail": detail }))).into_response(),
            Self::Backend(error) => error.into_response(),
        }
    }
}

impl<E> EndpointError<E> {
    fn detail(status: StatusCode, detail: impl Into<Value>) -> Self {
        Self::Detail(status, detail.into())
    }

    fn not_found() -> Self {
        Self::detail(StatusCode::NOT_FOUND, "Not Found")
    }

    /// A field that fails validation.
    fn invalid_field(location: &[&str], problem: &str) -> Self {
        let problem = json!([{ "type": "value_error", "loc": location, "msg": problem, "input": null }]);
        Self::detail(StatusCode::UNPROCESSABLE_ENTITY, problem)
    }
}

/// All endpoints, for a router whose state is the backend.
pub fn routes<B: Backend>() -> Router<Arc<B>> {
    Router::new()
        .route("/v1/watchdog/dashboard", get(dashboard::<B>))
        .route("/v1/watchdog/sessions", get(sessions::<B>))
        .route("/v1/watchdog/status/{*id}", get(status::<B>))
        .route("/v1/watchdog/events", post(post_event::<B>))
        .route("/v1/watchdog/demo/guided-trial", post(guided_trial::<B>))
        .route("/v1/watchdog/history/clear", post(clear_history::<B>))
        // Session ids may contain slashes, so the action is the last segment.
        .route("/v1/watchdog/sessions/{*rest}", get(session_events::<B>).post(decide::<B>))
        .route("/v1/watchdog/{*rest}", any(|| async { EndpointError::<B::Error>::not_found() }))
        .method_not_allowed_fallback(|| async {
            EndpointError::<B::Error>::detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
        })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListQuery {
    include_archived: Option<String>,
}

/// Whether to list archived sessions. Accepts the spellings of a boolean that pydantic accepts.
fn include_archived<E>(query: Result<Query<ListQuery>, QueryRejection>) -> Result<bool, EndpointError<E>> {
    let value = query.ok().map(|Query(query)| query.include_archived.map(|value| value.to_ascii_lowercase()));
    match value.as_ref().map(Option::as_deref) {
        Some(None | Some("false" | "0" | "off" | "f" | "n" | "no")) => Ok(false),
        Some(Some("true" | "1" | "on" | "t" | "y" | "yes")) => Ok(true),
        _ => Err(EndpointError::invalid_field(&["query", "include_archived"], "Input should be a valid boolean")),
    }
}

/// Runs `work` on a blocking thread, where it may use the engine and the store.
async fn run<B: Backend, T: Send + 'static>(
    backend: &Arc<B>,
    work: impl FnOnce(&B) -> Result<T, B::Error> + Send + 'static,
) -> Result<T, EndpointError<B::Error>> {
    blocking(backend, work).await.map_err(EndpointError::Backend)
}

async fn dashboard<B: Backend>(
    State(backend): State<Arc<B>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> EndpointResult<B> {
    let archived = include_archived(query)?;
    let sessions = run(&backend, move |backend| backend.read(|store| views::snapshots(store, archived))).await?;
    Ok(Json(views::dashboard(sessions, backend.now())).into_response())
}

async fn sessions<B: Backend>(
    State(backend): State<Arc<B>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> EndpointResult<B> {
    let archived = include_archived(query)?;
    let sessions = run(&backend, move |backend| backend.read(|store| views::snapshots(store, archived))).await?;
    Ok(Json(json!({ "sessions": sessions })).into_response())
}

async fn status<B: Backend>(State(backend): State<Arc<B>>, Path(id): Path<String>) -> EndpointResult<B> {
    let status = run(&backend, move |backend| backend.read(|store| views::status(store, &resolve(store, &id)?)));
    Ok(Json(status.await?).into_response())
}

async fn session_events<B: Backend>(State(backend): State<Arc<B>>, Path(rest): Path<String>) -> EndpointResult<B> {
    let Some(id) = rest.strip_suffix("/events").map(str::to_owned) else { return Err(EndpointError::not_found()) };
    let events = run(&backend, move |backend| {
        let events = backend.read(|store| recent_events::recent_events(store, &resolve(store, &id)?))?;
        Ok(json!({ "session_id": id, "events": events }))
    });
    Ok(Json(events.await?).into_response())
}

async fn post_event<B: Backend>(
    State(backend): State<Arc<B>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> EndpointResult<B> {
    // A browser sends this content type to another site only after a preflight request.
    require_json(&headers)?;
    let body = body.map_err(|error| EndpointError::detail(error.status(), error.body_text()))?;
    let value: Value = serde_json::from_slice(&body)
        .map_err(|error| EndpointError::detail(StatusCode::BAD_REQUEST, format!("Invalid JSON: {error}")))?;
    let event = PostedEvent::from_value(&value)
        .map_err(|error| EndpointError::detail(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    let is_verified = backend.authorize(&headers).is_ok();
    // The agent itself could claim an intervention by its user.
    let event = if is_verified { event } else { event.without_intervention() };
    let status = run(&backend, move |backend| {
        let key = SessionKey::new(AGENT_ID, &event.identity.watchdog_session_id);
        let now = backend.now();
        let is_new = backend.read(|store| store.session(&key))?.is_none();
        let started = is_new.then(|| new_event(&key, now, Body::SessionStarted(event.started())));
        let mut events: Vec<Event> = started.into_iter().collect();
        events.push(event.into_event(&Uuid::now_v7().to_string(), now));
        for event in &mut events {
            event.session.clone_from(&key);
            if !is_verified {
                event.source = Source::Unverified;
            }
        }
        backend.observe(events)?;
        backend.read(|store| views::status(store, &key))
    });
    Ok((StatusCode::ACCEPTED, Json(status.await?)).into_response())
}

/// The body of a decision.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DecisionBody {
    note: String,
    clear_recent_events: bool,
    cooldown_seconds: u64,
    changed_plan: String,
}

impl DecisionBody {
    /// Parses the body of a request whose sender may decide.
    fn parse<B: Backend>(
        backend: &B,
        headers: &HeaderMap,
        body: Result<Bytes, BytesRejection>,
    ) -> Result<Self, EndpointError<B::Error>> {
        backend.authorize(headers).map_err(EndpointError::Backend)?;
        require_json(headers)?;
        let body = body.map_err(|error| EndpointError::detail(error.status(), error.body_text()))?;
        let parsed: Self = serde_json::from_slice(&body)
            .map_err(|error| EndpointError::invalid_field(&["body"], &error.to_string()))?;
        if parsed.cooldown_seconds > MAX_COOLDOWN_SECS {
            let problem = format!("Input should be less than or equal to {MAX_COOLDOWN_SECS}");
            return Err(EndpointError::invalid_field(&["body", "cooldown_seconds"], &problem));
        }
        Ok(parsed)
    }
}

fn require_json<E>(headers: &HeaderMap) -> Result<(), EndpointError<E>> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(EndpointError::invalid_field(&["body"], "Field required: send content-type: application/json")),
    }
}

async fn decide<B: Backend>(
    State(backend): State<Arc<B>>,
    Path(rest): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> EndpointResult<B> {
    let Some((id, action)) = rest.rsplit_once('/') else { return Err(EndpointError::not_found()) };
    let id = id.to_owned();
    if !["resume", "acknowledge", "kill", "archive"].contains(&action) {
        return Err(EndpointError::not_found());
    }
    let DecisionBody { note, clear_recent_events, cooldown_seconds, changed_plan } =
        DecisionBody::parse(&*backend, &headers, body)?;
    validate_id(&id).map_err(|problem| {
        EndpointError::detail(StatusCode::UNPROCESSABLE_ENTITY, format!("the session id {problem}"))
    })?;
    let require_plan = !changed_plan.trim().is_empty();
    let decision = match action {
        "acknowledge" => OperatorDecision::Acknowledge,
        "kill" => OperatorDecision::Kill,
        "archive" => OperatorDecision::Archive,
        _ => OperatorDecision::Resume {
            cooldown_secs: (cooldown_seconds > 0).then_some(cooldown_seconds),
            plan: None,
            require_plan,
            reset: clear_recent_events,
        },
    };
    let note = if require_plan { views::note_with_plan(&note, &changed_plan) } else { note };
    let status = run(&backend, move |backend| {
        let (key, is_new) = backend.read(|store| {
            let key = resolve(store, &id)?;
            let is_new = store.session(&key)?.is_none();
            Ok((key, is_new))
        })?;
        if is_new {
            let started = Body::SessionStarted(SessionStarted::default());
            backend.observe(vec![new_event(&key, backend.now(), started)])?;
        }
        backend.decide(&key, decision, &note)?;
        backend.read(|store| views::status(store, &key))
    });
    Ok(Json(status.await?).into_response())
}

/// Archives all sessions and says how many. The event log retains them.
async fn clear_history<B: Backend>(
    State(backend): State<Arc<B>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> EndpointResult<B> {
    let DecisionBody { note, .. } = DecisionBody::parse(&*backend, &headers, body)?;
    let cleared = run(&backend, move |backend| {
        let sessions = backend.read(views::session_keys)?;
        sessions.iter().try_for_each(|session| backend.decide(session, OperatorDecision::Archive, &note))?;
        Ok(sessions.len())
    });
    let cleared = cleared.await?;
    Ok(Json(views::cleared_dashboard(cleared, backend.now())).into_response())
}

async fn guided_trial<B: Backend>(State(backend): State<Arc<B>>, headers: HeaderMap) -> EndpointResult<B> {
    backend.authorize(&headers).map_err(EndpointError::Backend)?;
    let created = run(&backend, |backend| {
        let key = simulation::simulate(backend)?;
        let status = backend.read(|store| views::status(store, &key))?;
        let message = "Belay simulated a session that repeats the same failing call, and paused it. \
                       Resume, kill or archive it.";
        Ok(json!({ "session_id": key.to_string(), "status": status, "message": message }))
    });
    Ok((StatusCode::CREATED, Json(created.await?)).into_response())
}

/// The session that a client names: one of Loop Watchdog's, otherwise a session of Belay by its full name.
fn resolve(store: &dyn Store, id: &str) -> Result<SessionKey, StoreError> {
    let own = SessionKey::new(AGENT_ID, id);
    if store.session(&own)?.is_none()
        && let Some(full) = SessionKey::parse(id)
        && store.session(&full)?.is_some()
    {
        return Ok(full);
    }
    Ok(own)
}

/// An event that the endpoints themselves record.
pub(super) fn new_event(key: &SessionKey, at: Timestamp, body: Body) -> Event {
    Event::new(Uuid::now_v7().to_string(), key.clone(), Source::Api, at, body)
}
