//! Landing and archiving the result of an ended task.

use belay_agents::display_name;
use belay_core::format;
use belay_drive::environment::Environment;
use belay_drive::workspace::{Land, Landed, Removed, TreeId, Workspace};
use belay_ipc::LandReviewRequest;
use belay_ipc::views::{LandedView, ReviewSummaryView};
use belay_review::Task;
use belay_review::task::{DoneBy, Fact, Phase};
use belay_tasks::{Claim, TaskDir};

use super::Runner;
use crate::error::RunnerError;
use crate::read;
use crate::reviews::{Reviews, built_tree, workspace};

impl Runner {
    /// Merges or applies the result of an ended task.
    pub fn land(&self, request: &LandReviewRequest, by: &str) -> Result<LandedView, RunnerError> {
        let dir = self.tasks.resolve(&request.id)?;
        let claim = self.tasks.claim(&dir)?;
        let (task, workspace) = result(&claim)?;
        let tree = result_tree(&task)?;
        let missing = read::missing_approval(&task);
        if !missing.is_empty() && !request.unapproved {
            return Err(RunnerError::Unapproved { missing });
        }
        let how = match (request.apply, request.keep_commits) {
            (true, _) => Land::Apply,
            (false, true) => Land::MergeCommits,
            (false, false) => Land::Merge,
        };
        let message = commit_message(&task);
        let landed = workspace.land(&tree, how, &message)?;
        let (text, commit) = match landed {
            Landed::Merged { commit, .. } => (format!("merged as {}", short(&commit)), Some(commit)),
            Landed::Applied { files } => {
                (format!("applied to {}, not committed", format::pluralize(files.len() as u64, "file")), None)
            }
            Landed::AlreadyThere => ("the project already has the result".to_owned(), None),
        };
        claim.observe(Fact::Landed { by: by.to_owned(), message: text.clone(), commit: commit.clone() })?;
        let kept = match workspace.remove(&tree, self.tasks.host().has_live_session(workspace.root())) {
            Ok(Removed::Kept(because)) => Some(because.to_string()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        let kept = kept.map_or_else(String::new, |why| format!("; the worktree is kept: {why}"));
        Ok(LandedView { message: format!("{text}{kept}"), commit })
    }

    /// Keeps the result as a branch, and removes the worktree.
    pub(super) fn archive(&self, dir: &TaskDir, by: &str) -> Result<ReviewSummaryView, RunnerError> {
        let claim = self.tasks.claim(dir)?;
        let (task, workspace) = result(&claim)?;
        let tree = result_tree(&task)?;
        workspace.archive(&tree)?;
        let has_live_session = self.tasks.host().has_live_session(workspace.root());
        if let Removed::Kept(because) = workspace.remove(&tree, has_live_session)? {
            return Err(RunnerError::Invalid(format!("the worktree is kept: {because}")));
        }
        Ok(claim.observe(Fact::Archived { by: by.to_owned() })?)
    }
}

/// The task, and its workspace, whose git runs in the environment of the shell that filed the task.
fn result(claim: &Claim<'_, Reviews>) -> Result<(Task, Workspace), RunnerError> {
    let open = claim.task();
    let env = Environment::load(&open.dir.path().join("env")).unwrap_or_default();
    result_tree(open.machine())?;
    let workspace = workspace(&open)?.ok_or(RunnerError::NothingBuilt)?;
    Ok((open.machine().clone(), workspace.with_env(env.variables())))
}

fn result_tree(task: &Task) -> Result<TreeId, RunnerError> {
    built_tree(task).map(TreeId::new).ok_or(RunnerError::NothingBuilt)
}

/// The title, and who accepted the work. A result that nobody accepted can be landed, too, and then says nothing.
fn commit_message(task: &Task) -> String {
    let title = &task.spec.title;
    let builder = display_name(&task.spec.builder.agent);
    match &task.phase {
        Phase::Done { by: DoneBy::Reviewers { names } } => {
            format!("{title}\n\nBuilt by {builder}, reviewed by {}.\n", read::named(names))
        }
        _ => format!("{title}\n\nBuilt by {builder}.\n"),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
