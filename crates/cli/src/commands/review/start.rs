//! `belay review start`.

use std::path::{Path, PathBuf};

use belay_config::DurationSetting;
use belay_core::session::Budget;
use belay_core::task::WorkspaceMode;
use belay_ipc::views::ReviewSummaryView;
use belay_ipc::{FileReviewRequest, Operation};
use belay_review_runner::project_templates;
use clap::Args;

use super::super::CommandResult;
use super::super::decide::user;
use super::{call, find, watch};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// What to build; `-` reads it from stdin.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    task: Option<String>,
    /// Read the task from a file.
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Title in lists [default: the first line of the task].
    #[arg(long)]
    title: Option<String>,
    /// Directory of the project.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Agent that builds: `claude`, `codex@gpt-5`, or the path of a program [default: review.builder].
    #[arg(long, value_name = "AGENT")]
    builder: Option<String>,
    /// Agents that review [default: review.reviewers, unless there is an --accept command].
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    reviewer: Vec<String>,
    /// Agent that decides disputes.
    #[arg(long, value_name = "AGENT")]
    arbiter: Option<String>,
    /// Number of approvals required [default: all reviewers].
    #[arg(long, value_name = "N")]
    quorum: Option<u32>,
    /// Command that must succeed on the final tree; can be repeated.
    #[arg(long, value_name = "COMMAND")]
    accept: Vec<String>,
    /// Maximum number of rounds [default: review.rounds].
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Budget of the task: `5usd`, `2m` (tokens), or both.
    #[arg(long, value_name = "AMOUNT")]
    budget: Vec<Budget>,
    /// Time limit of a round [default: review.round_timeout].
    #[arg(long, value_name = "TIME")]
    timeout: Option<DurationSetting>,
    /// Work in a git worktree of the last commit (default).
    #[arg(long, conflicts_with_all = ["in_place", "with_changes"])]
    worktree: bool,
    /// Work in a git worktree that starts with your uncommitted changes.
    #[arg(long, conflicts_with = "in_place")]
    with_changes: bool,
    /// Work in the directory itself.
    #[arg(long)]
    in_place: bool,
    /// Return as soon as the task is filed.
    #[arg(long)]
    detach: bool,
}

pub(super) fn run(context: &Context, args: &StartArgs) -> CommandResult {
    let request = request(context, args)?;
    for template in project_templates::find(&context.paths, Path::new(&request.project_dir)) {
        if let Err(why) = template.text {
            let path = template.path.display();
            context.out.notice(&format!("{path} is not used: {why}. Read it, then run `belay trust {path}`."));
        }
    }
    let task: ReviewSummaryView = call(context, &Operation::FileReview(Box::new(request)))?;
    if args.detach {
        match context.out.json {
            true => context.out.json(&task)?,
            false => context.out.line(&task.id)?,
        }
        context.out.info(format!("`belay review watch {}` follows the task.", task.id));
        return Ok(ExitStatus::Done);
    }
    watch::run(context, &find(context, &task.id)?)
}

fn request(context: &Context, args: &StartArgs) -> Result<FileReviewRequest, CommandError> {
    let project_dir = args.dir.canonicalize().map_err(|error| {
        CommandError::new(format!("cannot access the directory {}", args.dir.display())).cause(error)
    })?;
    let project_dir = project_dir.into_os_string().into_string().map_err(|project_dir| {
        CommandError::new(format!("the path of the directory is not UTF-8: {}", project_dir.display()))
    })?;
    let budget: Budget = args.budget.iter().copied().collect();
    let workspace = match (args.in_place, args.with_changes) {
        (true, _) => WorkspaceMode::InPlace,
        (_, true) => WorkspaceMode::WorktreeWithChanges,
        _ => WorkspaceMode::Worktree,
    };
    Ok(FileReviewRequest {
        title: args.title.clone(),
        prompt: super::super::exec::read_prompt(args.task.as_deref(), args.file.as_deref())?,
        project_dir,
        builder: args.builder.as_deref().map(agent),
        reviewers: args.reviewer.iter().map(|name| agent(name)).filter(|name| !name.is_empty()).collect(),
        arbiter: args.arbiter.as_deref().map(agent),
        quorum: args.quorum,
        gates: args.accept.clone(),
        rounds: args.rounds,
        round_timeout_secs: args
            .timeout
            .map(|timeout| timeout.get().map_or(u64::MAX, |timeout| timeout.as_secs().max(1))),
        budget_micros: budget.cost_micros,
        budget_tokens: budget.tokens,
        workspace: Some(workspace),
        env: environment(),
        by: user(context),
    })
}

/// An agent, or the path of a program, which is relative to the directory of this shell.
fn agent(name: &str) -> String {
    let name = name.trim();
    let absolute = std::path::absolute(name).ok().filter(|_| name.contains('/'));
    absolute.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| name.to_owned())
}

/// The environment of this shell. A variable that is not UTF-8 cannot be sent.
fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}
