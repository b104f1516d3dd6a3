//! Review tasks: the list with its form, and the page of a task.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use belay_core::task::{UnknownWorkspace, WorkspaceMode};
use belay_core::{Subject, format};
use belay_dashboard::model::{AgentChoice, ReviewForm};
use belay_dashboard::review::{IssueFilter, ReviewPage, RoundDiff};
use belay_dashboard::reviews::ReviewsPage;
use belay_ipc::{
    DecideReviewRequest, FileReviewRequest, LandReviewRequest, PauseReviewsRequest, ReviewDecision, ReviewRequest,
    ReviewsRequest,
};
use serde::Deserialize;

use super::super::api::reviews::{artifact_text, name};
use super::super::blocking;
use super::super::error::ApiError;
use super::super::signed_request::{Fields, SignedForm};
use super::forms::micros;
use super::{FragmentQuery, respond};
use crate::reviews;
use crate::state::DaemonState;

/// Tasks that the list shows.
const MAX_TASKS: usize = 200;
/// Longest diff that the page shows.
const MAX_DIFF_BYTES: usize = 256 * 1024;

pub(super) async fn list(
    State(daemon): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<FragmentQuery>,
) -> Response {
    respond(&daemon, &headers, query.fragment, |daemon, _| {
        let view = reviews::list(daemon, &ReviewsRequest { limit: Some(MAX_TASKS), ..ReviewsRequest::default() })?;
        let (rounds, round_minutes) = reviews::default_limits(daemon)?;
        let form = ReviewForm {
            agents: agents(daemon),
            project_dirs: reviews::roots(daemon)?.iter().map(|root| root.display().to_string()).collect(),
            rounds,
            round_minutes,
            queue_is_full: view.queued >= view.queue_depth,
        };
        Ok(ReviewsPage { view, form })
    })
    .await
}

