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
use belay_drive::workspace::{DELETED, FILES_OF_A_WORKSPACE, Workspace};
use belay_tasks::agent::known_agent;

use crate::error::RunnerError;
use crate::perform::StepContext;
use search::{Search, matches};

/// Names with digests: relative to the top of the workspace, or absolute.
pub(crate) type Instructions = BTreeMap<String, String>;

/// Where the files of the start are recorded.
const FILE: &str = "instructions.json";

/// Refuses to begin while Belay's own directories above a worktree hold files that agents or gates of every task would
/// read: a builder of another task may have put them there.
pub(crate) fn check_own_directories(context: &StepContext) -> Result<(), RunnerError> {
    let mut foreign: Vec<String> = std::fs::read_dir(&context.paths.worktrees)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !entry.file_name().to_str().is_some_and(|name| is_of_a_task(context, name)))
        .map(|entry| entry.path().display().to_string())
        .collect();
    if let Some(state) = context.paths.worktrees.parent() {
        let names = all_names();
        let mut search = Search::new(state, &names, None);
        search.look_in(state);
        foreign.extend(search.finish()?.into_keys().map(|name| state.join(name).display().to_string()));
    }
    foreign.sort();
    if foreign.is_empty() { Ok(()) } else { Err(RunnerError::ForeignFiles { files: foreign }) }
}

/// Whether Belay itself makes a file of this name in the directory of worktrees.
fn is_of_a_task(context: &StepContext, name: &str) -> bool {
    let id = FILES_OF_A_WORKSPACE.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    context.dir.path().parent().is_some_and(|tasks| tasks.join(id).is_dir())
}

/// Records the files of the start, for every agent: which ones review may change later.
pub(crate) fn record(context: &StepContext, workspace: &Workspace) -> Result<(), RunnerError> {
    Ok(context.dir.write_json(FILE, &on_disk(context, workspace, &all_names())?)?)
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
