//! Past sessions: audits, what a setting would have done, and clearing the history.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{Html, IntoResponse, Response};
use belay_core::format::pluralize;
use belay_dashboard::model::{AuditLine, AuditProgress, HistoryPage, SettingTrial, TrialOutcome};
use serde::Deserialize;

use super::super::blocking;
use super::super::error::ApiError;
use super::super::signed_request::{Fields, SignedForm};
use super::{Reader, respond};
use crate::audits::{self, AuditView, AuditWork, DEFAULT_TRY_DAYS, MAX_DAYS, RulesOutcome, TriedSettingView};
use crate::history::{self, ClearedHistory};
use crate::state::DaemonState;

/// The report is one page with its own styles, and contains text that agents wrote. It may do nothing.
const REPORT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HistoryQuery {
    fragment: Option<String>,
    /// The setting to try.
    key: Option<String>,
}

pub(super) async fn page(
    State(daemon): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<HistoryQuery>,
) -> Response {
    let key = query.key;
    respond(&daemon, &headers, query.fragment, move |daemon, _| view(daemon, key)).await
}

fn view(daemon: &DaemonState, key: Option<String>) -> Result<HistoryPage, ApiError> {
    let audits = daemon.audits.view();
    let keys = audits::settings(&daemon.config)?;
    let (selected, not_tried) = match key {
        Some(key) if keys.iter().any(|(known, _)| *known == key) => (Some(key), None),
        key => (None, key),
    };
    let tried = audits.tried.filter(|tried| selected.as_ref().is_none_or(|key| *key == tried.key));
    let (failed, tried) = match tried {
        Some(TriedSettingView { at, scope, error: error @ Some(_), .. }) => {
            (Some(AuditView { at, scope, error, ..AuditView::default() }), None)
        }
        tried => (None, tried),
    };
    Ok(HistoryPage {
        running: audits.running.map(|running| AuditProgress {
            id: running.id,
            started_at: running.started_at,
            done: running.done,
            total: running.total,
            scope: running.scope,
        }),
        audits: failed
            .into_iter()
            .chain(audits.audits)
            .map(|audit| AuditLine {
                id: audit.id,
                at: audit.at,
                scope: audit.scope,
                sessions: audit.sessions,
                calls: audit.calls,
                cost_micros: audit.cost_micros,
                loops: audit.loops,
                wasted_micros: audit.in_loops_micros,
                error: audit.error,
            })
            .collect(),
        trial: tried.map(|tried| setting_trial(daemon, tried)).transpose()?,
        keys,
        selected,
        not_tried,
    })
}

fn setting_trial(daemon: &DaemonState, tried: TriedSettingView) -> Result<SettingTrial, ApiError> {
    let outcome = |outcome: RulesOutcome| TrialOutcome {
        nudges: outcome.nudged,
        pauses: outcome.paused,
        wasted_micros: outcome.in_loops_micros,
    };
    let store = daemon.readers.get()?;
    let mut differences = Vec::new();
    for difference in tried.differences {
        // Only a session that Belay recorded has a page; others are known from their transcripts alone.
        let key = belay_core::SessionKey::parse(&difference.session);
        let is_known = key.map(|key| store.session(&key)).transpose()?.flatten().is_some();
        let session = if is_known { difference.session } else { String::new() };
        differences.push((session, difference.title, difference.what));
    }
    Ok(SettingTrial {
        key: tried.key,
        value: tried.value,
        current: tried.current,
        sessions: tried.sessions,
        before: outcome(tried.before),
        after: outcome(tried.after),
        differences,
    })
}

/// The field `days`: a number, or empty for any time.
fn days(fields: &Fields) -> Result<Option<u32>, ApiError> {
    let Some(days) = fields.number("days")? else { return Ok(None) };
    let days = u32::try_from(days).ok().filter(|days| (1..=MAX_DAYS).contains(days));
    days.map(Some).ok_or_else(|| ApiError::bad_request(format!("days: use 1 to {MAX_DAYS}")))
}

pub(super) async fn start_audit(
    State(daemon): State<Arc<DaemonState>>,
    form: SignedForm,
) -> Result<Response, ApiError> {
    let work = AuditWork { days: days(&form.fields)?, setting: None };
    start(&daemon, work).await?;
    Ok(form.done("The audit has started; History shows its progress.", "/history"))
}

pub(super) async fn try_setting(
    State(daemon): State<Arc<DaemonState>>,
    form: SignedForm,
) -> Result<Response, ApiError> {
    let named = |name: &str| {
        let value = form.fields.get(name).map(str::to_owned);
        value.ok_or_else(|| ApiError::bad_request(format!("{name}: no {name} is given")))
    };
    let work = AuditWork {
        days: Some(days(&form.fields)?.unwrap_or(DEFAULT_TRY_DAYS)),
        setting: Some((named("key")?, named("value")?)),
    };
    start(&daemon, work).await?;
    Ok(form.done("Belay replays your past sessions with this value. The result appears here.", "/history#try"))
}

async fn start(daemon: &Arc<DaemonState>, work: AuditWork) -> Result<(), ApiError> {
    let state = Arc::clone(daemon);
    blocking(daemon, move |_| Ok(audits::start(&state, work)?)).await.map(drop)
}

pub(super) async fn cancel_audit(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    form: SignedForm,
) -> Result<Response, ApiError> {
    match daemon.audits.cancel(&id) {
        true => Ok(form.done("Cancelled. The audit stops after the file that it is reading.", "/history")),
        false => Err(ApiError::not_found("this audit is not running")),
    }
}

/// The report of an audit: a page of its own.
pub(super) async fn report(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let report = blocking(&daemon, move |daemon| Ok(daemon.audits.report(&id))).await?;
    Ok(match report {
        Some(report) => ([(CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(report)).into_response(),
        None => Reader::new(&daemon, &headers, None).error(ApiError::not_found("this audit has no report")),
    })
}

pub(super) async fn clear(State(daemon): State<Arc<DaemonState>>, form: SignedForm) -> Result<Response, ApiError> {
    let (delete, author) = (form.fields.is_set("delete"), form.author.clone());
    let cleared =
        blocking(&daemon, move |daemon| Ok(history::clear(daemon, delete, author.default_name().as_deref())?)).await?;
    Ok(form.done(&describe(cleared), "/settings"))
}

/// What was cleared, in one or two sentences.
fn describe(cleared: ClearedHistory) -> String {
    let sessions = |count: u64| pluralize(count, "session");
    let mut text = match (cleared.archived, cleared.deleted) {
        (0, 0) => "There was nothing to clear.".to_owned(),
        (archived, 0) => format!("Archived {}.", sessions(archived)),
        (0, deleted) => format!("Deleted {}.", sessions(deleted)),
        (archived, deleted) => format!("Deleted {}, archived {archived} that stay killed.", sessions(deleted)),
    };
    match cleared.kept {
        0 => {}
        1 => text.push_str(" 1 session stays: it is active or waits for you."),
        kept => text.push_str(&format!(" {kept} sessions stay: they are active or wait for you.")),
    }
    text
}
