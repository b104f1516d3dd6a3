//! A check that Belay itself runs, bound to the tree it ran on.
//!
//! A gate is a shell command line of the person, such as `cargo test`. It runs in its own process group, without a
//! terminal and without input. At its end nothing of it is left: its processes are asked to exit, and killed after a
//! grace period, also those that left the group.
//!
//! [`run_bound`] takes the tree before and after. A result is about exactly one tree, so a gate that changes files
//! does not pass, whatever its exit status. A red gate runs once more, since a flaky test must not cost a round; a
//! gate that timed out does not.

mod output;
mod process;
mod summary;

#[cfg(test)]
mod tests;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_core::redact::redact;
use belay_process::ProcessMarker;
use serde::{Deserialize, Serialize};

use crate::headless::CancelHandle;
use crate::workspace::{Environment, TreeId, Workspace, WorkspaceError, clean_environment, named};
use process::{CommandExit, Stopped};
pub(crate) use process::{CommandRun, GRACE, run_command};

/// Kept of the output in the outcome. The whole output is in the file.
const MAX_TAIL_BYTES: usize = 4 * 1024;

/// A gate to run.
#[derive(Clone, Debug)]
pub struct GateRun<'a> {
    /// The person's own command line, run by `sh -c`.
    pub command: &'a str,
    pub dir: &'a Path,
    pub env: &'a Environment,
    pub timeout: Option<Duration>,
    pub cancel: &'a CancelHandle,
    /// Finds the processes of the gate after a crash; a temporary one by default.
    pub marker: Option<&'a ProcessMarker>,
    /// Receives the whole output, readable by the owner only. Beyond 8 MiB, the middle is left out.
    pub output_file: Option<PathBuf>,
}

/// How a gate ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOutcome {
    pub passed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// It failed first and passed then, on the same tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// One line: what failed. Secrets are redacted.
    pub summary: String,
    /// The end of the output; secrets are redacted.
    pub output_tail: String,
    pub duration_ms: u64,
    pub attempts: u32,
}

/// The outcome of a gate on one tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundOutcome {
    /// The tree that the outcome is about.
    pub tree: TreeId,
    /// The tree that is there now. It differs only if the gate left files in a directory that is used in place.
    pub tree_after: TreeId,
    /// Files that the gate changed or deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    #[serde(flatten)]
    pub outcome: GateOutcome,
}

#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("cannot run `{command}` in {}", dir.display())]
    Spawn { command: String, dir: PathBuf, source: io::Error },
    #[error("cannot write the output of the gate to {}", path.display())]
    Output { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// Runs a gate once.
pub fn run(gate: &GateRun<'_>) -> Result<GateOutcome, GateError> {
    let env = Some(clean_environment(gate.env));
    let run = CommandRun {
        command: gate.command,
        dir: gate.dir,
        env: &env,
        timeout: gate.timeout,
        grace: GRACE,
        cancel: gate.cancel,
        marker: gate.marker,
    };
    let failed = |source| GateError::Spawn { command: gate.command.to_owned(), dir: gate.dir.to_owned(), source };
    let exit = run_command(&run).map_err(failed)?;
    if let Some(path) = &gate.output_file {
        exit.output.write(path).map_err(|source| GateError::Output { path: path.clone(), source })?;
    }
    Ok(outcome(&exit))
}

/// Runs a gate on the tree that a workspace has now. In a worktree, everything that it left behind is removed again.
pub fn run_bound(workspace: &Workspace, gate: &GateRun<'_>) -> Result<BoundOutcome, GateError> {
    let tree = workspace.snapshot("gate-before")?;
    let mut bound = attempt(workspace, gate, &tree)?;
    let is_red = !bound.outcome.passed && bound.changed.is_empty();
    if !is_red || bound.outcome.timed_out || bound.outcome.cancelled {
        return Ok(bound);
    }
    let first = bound.outcome;
    bound = attempt(workspace, gate, &tree)?;
    bound.outcome.attempts = 2;
    bound.outcome.duration_ms = bound.outcome.duration_ms.saturating_add(first.duration_ms);
    if bound.outcome.passed {
        bound.outcome.flaky = true;
        bound.outcome.summary = format!("flaky: passed in the second run; the first: {}", first.summary);
    } else if bound.outcome.cancelled {
        // The first run is a complete result; the second one is none.
        bound.outcome.summary = format!("cancelled in the second run; the first: {}", first.summary);
    }
    Ok(bound)
}

fn attempt(workspace: &Workspace, gate: &GateRun<'_>, tree: &TreeId) -> Result<BoundOutcome, GateError> {
    let mut outcome = run(gate)?;
    let mut tree_after = workspace.snapshot("gate-after")?;
    let changed = workspace.modified(tree, &tree_after)?;
    if !changed.is_empty() {
        outcome.passed = false;
        outcome.summary = redact(&format!("the gate changed {}", named(&changed, changed.len()))).into_owned();
    }
    if tree_after != *tree && workspace.is_worktree() {
        workspace.restore(tree)?;
        tree_after = tree.clone();
    }
    Ok(BoundOutcome { tree: tree.clone(), tree_after, changed, outcome })
}

fn outcome(exit: &CommandExit) -> GateOutcome {
    GateOutcome {
        passed: exit.succeeded(),
        status: exit.status.and_then(|status| status.code()),
        signal: exit.status.and_then(|status| status.signal()),
        timed_out: exit.stopped == Some(Stopped::TimedOut),
        cancelled: exit.stopped == Some(Stopped::Cancelled),
        flaky: false,
        summary: summary::summary(exit),
        output_tail: redact(&exit.output.tail_text(MAX_TAIL_BYTES)).into_owned(),
        duration_ms: u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX),
        attempts: 1,
    }
}
