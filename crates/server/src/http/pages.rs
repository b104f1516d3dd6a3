//! The dashboard's pages: reads views from the store and renders them. `?fragment=ID,ID` returns only these elements.

mod forms;
mod history;
mod incidents;
mod settings;
mod trial;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, ETAG, HOST};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use belay_clock::now;
use belay_core::Timestamp;
use belay_core::event::OperatorDecision;
use belay_core::status::StatusValue;
use belay_dashboard::model::{FoundAgent, LandingPage, SpendPage};
use belay_dashboard::{Frame, Page, Theme, assets};
use belay_hooks::install::{InstallRecord, SELF_TEST_SESSION_PREFIX};
use belay_ipc::DecideRequest;
use belay_ipc::views::{OverviewView, SpendView};
use belay_store::{SessionQuery, Store};
use jiff::tz::TimeZone;
use maud::Markup;
use serde::Deserialize;

use super::api::records::SpendQuery;
use super::error::ApiError;
use super::{blocking, login};
use crate::dashboard::{self, PageWindow};
use crate::intake;
use crate::live::newest_position;
use crate::state::{ConfigSource, DaemonState};

pub(super) fn routes() -> Router<Arc<DaemonState>> {
    Router::new()
        .route("/", get(overview))
        // The path of Loop Watchdog's page.
        .route("/dashboard", get(loop_watchdog_dashboard))
        .route("/sessions/{id}", get(session))
        .route("/sessions/{id}/decisions", post(forms::decide))
        .route("/approvals/{id}", post(forms::answer))
        .route("/incidents", get(incidents::page))
        .route("/incidents/decisions", post(forms::decide_incidents))
        .route("/spend", get(spend))
        .route("/settings", get(settings::page).post(settings::save))
        .route("/history", get(history::page))
        .route("/history/audits", post(history::start_audit))
        .route("/history/audits/{id}", get(history::report))
        .route("/history/audits/{id}/cancel", post(history::cancel_audit))
        .route("/history/try", post(history::try_setting))
        .route("/history/clear", post(history::clear))
        .route("/trial", post(trial::start))
        .route("/trial/remove", post(trial::remove))
        .route("/assets/{version}/{name}", get(asset))
}

/// What a page is rendered with.
pub(super) struct Reader {
    theme: Option<Theme>,
    form_token: Option<String>,
    address: String,
    fragment: Option<String>,
    /// A person opened the page in a tab.
    opened: bool,
}

impl Reader {
    pub(super) fn new(shared: &DaemonState, headers: &HeaderMap, fragment: Option<String>) -> Self {
        let login = login::find(&shared.logins, headers, now());
        let cookies = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut cookies = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        Self {
            theme: cookies.find(|(name, _)| *name == Theme::COOKIE).and_then(|(_, value)| Theme::from_cookie(value)),
            form_token: login.map(|login| shared.logins.form_token(&login)),
            address: headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned(),
            opened: fragment.is_none() && login::is_top_level(headers),
            fragment,
        }
    }

