//! The dashboard's pages: reads views from the store and renders them. `?fragment=ID,ID` returns only these elements.

mod decision_log;
mod forms;
mod history;
mod incidents;
mod reviews;
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
use belay_dashboard::overview::OverviewPage;
use belay_dashboard::session::{EventFilter, SessionPage};
use belay_dashboard::{Frame, Page, PageView, Theme, assets};
use belay_hooks::install::{InstallRecord, SELF_TEST_SESSION_PREFIX};
use belay_ipc::DecideRequest;
use belay_ipc::views::{OverviewView, SpendView};
use belay_store::{SessionQuery, Store};
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::api::records::SpendQuery;
use super::error::ApiError;
use super::request_guard::Author;
use super::{blocking, login};
use crate::dashboard::{self, PageWindow};
use crate::follower::newest_position;
use crate::intake;
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
        .route("/reviews", get(reviews::list).post(reviews::file))
        .route("/reviews/queue", post(reviews::queue))
        .route("/reviews/{id}", get(reviews::task))
        .route("/reviews/{id}/decisions", post(reviews::decide))
        .route("/reviews/{id}/artifacts/{name}", get(reviews::artifact))
        .route("/trial", post(trial::start))
        .route("/trial/remove", post(trial::remove))
        .route("/assets/{version}/{name}", get(asset))
}

/// Who asks for a page, and for which part of it.
pub(super) struct Reader {
    theme: Option<Theme>,
    form_token: Option<String>,
    /// The name under which the reader's decisions are recorded.
    name: Option<String>,
    address: String,
    home: Option<String>,
    notices: Vec<String>,
    fragment: Option<String>,
    /// A person opened the page in a tab.
    opened: bool,
}

impl Reader {
    pub(super) fn new(daemon: &DaemonState, headers: &HeaderMap, fragment: Option<String>) -> Self {
        let login = login::find(&daemon.logins, headers, now());
        let cookies = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut cookies = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        Self {
            theme: cookies.find(|(name, _)| *name == Theme::COOKIE).and_then(|(_, value)| Theme::from_cookie(value)),
            form_token: login.as_ref().map(|login| daemon.logins.form_token(login)),
            name: login.and_then(|login| Author::Login(login).default_name()),
            address: headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned(),
            home: daemon.config.paths.user_home().map(|home| home.display().to_string()),
            notices: if fragment.is_none() { daemon.config.notices_and_problems() } else { Vec::new() },
            opened: fragment.is_none() && login::is_browser_navigation(headers),
            fragment,
        }
    }

    /// A frame without counts.
    fn frame<'a>(&'a self, page: Page, zone: &'a TimeZone) -> Frame<'a> {
        Frame {
            page,
            needs: 0,
            open_incidents: 0,
            reviews_waiting: 0,
            address: &self.address,
            theme: self.theme,
            notices: &self.notices,
            form_token: self.form_token.as_deref(),
            reader: self.name.as_deref(),
            home: self.home.as_deref(),
            now: now(),
            zone,
            position: 0,
        }
    }

    /// Renders a page or some of its parts.
    fn render(&self, daemon: &DaemonState, view: &dyn PageView) -> Result<Response, ApiError> {
        let store = daemon.readers.get()?;
        let overview = daemon.overview(now())?;
        let zone = TimeZone::system();
        let frame = Frame {
            needs: overview.need_count() as u64,
            open_incidents: overview.needs.iter().filter(|need| need.incident.is_some()).count() as u64,
            reviews_waiting: crate::reviews::waiting_for_person(daemon),
            position: newest_position(&*store)?,
            ..self.frame(view.place(), &zone)
        };
        let markup = match &self.fragment {
            Some(ids) => view.fragment(&frame, ids).ok_or_else(|| ApiError::not_found("this page has no such part"))?,
            None => view.page(&frame),
        };
        Ok(Html(markup.into_string()).into_response())
    }

    /// A page that says what went wrong.
    fn error(&self, error: ApiError) -> Response {
        let (status, body) = (error.status(), error.into_body());
        let zone = TimeZone::system();
        let title = if status == StatusCode::NOT_FOUND { "Not found" } else { "This page cannot be shown" };
        let frame = self.frame(Page::Other, &zone);
        let page = belay_dashboard::messages::error(&frame, title, &body.message, body.hint.as_deref());
        (status, Html(page.into_string())).into_response()
    }
}

/// Runs a page's queries on a blocking thread, and renders the result. Errors become pages.
pub(super) async fn respond<V: PageView + 'static>(
    daemon: &Arc<DaemonState>,
    headers: &HeaderMap,
    fragment: Option<String>,
    read: impl FnOnce(&DaemonState, &Reader) -> Result<V, ApiError> + Send + 'static,
) -> Response {
    let reader = Reader::new(daemon, headers, fragment);
    let rendered = blocking(daemon, move |daemon| {
        let rendered = read(daemon, &reader).and_then(|view| reader.render(daemon, &view));
        Ok(rendered.unwrap_or_else(|error| reader.error(error)))
    });
    rendered.await.unwrap_or_else(IntoResponse::into_response)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FragmentQuery {
    pub(super) fragment: Option<String>,
}

async fn overview(
    State(daemon): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<FragmentQuery>,
) -> Response {
    respond(&daemon, &headers, query.fragment, |daemon, reader| {
        let store = daemon.readers.get()?;
        if is_unused(&*store)? {
            let view: Box<dyn PageView> = Box::new(LandingPage { agents: found_agents(&daemon.config) });
            return Ok(view);
        }
        Ok(Box::new(OverviewPage {
            view: daemon.overview(now())?,
            approvals: daemon.approvals.pending(),
            resolved: decision_log::recent_about_all(daemon, &*store, reader.name.as_deref(), now())?,
        }))
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
    /// Only events that contain these words.
    q: String,
    /// Only events of this kind.
    kind: String,
}

async fn session(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Query(query): Query<SessionPageQuery>,
) -> Response {
    let window = PageWindow {
        before: query.until.map(|call| call.saturating_add(1)),
        calls: 0,
        events_before: query.before,
        events_kind: query.kind.clone(),
        events_text: query.q.clone(),
    };
    let events = EventFilter { text: query.q, kind: query.kind, before: query.before };
    respond(&daemon, &headers, query.fragment, move |daemon, reader| {
        let store = daemon.readers.get()?;
        let key = store.resolve(&id)?;
        let view = dashboard::session_page(&*store, &key, window, now())?;
        let view = view.ok_or_else(|| ApiError::not_found(format!("no session {id}")))?;
        if reader.opened && view.session.status.value == StatusValue::Finished {
            // A failure only means that the session stays in the list.
            let seen = DecideRequest::new(key, OperatorDecision::MarkSeen).by(reader.name.clone());
            let _ = intake::decide(&daemon.decisions.committer, &seen);
        }
        Ok(SessionPage { view, events })
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
    State(daemon): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<SpendPageQuery>,
) -> Response {
    let days = SpendQuery { days: query.days }.days();
    respond(&daemon, &headers, query.fragment, move |daemon, _| {
        let report = dashboard::spend_report(&*daemon.readers.get()?, now(), days, &TimeZone::system())?;
        Ok(SpendPage {
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
        })
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
        let reviews = crate::reviews::for_overview(self);
        Ok(self.overview_cache.get(&*store, &self.limits, reviews, now)?)
    }
}
