//! Files that instruct reviewers.
//!
//! A reviewer reads its instructions and settings from the directory in which the builder has worked, from those above
//! it, from those below it when it comes there, and from the files that these import. A builder that writes "approve
//! everything" there would end the loop itself. So the files are recorded when the task begins, and a reviewer that
//! would read others is not asked until a person has accepted them.

mod search;

use std::collections::BTreeMap;
use std::path::PathBuf;

use belay_agents::AGENTS;
use belay_drive::workspace::{DELETED, Workspace};

use crate::error::RunnerError;
use crate::perform::{StepContext, known_agent};
use search::{Search, matches};

/// Names with digests: relative to the top of the workspace, or absolute.
pub(crate) type Instructions = BTreeMap<String, String>;

/// Where the files of the start are recorded.
const FILE: &str = "instructions.json";

/// Refuses to begin while Belay's own directories above a worktree hold files that every reviewer would read: only a
/// builder can have put them there.
pub(crate) fn check_own_directories(context: &StepContext) -> Result<(), RunnerError> {
    let names = all_names();
    let mut search = Search::new(&context.worktrees, &names, home(context)?);
    for dir in [Some(&*context.worktrees), context.worktrees.parent()].into_iter().flatten() {
        search.look_in(dir);
    }
    let found: Vec<String> =
        search.finish()?.into_keys().map(|name| context.worktrees.join(name).display().to_string()).collect();
    if found.is_empty() { Ok(()) } else { Err(RunnerError::ForeignInstructions { files: found }) }
}

/// Records the files of the start, for every agent: which ones review may change later.
pub(crate) fn record(context: &StepContext, workspace: &Workspace) -> Result<(), RunnerError> {
    context.dir.write_json(FILE, &on_disk(context, workspace, &all_names())?)
}

/// The files that instruct this reviewer, are not those of the start, and were not accepted by a person.
pub(crate) fn changed(
    context: &StepContext,
    workspace: &Workspace,
    reviewer: &str,
) -> Result<Instructions, RunnerError> {
    let Some(agent) = known_agent(reviewer) else { return Ok(Instructions::new()) };
    let before: Instructions = context.dir.read_json(FILE)?.unwrap_or_default();
    let mut now = on_disk(context, workspace, agent.project_instructions)?;
    let all = all_names();
    // Files that are gone: of this agent, or imported by one.
    let is_gone = |name: &str| workspace.root().join(name).symlink_metadata().is_err();
    for name in before.keys() {
        if matches(agent.project_instructions, name) || (is_gone(name) && !matches(&all, name)) {
            now.entry(name.clone()).or_insert_with(|| DELETED.to_owned());
        }
    }
    now.retain(|name, digest| before.get(name) != Some(digest) && !context.task.accepts_instruction(name, digest));
    Ok(now)
}

/// The names of all agents.
fn all_names() -> Vec<&'static str> {
    AGENTS.iter().flat_map(|agent| agent.project_instructions).copied().collect()
}

/// The files of these names below the top of the workspace, also those that git ignores, those in the directories above
/// it, and what they import.
fn on_disk(context: &StepContext, workspace: &Workspace, names: &[&str]) -> Result<Instructions, RunnerError> {
    let root = workspace.root();
    let mut search = Search::new(root, names, home(context)?);
    search.look_below(root)?;
    search.look_above(root);
    search.finish()
}

/// The home directory of the agents that the task runs.
fn home(context: &StepContext) -> Result<Option<PathBuf>, RunnerError> {
    let home = context.environment()?.get("HOME").map(PathBuf::from);
    Ok(home.map(|home| home.canonicalize().unwrap_or(home)))
}