/// The agents that run headless, installed ones first.
fn agents(daemon: &DaemonState) -> Vec<AgentChoice> {
    let headless = belay_agents::AGENTS.iter().filter(|agent| agent.headless.is_some());
    let mut agents: Vec<AgentChoice> = headless
        .map(|agent| AgentChoice {
            id: agent.id.to_owned(),
            name: agent.display_name.to_owned(),
            installed: reviews::is_installed(daemon, agent),
        })
        .collect();
    agents.sort_by_key(|agent| !agent.installed);
    agents
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskQuery {
    fragment: Option<String>,
    /// Number of the round whose diff is shown.
    diff: Option<u32>,
    /// Which issues the ledger shows.
    issues: Option<String>,
}

pub(super) async fn task(
    State(daemon): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<TaskQuery>,
) -> Response {
    let TaskQuery { fragment, diff, issues } = query;
    let wants_diff = fragment.is_none();
    respond(&daemon, &headers, fragment, move |daemon, _| {
        let view = reviews::view(daemon, &ReviewRequest { id })?;
        let diff = diff.filter(|_| wants_diff).and_then(|round| {
            let text = artifact_text(daemon, &view.summary.id, &format!("{round:02}.diff")).ok()?;
            Some(bounded_diff(round, text))
        });
        Ok(ReviewPage { view, diff, issues: IssueFilter::from_query(issues.as_deref().unwrap_or_default()) })
    })
    .await
}

fn bounded_diff(round: u32, mut text: String) -> RoundDiff {
    let truncated = text.len() > MAX_DIFF_BYTES;
    if truncated {
        let end = (0..=MAX_DIFF_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(text[..end].rfind('\n').unwrap_or(end));
    }
    RoundDiff { round, text, truncated }
}

pub(super) async fn artifact(
    State(daemon): State<Arc<DaemonState>>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let text = blocking(&daemon, move |daemon| artifact_text(daemon, &id, &name)).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

pub(super) async fn file(State(daemon): State<Arc<DaemonState>>, form: SignedForm) -> Result<Response, ApiError> {
    let fields = &form.fields;
    let text = |name: &str| fields.get(name).map(str::to_owned);
    let small = |name: &str| Ok::<_, ApiError>(fields.number(name)?.map(|n| u32::try_from(n).unwrap_or(u32::MAX)));
    let request = FileReviewRequest {
        title: text("title"),
        prompt: text("prompt").ok_or_else(|| ApiError::bad_request("prompt: say what to build"))?,
        project_dir: text("project_dir")
            .ok_or_else(|| ApiError::bad_request("directory: name the directory of the project"))?,
        builder: text("builder"),
        reviewers: fields.all("reviewer").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        gates: fields.get("gates").unwrap_or_default().lines().map(str::to_owned).collect(),
        arbiter: text("arbiter"),
        quorum: small("quorum")?,
        rounds: small("rounds")?,
        round_timeout_secs: minutes(fields)?.map(|minutes| minutes * 60),
        budget_micros: dollars(fields)?,
        budget_tokens: tokens(fields)?,
        workspace: workspace(fields)?,
        by: Some(name(&form.author)),
        ..FileReviewRequest::default()
    };
    let filed = blocking(&daemon, move |daemon| Ok(reviews::file_from_browser(daemon, &request)?)).await?;
    Ok(form.go_to(&Subject::review(filed.id).page()))
}

fn workspace(fields: &Fields) -> Result<Option<WorkspaceMode>, ApiError> {
    let name = fields.get("workspace").filter(|name| !name.is_empty());
    name.map(str::parse).transpose().map_err(|error: UnknownWorkspace| ApiError::bad_request(error.to_string()))
}

/// Longest round that a form takes: a week.
const MAX_ROUND_MINUTES: u64 = 7 * 24 * 60;

fn minutes(fields: &Fields) -> Result<Option<u64>, ApiError> {
    match fields.number("minutes")? {
        Some(minutes) if !(1..=MAX_ROUND_MINUTES).contains(&minutes) => {
            let message = format!("minutes: a round takes 1 to {MAX_ROUND_MINUTES} minutes, not {minutes}");
            Err(ApiError::bad_request(message))
        }
        minutes => Ok(minutes),
    }
}

/// The field `tokens`; `None` if it is empty. A budget of nothing would stop the task before it begins.
fn tokens(fields: &Fields) -> Result<Option<u64>, ApiError> {
    match fields.number("tokens")? {
        Some(0) => Err(ApiError::bad_request("tokens: a budget must be positive; leave the field empty for none")),
        tokens => Ok(tokens),
    }
}

/// The field `dollars` in millionths; `None` if it is empty.
fn dollars(fields: &Fields) -> Result<Option<u64>, ApiError> {
    fields.get("dollars").map(micros).transpose()
}

pub(super) async fn queue(State(daemon): State<Arc<DaemonState>>, form: SignedForm) -> Result<Response, ApiError> {
    let paused = form.fields.is_set("paused");
    blocking(&daemon, move |daemon| Ok(reviews::pause(daemon, PauseReviewsRequest { paused })?)).await?;
    let message = if paused { "Paused: nothing new starts." } else { "The queue runs." };
    Ok(form.done(message, "/reviews"))
}

pub(super) async fn decide(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    form: SignedForm,
) -> Result<Response, ApiError> {
    let page = Subject::review(&*id).page();
    let by = Some(name(&form.author));
    let wanted = form.fields.get("decision").unwrap_or_default();
    if let "land" | "land_apply" = wanted {
        let apply = wanted == "land_apply";
        // A page offers this for what is approved. The person accepts anything else first.
        let request = LandReviewRequest { id, apply, keep_commits: false, unapproved: false, by };
        let landed = blocking(&daemon, move |daemon| Ok(reviews::land(daemon, &request)?)).await?;
        return Ok(form.done(&format::sentence(&landed.message), &page));
    }
    let decision = decision(wanted, &form.fields)?;
    let done = match &decision {
        ReviewDecision::Resume { .. } => "Resumed. ",
        ReviewDecision::Answer { fix: Some(_), .. } => "Sent back. ",
        ReviewDecision::Waive { .. } => "Waived. ",
        ReviewDecision::Archive => "Archived. ",
        // The status says it.
        ReviewDecision::Answer { .. } | ReviewDecision::Cancel => "",
    };
    let request = DecideReviewRequest { id, decision, by };
    let task = blocking(&daemon, move |daemon| Ok(reviews::decide(daemon, &request)?)).await?;
    Ok(form.done(&format!("{done}{}", task.status), &page))
}

fn decision(name: &str, fields: &Fields) -> Result<ReviewDecision, ApiError> {
    let required = |field: &str, what: &str| {
        let value = fields.get(field).map(str::to_owned);
        value.ok_or_else(|| ApiError::bad_request(format!("{field}: {what}")))
    };
    Ok(match name {
        "cancel" => ReviewDecision::Cancel,
        "archive" => ReviewDecision::Archive,
        "resume" => ReviewDecision::Resume {
            rounds: fields.number("rounds")?.map(|rounds| u32::try_from(rounds).unwrap_or(u32::MAX)),
            budget_micros: dollars(fields)?,
            budget_tokens: tokens(fields)?,
        },
        "waive" => ReviewDecision::Waive {
            issue: required("issue", "name the issue")?,
            why: required("why", "say why it is not fixed")?,
        },
        // An empty field must not accept the work by accident.
        "answer" if fields.is_set("done") => ReviewDecision::Answer { done: true, fix: None },
        "answer" => ReviewDecision::Answer { done: false, fix: Some(required("fix", "say what to fix")?) },
        other => return Err(ApiError::bad_request(format!("decision: {other:?} is not a decision"))),
    })
}
