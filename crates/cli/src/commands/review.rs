//! `belay review`: one agent builds, others review.
//!
//! Reads come from the files of the tasks, so that they work without the resident process. Everything that changes a
//! task goes through it.

mod decide;
mod show;
mod start;
mod watch;

use std::time::Duration;

use belay_config::Strictness;
use belay_drive::launch;
use belay_ipc::views::ReviewPhase;
use belay_ipc::{Client, Operation};
use belay_review_runner::task_dir::TaskDir;
use belay_review_runner::{RunnerError, read, root};
use clap::{Args, Subcommand};
use serde::de::DeserializeOwned;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// File a task and watch it.
    #[command(
        after_help = "The builder works in a git worktree of its own. `belay review land ID` brings the result into your project.\n\nExamples:\n  belay review start \"Add idempotency keys to the payments API\" --reviewer codex,gemini --accept \"cargo test\"\n  belay review start -f task.md --budget 5usd --detach"
    )]
    Start(start::StartArgs),
    /// List tasks, newest first.
    List(show::ListArgs),
    /// Show a task: rounds, issues, costs.
    Show(TaskArgs),
    /// Follow a task until it ends.
    Watch(TaskArgs),
    /// Cancel a task. Its worktree stays.
    Cancel(decide::DecideArgs),
    /// Try the last step of an ended task again.
    Retry(decide::DecideArgs),
    /// Continue an ended task, with more rounds or money if given.
    Resume(decide::ResumeArgs),
    /// Decide not to fix an issue.
    Waive(decide::WaiveArgs),
    /// Give your own verdict: done, or what to fix.
    Answer(decide::AnswerArgs),
    /// Print the diff of a round.
    Diff(show::DiffArgs),
    /// Bring the result into the project: merge it, or apply it without a commit.
    Land(decide::LandArgs),
    /// Keep the result as a branch, and remove the worktree.
    Archive(decide::DecideArgs),
    /// List the files of a task, or print one.
    Artifacts(show::ArtifactsArgs),
    /// Pause or resume the queue. Running steps finish.
    Queue(decide::QueueArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// Task; any unique prefix of its id.
    id: String,
}

pub(crate) fn run(context: &Context, command: &ReviewCommand) -> CommandResult {
    match command {
        ReviewCommand::Start(args) => start::run(context, args),
        ReviewCommand::List(args) => show::list(context, args),
        ReviewCommand::Show(args) => show::show(context, &args.id),
        ReviewCommand::Watch(args) => watch::run(context, &find(context, &args.id)?),
        ReviewCommand::Cancel(args) => decide::cancel(context, args),
        ReviewCommand::Retry(args) => decide::retry(context, args),
        ReviewCommand::Resume(args) => decide::resume(context, args),
        ReviewCommand::Waive(args) => decide::waive(context, args),
        ReviewCommand::Answer(args) => decide::answer(context, args),
        ReviewCommand::Diff(args) => show::diff(context, args),
        ReviewCommand::Land(args) => decide::land(context, args),
        ReviewCommand::Archive(args) => decide::archive(context, args),
        ReviewCommand::Artifacts(args) => show::artifacts(context, args),
        ReviewCommand::Queue(args) => decide::queue(context, args),
    }
}

/// Landing runs git in a large repository.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The resident process, which is started if necessary: it stays until the tasks have ended.
fn connect(context: &Context) -> Result<Client, CommandError> {
    let belay = context.belay_env();
    let idle_exit = context.config(Strictness::Lenient, &[])?.config.hooks.idle_exit;
    let mut client = launch::connect_or_start(belay, idle_exit)?;
    client.set_timeout(REQUEST_TIMEOUT);
    Ok(client)
}

fn call<T: DeserializeOwned>(context: &Context, operation: &Operation) -> Result<T, CommandError> {
    Ok(connect(context)?.call(operation)?)
}

/// The task with this id, or with the only id that begins like this.
fn find(context: &Context, id: &str) -> Result<TaskDir, CommandError> {
    read::resolve(&root(&context.paths), id).map_err(Into::into)
}

impl From<RunnerError> for CommandError {
    fn from(error: RunnerError) -> Self {
        error.hint().into_iter().fold(Self::new(error.to_string()), Self::hint)
    }
}

/// The exit status of a command that waited for a task.
fn exit_status(phase: ReviewPhase) -> ExitStatus {
    match phase {
        ReviewPhase::NeedsAttention => ExitStatus::NeedsAttention,
        ReviewPhase::Cancelled => ExitStatus::Cancelled,
        ReviewPhase::Failed => ExitStatus::Failed,
        _ => ExitStatus::Done,
    }
}

/// A phase as people read it.
fn phase_name(phase: ReviewPhase) -> &'static str {
    match phase {
        ReviewPhase::Queued => "queued",
        ReviewPhase::Preparing => "preparing",
        ReviewPhase::Building => "building",
        ReviewPhase::Gating => "gating",
        ReviewPhase::Reviewing => "reviewing",
        ReviewPhase::Done => "done",
        ReviewPhase::NeedsAttention => "needs you",
        ReviewPhase::Cancelled => "cancelled",
        ReviewPhase::Failed => "failed",
    }
}
