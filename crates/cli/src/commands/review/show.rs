//! `belay review list`, `show`, `diff` and `artifacts`.

use std::time::Duration;

use belay_clock::now;
use belay_core::format::{dollars_or_dash, duration, pluralize, tokens};
use belay_ipc::ReviewsRequest;
use belay_ipc::views::{ReviewKind, ReviewRoundView, ReviewView, ReviewerAnswer, ReviewerView};
use belay_review::Task;
use belay_review_runner::{RunnerError, read, root, task_dir};
use clap::Args;

use super::super::CommandResult;
use super::{find, phase_name};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::relative_past;
use crate::output::Table;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only tasks that have not ended.
    #[arg(long)]
    active: bool,
    /// Maximum number of tasks.
    #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
    limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Task; any unique prefix of its id.
    id: String,
    /// Round [default: the last one].
    round: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct ArtifactsArgs {
    /// Task; any unique prefix of its id.
    id: String,
    /// File to print, such as `02-review-codex-output.md`.
    name: Option<String>,
}

pub(super) fn list(context: &Context, args: &ListArgs) -> CommandResult {
    let request = ReviewsRequest { limit: Some(args.limit.max(1)), offset: 0, active: args.active };
    let view = read::list(&root(&context.paths), &request);
    if context.out.json {
        context.out.json(&view)?;
        return Ok(ExitStatus::Done);
    }
    if view.tasks.is_empty() {
        context.out.info("No review tasks. `belay review start \"TASK\"` files one.");
        return Ok(ExitStatus::Done);
    }
    let now = now();
    let mut table =
        Table::new(&["task", "state", "round", "open", "cost", "since", "title", "status"]).right_align(&[3, 4]);
    for task in &view.tasks {
        table.row(vec![
            task.id.clone(),
            phase_name(task.phase).to_owned(),
            format!("{}/{}", task.round, task.max_rounds),
            task.open_issues.to_string(),
            dollars_or_dash(task.cost_micros),
            relative_past(task.since, now),
            task.title.clone(),
            task.status.clone(),
        ]);
    }
    table.print(&context.out)?;
    if view.paused {
        context.out.info("The queue is paused; `belay review queue resume` starts it again.");
    }
    Ok(ExitStatus::Done)
}

pub(super) fn show(context: &Context, id: &str) -> CommandResult {
    let view = read::view(&find(context, id)?)?;
    if context.out.json {
        context.out.json(&view)?;
        return Ok(ExitStatus::Done);
    }
    for line in lines(&view) {
        context.out.line(line)?;
    }
    Ok(ExitStatus::Done)
}

/// A task as text.
pub(super) fn lines(view: &ReviewView) -> Vec<String> {
    let task = &view.summary;
    let mut lines = vec![
        format!("{}  {}", task.id, task.title),
        format!("  {}: {}", phase_name(task.phase), task.status),
        format!("  builder    {}", task.builder),
    ];
    if !task.reviewers.is_empty() {
        lines.push(format!("  reviewers  {}", task.reviewers.join(", ")));
    }
    lines.extend(view.gates.iter().map(|gate| format!("  accept     {gate}")));
    lines.push(format!("  project    {}", task.project_dir));
    lines.extend(view.dir.iter().filter(|dir| **dir != task.project_dir).map(|dir| format!("  worktree   {dir}")));
    let budget = match (task.budget_micros, task.budget_tokens) {
        (Some(micros), _) => format!(" of {}", belay_core::format::dollars(micros)),
        (None, Some(limit)) => format!(" of {}", tokens(limit)),
        (None, None) => String::new(),
    };
    lines.push(format!("  spent      {}, {}{budget}", dollars_or_dash(task.cost_micros), tokens(task.tokens)));
    for round in &view.rounds {
        lines.push(String::new());
        lines.extend(round_lines(round));
    }
    if !view.issues.is_empty() {
        lines.push(String::new());
        lines.push("Issues".to_owned());
    }
    for issue in &view.issues {
        let place = issue.place.as_ref().map_or_else(String::new, |place| format!(" {place}:"));
        lines.push(format!("  {} {} [{}]{place} {}", issue.id, issue.state, issue.severity, first_line(&issue.claim)));
        lines.push(format!("      introduced by {}, raised by {}", issue.provenance, issue.raised_by.join(", ")));
        lines.extend(issue.state_reason.iter().map(|reason| format!("      {reason}")));
        lines.extend(issue.objection.iter().map(|text| format!("      {} objects: {text}", task.builder)));
    }
    if !view.roles.is_empty() {
        lines.push(String::new());
        lines.push("Cost".to_owned());
    }
    for role in &view.roles {
        let time = duration(Duration::from_millis(role.millis));
        let runs = pluralize(u64::from(role.runs), "run");
        lines.push(format!(
            "  {}: {runs}, {time}, {}, {}",
            role.role,
            tokens(role.tokens),
            dollars_or_dash(role.cost_micros)
        ));
    }
    if let Some(dispute) = &view.dispute {
        lines.push(String::new());
        lines.extend(dispute.lines().map(str::to_owned));
    }
    lines
}

