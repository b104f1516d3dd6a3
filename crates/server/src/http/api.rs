//! `/api/v1`. Responses have the same structure as `--json` output. [`openapi`](super::openapi) describes them.

pub(super) mod approvals;
pub(super) mod config;
pub(super) mod decisions;
pub(super) mod history;
pub(super) mod records;
pub(super) mod reviews;

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use belay_core::Timestamp;
use belay_ipc::views::IncidentView;
use belay_store::{Cursor, EventQuery, IncidentQuery, Order, SessionQuery, SessionSort, Store};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error::ApiError;
use super::signed_request::json_bytes;
use super::{blocking, request_guard};
use crate::dashboard::search_events;
use crate::intake::{self, Authority};
use crate::state::DaemonState;
use crate::views::{EventView, session_view, session_views};

pub(super) type ApiResult = Result<Response, ApiError>;

/// Liveness.
pub(super) async fn healthz() -> Json<Value> {
    Json(json!({ "status": "ok", "version": crate::VERSION }))
}

/// Readiness: decisions are also stored.
pub(super) async fn readyz(State(daemon): State<Arc<DaemonState>>) -> ApiResult {
    let health = blocking(&daemon, |daemon| Ok(daemon.health())).await?;
    let status = if health.ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok((status, Json(health)).into_response())
}

pub(super) async fn status(State(daemon): State<Arc<DaemonState>>) -> ApiResult {
    let status = blocking(&daemon, |daemon| Ok(daemon.status(false))).await?;
    Ok(Json(status).into_response())
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SessionsQuery {
    /// States, separated by commas.
    state: Option<String>,
    agent: Option<String>,
    project: Option<String>,
    /// Include archived sessions.
    all: bool,
    /// Only sessions with an event at or after this time.
    since: Option<Timestamp>,
    /// Only sessions whose id, project, task, branch or model contains this text.
    q: Option<String>,
    sort: SessionSort,
    limit: Option<usize>,
    /// `next` of the previous page.
    after: Option<String>,
}

/// Maximum number of rows in a response.
pub(super) const MAX_ROWS: usize = 1000;

pub(super) type ApiQuery<T> = Result<Query<T>, QueryRejection>;

pub(super) fn parse_query<T>(query: ApiQuery<T>) -> Result<T, ApiError> {
    query.map(|Query(params)| params).map_err(|error| ApiError::bad_request(error.body_text()))
}

pub(super) async fn sessions(State(daemon): State<Arc<DaemonState>>, query: ApiQuery<SessionsQuery>) -> ApiResult {
    let params = parse_query(query)?;
    let after = match params.after.as_deref().map(read_cursor) {
        Some(None) => return Err(ApiError::bad_request("after: invalid cursor; use `next` of the previous page")),
        other => other.flatten(),
    };
    let query = SessionQuery {
        states: params.state.iter().flat_map(|states| states.split(',')).map(str::to_owned).collect(),
        agent: params.agent.map(|name| belay_agents::canonical_id(&name).to_owned()),
        project: params.project,
        archived: params.all,
        since: params.since,
        text: params.q,
        sort: params.sort,
        limit: params.limit.unwrap_or(50).clamp(1, MAX_ROWS),
        after,
        ..SessionQuery::default()
    };
    let (sessions, next) = blocking(&daemon, move |daemon| {
        let store = daemon.readers.get()?;
        let page = store.sessions(&query)?;
        Ok((session_views(&*store, page.rows)?, page.next))
    })
    .await?;
    Ok(Json(json!({ "sessions": sessions, "next": next.map(|next| write_cursor(&next)) })).into_response())
}

fn write_cursor(cursor: &Cursor) -> String {
    format!("{}-{}", cursor.value, cursor.id.0)
}

fn read_cursor(text: &str) -> Option<Cursor> {
    let (value, id) = text.rsplit_once('-')?;
    Some(Cursor { value: value.parse().ok()?, id: belay_store::SessionId(id.parse().ok()?) })
}

pub(super) async fn session(State(daemon): State<Arc<DaemonState>>, Path(id): Path<String>) -> ApiResult {
    let view = blocking(&daemon, move |daemon| {
        let store = daemon.readers.get()?;
        let key = store.resolve(&id)?;
        Ok(session_view(&*store, &key)?)
    })
    .await?;
    view.map(|view| Json(view).into_response()).ok_or_else(|| ApiError::not_found("no such session"))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// Only events after this position: a `seq` within a session, otherwise an `ord`.
    after: Option<u64>,
    /// Only events before this position, likewise.
    before: Option<u64>,
    limit: Option<usize>,
    /// Kinds, separated by commas.
    kind: Option<String>,
    /// Only events that contain these words. One request searches up to 20,000 events; `next` is the position to continue
    /// from, as `after`, or as `before` with `last`.
    q: Option<String>,
    /// Return the last events instead of the first.
    last: bool,
}

/// The query, and the words to search for.
fn event_query(params: EventsQuery) -> (EventQuery, Option<String>) {
    let text = params.q.filter(|text| !text.trim().is_empty());
    let query = EventQuery {
        session: None,
        after: params.after,
        before: params.before,
        kinds: params.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::to_owned).collect(),
        order: if params.last { Order::Last } else { Order::First },
        limit: params.limit.unwrap_or(100).clamp(1, MAX_ROWS),
    };
    (query, text)
}

