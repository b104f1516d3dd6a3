//! Landing and archiving the result of an ended task.

use std::sync::PoisonError;
use std::time::Duration;

use belay_agents::display_name;
use belay_clock::now;
use belay_core::format;
use belay_drive::environment::Environment;
use belay_drive::workspace::{Land, Landed, Removed, TreeId, Workspace};
use belay_ipc::LandReviewRequest;
use belay_ipc::views::{LandedView, ReviewSummaryView};
use belay_review::task::{DoneBy, Phase};

use super::Runner;
use crate::error::RunnerError;
use crate::open_task::OpenTask;
use crate::read;
use crate::task_dir::{ArchiveRecord, LandRecord, TaskDir};

/// How long the end of a step is awaited before its result lands.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// An ended task whose result is landed or archived. Until it is dropped, nothing else changes the task.
struct Claim<'r> {
    runner: &'r Runner,
    open: OpenTask,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.runner.shared.lock().claimed.remove(self.open.dir.id());
        self.runner.shared.changed.notify_all();
    }
}

impl Runner {
    /// Merges or applies the result of an ended task.
    pub fn land(&self, request: &LandReviewRequest, by: &str) -> Result<LandedView, RunnerError> {
        let dir = self.resolve(&request.id)?;
        let claim = self.claim_result(&dir)?;
        let open = &claim.open;
        let tree = result_tree(open)?;
        let missing = read::missing_approval(&open.task);
        if !missing.is_empty() && !request.unapproved {
            return Err(RunnerError::Unapproved { missing });
        }
        let workspace = workspace(open)?;
        let how = match (request.apply, request.keep_commits) {
            (true, _) => Land::Apply,
            (false, true) => Land::MergeCommits,
            (false, false) => Land::Merge,
        };
        let message = commit_message(open);
        let landed = workspace.land(&tree, how, &message)?;
        let (text, commit) = match landed {
            Landed::Merged { commit, .. } => (format!("merged as {}", short(&commit)), Some(commit)),
            Landed::Applied { files } => {
                (format!("applied to {}, not committed", format::pluralize(files.len() as u64, "file")), None)
            }
            Landed::AlreadyThere => ("the project already has the result".to_owned(), None),
        };
        let record = LandRecord { at: now(), by: by.to_owned(), message: text.clone(), commit: commit.clone() };
        dir.write_json("landed.json", &record)?;
        open.write_derived();
        let kept = match workspace.remove(&tree, self.shared.host.has_live_session(workspace.root())) {
            Ok(Removed::Kept(because)) => Some(because.to_string()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        let kept = kept.map_or_else(String::new, |why| format!("; the worktree is kept: {why}"));
        self.shared.host.task_changed(dir.id());
        Ok(LandedView { message: format!("{text}{kept}"), commit })
    }

    /// Keeps the result as a branch, and removes the worktree.
    pub(super) fn archive(&self, dir: &TaskDir, by: &str) -> Result<ReviewSummaryView, RunnerError> {
        let claim = self.claim_result(dir)?;
        let open = &claim.open;
        let tree = result_tree(open)?;
        let workspace = workspace(open)?;
        workspace.archive(&tree)?;
        if let Removed::Kept(because) = workspace.remove(&tree, self.shared.host.has_live_session(workspace.root()))? {
            return Err(RunnerError::Invalid(format!("the worktree is kept: {because}")));
        }
        dir.write_json("archived.json", &ArchiveRecord { at: now(), by: by.to_owned() })?;
        open.write_derived();
        self.shared.host.task_changed(dir.id());
        Ok(open.summary())
    }

    /// Takes an ended task. A decision that would continue it is refused meanwhile.
    fn claim_result(&self, dir: &TaskDir) -> Result<Claim<'_>, RunnerError> {
        let mut state = self.shared.lock();
        while let Some(entry) = state.tasks.get(dir.id()) {
            let is_final = entry.task.lock().unwrap_or_else(PoisonError::into_inner).task.phase.is_final();
            match (is_final, &entry.in_flight) {
                (false, _) => return Err(RunnerError::StillRunning),
                (true, None) => break,
                // A task ends with a record; the thread that wrote it, or a cancelled process, takes a moment longer.
                (true, Some(_)) => {
                    let waited = self.shared.changed.wait_timeout(state, END_TIMEOUT);
                    let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    if timeout.timed_out() {
                        return Err(RunnerError::StillRunning);
                    }
                    state = guard;
                }
            }
        }
        if state.claimed.contains(dir.id()) {
            return Err(RunnerError::Landing);
        }
        let open = OpenTask::open(dir.clone())?;
        if !open.task.phase.is_final() {
            return Err(RunnerError::StillRunning);
        }
        state.claimed.insert(dir.id().to_owned());
        Ok(Claim { runner: self, open })
    }
}

fn result_tree(open: &OpenTask) -> Result<TreeId, RunnerError> {
    open.built_tree().map(TreeId::new).ok_or(RunnerError::NothingBuilt)
}

/// The workspace, whose git runs in the environment of the shell that filed the task.
fn workspace(open: &OpenTask) -> Result<Workspace, RunnerError> {
    let env = Environment::load(&open.dir.path().join("env")).unwrap_or_default();
    Ok(open.workspace()?.ok_or(RunnerError::NothingBuilt)?.with_env(env.variables()))
}

/// The title, and who accepted the work. A result that nobody accepted can be landed, too, and then says nothing.
fn commit_message(open: &OpenTask) -> String {
    let title = &open.task.spec.title;
    let builder = display_name(&open.task.spec.builder.agent);
    match &open.task.phase {
        Phase::Done { by: DoneBy::Reviewers { names } } => {
            format!("{title}\n\nBuilt by {builder}, reviewed by {}.\n", read::named(names))
        }
        _ => format!("{title}\n\nBuilt by {builder}.\n"),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