    /// Renders a page or some of its fragments.
    pub(super) fn render(
        &self,
        shared: &DaemonState,
        page: Page,
        whole: impl FnOnce(&Frame<'_>) -> Markup,
        part: impl FnOnce(&Frame<'_>, &str) -> Option<Markup>,
    ) -> Result<Response, ApiError> {
        let store = shared.readers.get()?;
        let overview = shared.overview(now())?;
        let frame = Frame {
            page,
            needs: overview.needs.len() as u64,
            open_incidents: overview.needs.iter().filter(|need| need.incident.is_some()).count() as u64,
            address: &self.address,
            theme: self.theme,
            form_token: self.form_token.as_deref(),
            now: now(),
            zone: &TimeZone::system(),
            position: newest_position(&*store)?,
        };
        let markup = match &self.fragment {
            Some(ids) => part(&frame, ids).ok_or_else(|| ApiError::not_found("this page has no such part"))?,
            None => whole(&frame),
        };
        Ok(Html(markup.into_string()).into_response())
    }

    /// A page that says what went wrong.
    fn error(&self, error: ApiError) -> Response {
        let (status, body) = (error.status(), error.into_body());
        let zone = TimeZone::system();
        let frame = Frame {
            page: Page::Other,
            needs: 0,
            open_incidents: 0,
            address: &self.address,
            theme: self.theme,
            form_token: self.form_token.as_deref(),
            now: now(),
            zone: &zone,
            position: 0,
        };
        let title = if status == StatusCode::NOT_FOUND { "Not found" } else { "This page cannot be shown" };
        let page = belay_dashboard::messages::error(&frame, title, &body.message, body.hint.as_deref());
        (status, Html(page.into_string())).into_response()
    }
}

/// Runs a page's queries on a blocking thread. Errors become pages.
pub(super) async fn respond(
    shared: &Arc<DaemonState>,
    headers: &HeaderMap,
    fragment: Option<String>,
    work: impl FnOnce(&DaemonState, &Reader) -> Result<Response, ApiError> + Send + 'static,
) -> Response {
    let reader = Reader::new(shared, headers, fragment);
    let rendered =
        blocking(shared, move |shared| Ok(work(shared, &reader).unwrap_or_else(|error| reader.error(error))));
    rendered.await.unwrap_or_else(IntoResponse::into_response)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FragmentQuery {
    pub(super) fragment: Option<String>,
}

async fn overview(
    State(shared): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<FragmentQuery>,
) -> Response {
    respond(&shared, &headers, query.fragment, |shared, reader| {
        if is_unused(&*shared.readers.get()?)? {
            let view = LandingPage { agents: found_agents(&shared.config) };
            return reader.render(
                shared,
                Page::Overview,
                |frame| belay_dashboard::landing::page(frame, &view),
                |frame, ids| belay_dashboard::landing::fragment(frame, &view, ids),
            );
        }
        let view = shared.overview(now())?;
        let approvals = shared.approvals.pending();
        reader.render(
            shared,
            Page::Overview,
            |frame| belay_dashboard::overview::page(frame, &view, &approvals),
            |frame, ids| belay_dashboard::overview::fragment(frame, &view, &approvals, ids),
        )
    })
    .await
}

/// Whether no agent was supervised yet. `belay init` tests its hooks with sessions of its own.
fn is_unused(store: &dyn Store) -> Result<bool, ApiError> {
    let newest = SessionQuery { archived: true, limit: 32, ..SessionQuery::default() };
    let sessions = store.sessions(&newest)?.rows;
    Ok(sessions.iter().all(|row| row.key.id.starts_with(SELF_TEST_SESSION_PREFIX)))
}

/// The supported agents that are installed, or whose settings have Belay's hooks.
fn found_agents(config: &ConfigSource) -> Vec<FoundAgent> {
    let records = InstallRecord::all(&config.paths);
    let found = belay_agents::AGENTS.iter().map(|agent| FoundAgent {
        agent: agent.id.to_owned(),
        // Asking an agent for its version can take seconds.
        version: None,
        installed: config.env.find_executable(agent.executable).is_some(),
        supervised: records.iter().any(|record| record.agent == agent.id),
    });
    found.filter(|agent| agent.installed || agent.supervised).collect()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LoopWatchdogQuery {
    session: Option<String>,
    fragment: Option<String>,
}

/// Loop Watchdog's address of a page: the overview, or a session.
async fn loop_watchdog_dashboard(
    state: State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<LoopWatchdogQuery>,
) -> Response {
    let fragment = query.fragment;
    match query.session {
        Some(id) => {
            let query = SessionPageQuery { fragment, ..SessionPageQuery::default() };
            session(state, Path(id), headers, Query(query)).await
        }
        None => overview(state, headers, Query(FragmentQuery { fragment })).await,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionPageQuery {
    fragment: Option<String>,
    /// The last call to show.
    until: Option<u64>,
    /// Only events before this sequence number.
    before: Option<u64>,
}

async fn session(
    State(shared): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Query(query): Query<SessionPageQuery>,
) -> Response {
    let before = query.until.map(|call| call.saturating_add(1));
    let window = PageWindow { before, calls: 0, events_before: query.before };
    respond(&shared, &headers, query.fragment, move |shared, reader| {
        let store = shared.readers.get()?;
        let key = store.resolve(&id)?;
        let view = dashboard::session_page(&*store, &key, window, now())?;
        let view = view.ok_or_else(|| ApiError::not_found(format!("no session {id}")))?;
        if reader.opened && view.session.status.value == StatusValue::Finished {
            // A failure only means that the session stays in the list.
            let seen = DecideRequest::new(key, OperatorDecision::MarkSeen);
            let _ = intake::decide(&shared.decisions.committer, &seen);
        }
        reader.render(
            shared,
            Page::Session,
            |frame| belay_dashboard::session::page(frame, &view),
            |frame, ids| belay_dashboard::session::fragment(frame, &view, ids),
        )
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SpendPageQuery {
    fragment: Option<String>,
    days: Option<u32>,
}

async fn spend(
    State(shared): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<SpendPageQuery>,
) -> Response {
    let days = SpendQuery { days: query.days }.days();
    respond(&shared, &headers, query.fragment, move |shared, reader| {
        let report = dashboard::spend_report(&*shared.readers.get()?, now(), days, &TimeZone::system())?;
        let view = SpendPage {
            days: report.days,
            total: SpendView {
                name: String::new(),
                tokens: report.total.tokens,
                cost_micros: report.total.cost_micros,
                unpriced_micros: report.total.unpriced_micros,
            },
            by_day: report.by_day,
            by_project: report.by_project,
            by_model: report.by_model,
            by_agent: report.by_agent,
        };
        reader.render(
            shared,
            Page::Spend,
            |frame| belay_dashboard::spend::page(frame, &view),
            |frame, ids| belay_dashboard::spend::fragment(frame, &view, ids),
        )
    })
    .await
}

/// A style sheet or script. Its address contains a digest of its content.
async fn asset(uri: Uri) -> Response {
    match assets::find(uri.path()) {
        Some(asset) => {
            let headers = [
                (CONTENT_TYPE, asset.content_type),
                (CACHE_CONTROL, "public, max-age=31536000, immutable"),
                (ETAG, asset.etag.as_str()),
            ];
            (headers, asset.bytes).into_response()
        }
        None => ApiError::not_found("no such asset").into_response(),
    }
}

impl DaemonState {
    /// The overview, at most a second old. Every page shows its counts.
    pub(super) fn overview(&self, now: Timestamp) -> Result<Arc<OverviewView>, ApiError> {
        let store = self.readers.get()?;
        Ok(self.overview_cache.get(&*store, &self.quotas, now)?)
    }
}