/// A round as text.
pub(super) fn round_lines(round: &ReviewRoundView) -> Vec<String> {
    let time = duration(Duration::from_millis(round.millis));
    let mut lines = vec![format!("Round {}  {time}, {}", round.number, dollars_or_dash(round.cost_micros))];
    lines.extend(round.intervention.iter().map(|what| format!("  Belay: {what}")));
    if let Some(built) = &round.built {
        lines.push(match built.changed {
            true => format!(
                "  built: {} changed, +{} -{}",
                pluralize(u64::from(built.files), "file"),
                built.added,
                built.removed
            ),
            false => "  built: nothing changed".to_owned(),
        });
    }
    for gate in &round.gates {
        let result = if gate.passed { "passed" } else { "failed" };
        lines.push(format!("  `{}` {result}: {}", gate.command, gate.summary));
    }
    lines.extend(round.reviews.iter().map(|review| format!("  {}", reviewer_line(review))));
    lines
}

pub(super) fn reviewer_line(review: &ReviewerView) -> String {
    let pass = match review.kind {
        ReviewKind::Final => " (final)",
        ReviewKind::Arbitration => " (arbiter)",
        ReviewKind::Full | ReviewKind::Delta => "",
    };
    let note = review.note.as_deref().unwrap_or_default();
    let what = match review.answer {
        ReviewerAnswer::Done => "done".to_owned(),
        ReviewerAnswer::IssuesFound => pluralize(u64::from(review.issues), "issue"),
        ReviewerAnswer::BlockedOnHuman => format!("needs a person: {note}"),
        ReviewerAnswer::Unreadable => "the answer could not be read".to_owned(),
        ReviewerAnswer::NoVerdict => format!("no verdict: {note}"),
    };
    format!("{}{pass}: {what}", review.reviewer)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

pub(super) fn diff(context: &Context, args: &DiffArgs) -> CommandResult {
    let dir = find(context, &args.id)?;
    let replayed = dir.replay::<Task>().map_err(RunnerError::from)?;
    let (filed, task) = (&replayed.filed, &replayed.machine);
    let last = task.rounds.iter().rev().find(|round| round.built.is_some()).map(|round| round.number);
    let round =
        args.round.or(last).ok_or_else(|| CommandError::new(format!("{} has no finished build yet", dir.id())))?;
    let diff = task_dir::read_artifact(&filed.artifacts, &format!("{round:02}.diff"))
        .map_err(|error| CommandError::new(format!("{} has no diff of round {round}", dir.id())).cause(error))?;
    context.out.document(&diff)?;
    Ok(ExitStatus::Done)
}

pub(super) fn artifacts(context: &Context, args: &ArtifactsArgs) -> CommandResult {
    let dir = find(context, &args.id)?;
    let filed = dir.read_filed::<Task>().map_err(RunnerError::from)?;
    if let Some(name) = &args.name {
        context.out.document(&task_dir::read_artifact(&filed.artifacts, name)?)?;
        return Ok(ExitStatus::Done);
    }
    let artifacts = task_dir::artifacts(&filed.artifacts);
    if context.out.json {
        context.out.json(&artifacts)?;
        return Ok(ExitStatus::Done);
    }
    for artifact in artifacts {
        context.out.line(filed.artifacts.join(artifact.name).display().to_string())?;
    }
    Ok(ExitStatus::Done)
}