fn events_body(store: &dyn Store, query: &EventQuery, text: Option<&str>) -> Result<Vec<u8>, ApiError> {
    let (rows, next) = match text {
        Some(text) => {
            let found = search_events(store, query, text)?;
            (found.rows, found.next)
        }
        None => (store.events(query)?, None),
    };
    let views: Vec<EventView<'_>> = rows.iter().map(EventView::from_row).collect();
    let mut body = json!({ "events": views });
    if text.is_some() {
        body["next"] = json!(next);
    }
    serde_json::to_vec(&body).map_err(|_| ApiError::internal())
}

fn as_json(body: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

pub(super) async fn events(State(daemon): State<Arc<DaemonState>>, query: ApiQuery<EventsQuery>) -> ApiResult {
    let (query, text) = event_query(parse_query(query)?);
    blocking(&daemon, move |daemon| events_body(&*daemon.readers.get()?, &query, text.as_deref())).await.map(as_json)
}

pub(super) async fn events_of(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    query: ApiQuery<EventsQuery>,
) -> ApiResult {
    let (mut query, text) = event_query(parse_query(query)?);
    let answer = blocking(&daemon, move |daemon| {
        let store = daemon.readers.get()?;
        query.session = Some(store.resolve(&id)?);
        events_body(&*store, &query, text.as_deref())
    });
    answer.await.map(as_json)
}

/// Records one event or a list of events.
pub(super) async fn post_events(State(daemon): State<Arc<DaemonState>>, request: Request) -> ApiResult {
    let author = request_guard::authorize_decision(&daemon, request.headers(), None);
    let caller = if author.is_ok() { Authority::Owner } else { Authority::Anyone };
    let body = json_bytes(request, &daemon).await?;
    let answers = blocking(&daemon, move |daemon| {
        let many: Vec<&RawValue>;
        let events: Vec<&[u8]> = if body.trim_ascii_start().starts_with(b"[") {
            many = serde_json::from_slice(&body)
                .map_err(|error| ApiError::bad_request(format!("invalid JSON: {error}")))?;
            many.iter().map(|event| event.get().as_bytes()).collect()
        } else {
            vec![&body]
        };
        Ok(intake::observe_json(&daemon.decisions.committer, events.into_iter(), caller))
    })
    .await?;
    daemon.throttle.admit_async(answers.len()).await;
    Ok(Json(json!({ "answers": answers })).into_response())
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct IncidentsQuery {
    /// Include closed incidents.
    all: bool,
    limit: Option<usize>,
}

pub(super) async fn incidents(State(daemon): State<Arc<DaemonState>>, query: ApiQuery<IncidentsQuery>) -> ApiResult {
    let params = parse_query(query)?;
    let query = IncidentQuery {
        closed: params.all,
        limit: params.limit.unwrap_or(100).clamp(1, MAX_ROWS),
        ..Default::default()
    };
    let incidents = blocking(&daemon, move |daemon| Ok(daemon.readers.get()?.incidents(&query)?)).await?;
    let views: Vec<IncidentView> = incidents.into_iter().map(IncidentView::from).collect();
    Ok(Json(json!({ "incidents": views })).into_response())
}

pub(super) async fn incident(State(daemon): State<Arc<DaemonState>>, Path(id): Path<String>) -> ApiResult {
    let incident = blocking(&daemon, move |daemon| Ok(daemon.readers.get()?.incident(&id)?)).await?;
    let view = incident.map(|incident| Json(IncidentView::from(incident)).into_response());
    view.ok_or_else(|| ApiError::not_found("no such incident"))
}
