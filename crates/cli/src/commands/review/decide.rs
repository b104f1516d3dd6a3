//! Decisions about review tasks. Only a person may decide: the builder must not end its own loop.

use belay_core::session::Budget;
use belay_ipc::views::{LandedView, ReviewSummaryView, ReviewsView};
use belay_ipc::{DecideReviewRequest, LandReviewRequest, Operation, PauseReviewsRequest, ReviewDecision};
use clap::{Args, ValueEnum};

use super::super::CommandResult;
use super::super::decide::user;
use super::{call, find, phase_name};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{OperatorArgs, require_operator};

#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// Task; any unique prefix of its id.
    id: String,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    task: DecideArgs,
    /// Maximum number of rounds from now on, counted from the first.
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Budget from now on, including what was spent: `10usd`, `4m` (tokens), or both.
    #[arg(long, value_name = "AMOUNT")]
    budget: Vec<Budget>,
}

#[derive(Debug, Args)]
pub(crate) struct WaiveArgs {
    /// Task; any unique prefix of its id.
    id: String,
    /// Issue, such as I-3.
    issue: String,
    /// Why it is not fixed.
    #[arg(long, short = 'm', value_name = "TEXT")]
    why: String,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    task: DecideArgs,
    /// The work is done.
    #[arg(long, required_unless_present = "fix", conflicts_with = "fix")]
    done: bool,
    /// Not done: what to fix.
    #[arg(long, value_name = "TEXT")]
    fix: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LandArgs {
    #[command(flatten)]
    task: DecideArgs,
    /// Change the files of the project without a commit.
    #[arg(long)]
    apply: bool,
    /// Keep the builder's own commits in the history. Nobody has reviewed them one by one.
    #[arg(long, conflicts_with = "apply")]
    keep_commits: bool,
    /// Land the result although issues are open or nobody has approved it.
    #[arg(long)]
    unapproved: bool,
}

#[derive(Debug, Args)]
pub(crate) struct QueueArgs {
    /// What to do.
    #[arg(value_enum)]
    action: QueueAction,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum QueueAction {
    /// Start nothing new.
    Pause,
    /// Start tasks again.
    Resume,
}

pub(super) fn cancel(context: &Context, args: &DecideArgs) -> CommandResult {
    decide(context, &args.id, args.operator, "cancel", ReviewDecision::Cancel)
}

pub(super) fn retry(context: &Context, args: &DecideArgs) -> CommandResult {
    let decision = ReviewDecision::Resume { rounds: None, budget_micros: None, budget_tokens: None };
    decide(context, &args.id, args.operator, "retry", decision)
}

pub(super) fn resume(context: &Context, args: &ResumeArgs) -> CommandResult {
    let budget: Budget = args.budget.iter().copied().collect();
    let decision =
        ReviewDecision::Resume { rounds: args.rounds, budget_micros: budget.cost_micros, budget_tokens: budget.tokens };
    decide(context, &args.task.id, args.task.operator, "resume", decision)
}

pub(super) fn waive(context: &Context, args: &WaiveArgs) -> CommandResult {
    let decision = ReviewDecision::Waive { issue: args.issue.clone(), why: args.why.clone() };
    decide(context, &args.id, args.operator, "waive", decision)
}

pub(super) fn answer(context: &Context, args: &AnswerArgs) -> CommandResult {
    decide(
        context,
        &args.task.id,
        args.task.operator,
        "answer",
        ReviewDecision::Answer { done: args.done, fix: args.fix.clone() },
    )
}

pub(super) fn archive(context: &Context, args: &DecideArgs) -> CommandResult {
    decide(context, &args.id, args.operator, "archive", ReviewDecision::Archive)
}

fn decide(
    context: &Context,
    id: &str,
    operator: OperatorArgs,
    command: &str,
    decision: ReviewDecision,
) -> CommandResult {
    let id = find(context, id)?.id().to_owned();
    require_person(context, operator, command)?;
    let task = decide_as(context, &id, decision, user(context))?;
    match context.out.json {
        true => context.out.json(&task)?,
        false => context.out.line(format!("{}  {}: {}", task.id, phase_name(task.phase), task.status))?,
    }
    Ok(ExitStatus::Done)
}

/// Refuses agents: also programs that Belay drives and does not know, which would approve their own work.
fn require_person(context: &Context, operator: OperatorArgs, command: &str) -> Result<(), CommandError> {
    require_operator(context, operator, &format!("review {command}"), None)?;
    if let Some(session) = context.env.text("BELAY_SESSION") {
        return Err(CommandError::new(format!("`belay review {command}` is called from within the session {session}"))
            .hint("an agent does not decide about review tasks; run it in your own terminal"));
    }
    Ok(())
}

/// Sends a decision to the resident process.
pub(super) fn decide_as(
    context: &Context,
    id: &str,
    decision: ReviewDecision,
    by: Option<String>,
) -> Result<ReviewSummaryView, CommandError> {
    call(context, &Operation::DecideReview(DecideReviewRequest { id: id.to_owned(), decision, by }))
}

pub(super) fn land(context: &Context, args: &LandArgs) -> CommandResult {
    let id = find(context, &args.task.id)?.id().to_owned();
    require_person(context, args.task.operator, "land")?;
    let request = LandReviewRequest {
        id,
        apply: args.apply,
        keep_commits: args.keep_commits,
        unapproved: args.unapproved,
        by: user(context),
    };
    let landed: LandedView = call(context, &Operation::LandReview(request))?;
    match context.out.json {
        true => context.out.json(&landed)?,
        false => context.out.line(&landed.message)?,
    }
    Ok(ExitStatus::Done)
}

pub(super) fn queue(context: &Context, args: &QueueArgs) -> CommandResult {
    require_person(context, args.operator, "queue")?;
    let paused = matches!(args.action, QueueAction::Pause);
    let view: ReviewsView = call(context, &Operation::PauseReviews(PauseReviewsRequest { paused }))?;
    if context.out.json {
        context.out.json(&view)?;
        return Ok(ExitStatus::Done);
    }
    let state = if view.paused { "The queue is paused" } else { "The queue runs" };
    context.out.line(format!("{state}; {} running, {} queued.", view.running, view.queued))?;
    Ok(ExitStatus::Done)
}
