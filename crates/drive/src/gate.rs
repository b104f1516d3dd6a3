//! A check that Belay itself runs, bound to the tree it ran on.
//!
//! A gate is a shell command line of the person, such as `cargo test`. It runs in its own process group, without a
//! terminal and without input. At its end nothing of it is left: its processes are asked to exit, and killed after a
//! grace period, also those that left the group.
//!
//! [`run_bound`] takes the tree before and after. A result is about exactly one tree, so a gate does not pass if files
//! change while it runs, whatever its exit status. A red gate runs once more, since a flaky test must not cost a round; a
//! gate that timed out does not.
//!
//! A gate that cannot run says nothing about the tree: [`GateVerdict::CannotRun`] for what its command tells, and
//! [`GateError`] for what is wrong around it.

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

/// What a gate says about the tree it ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum GateVerdict {
    Passed,
    Failed,
    /// Nothing was checked, or not to the end. Other work on the tree does not help.
    CannotRun {
        why: CannotRun,
    },
    /// These files were changed or deleted while it ran: by the gate, or in place by a person. What it found is about
    /// neither tree.
    TreeMoved {
        files: Vec<String>,
    },
    /// Belay ended it: there is no result.
    Cancelled,
}

/// Why a gate cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CannotRun {
    #[error("the command was not found")]
    NotFound,
    #[error("the command is not executable")]
    NotExecutable,
    #[error("it timed out")]
    TimedOut,
}

/// How a gate ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOutcome {
    #[serde(flatten)]
    pub verdict: GateVerdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
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

impl GateOutcome {
    pub fn passed(&self) -> bool {
        self.verdict == GateVerdict::Passed
    }
}

/// The outcome of a gate on one tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundOutcome {
    /// The tree that the outcome is about.
    pub tree: TreeId,
    /// The tree that is there now. It differs only if the gate left files in a directory that is used in place.
    pub tree_after: TreeId,
    #[serde(flatten)]
    pub outcome: GateOutcome,
}

/// What is wrong around a gate. Nothing is known about the tree.
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
///
/// The outcome is about `expected` if only new files differ from it, such as caches that an earlier gate left.
pub fn run_bound(
    workspace: &Workspace,
    gate: &GateRun<'_>,
    expected: Option<&TreeId>,
) -> Result<BoundOutcome, GateError> {
    let tree = workspace.snapshot("gate-before")?;
    let mut bound = attempt(workspace, gate, &tree)?;
    if is_red(&bound.outcome.verdict) {
        let first = bound.outcome;
        bound = attempt(workspace, gate, &tree)?;
        bound.outcome.attempts = 2;
        bound.outcome.duration_ms = bound.outcome.duration_ms.saturating_add(first.duration_ms);
        if bound.outcome.passed() {
            bound.outcome.flaky = true;
            bound.outcome.summary = format!("flaky: passed in the second run; the first: {}", first.summary);
        } else if bound.outcome.verdict == GateVerdict::Cancelled {
            // The first run is a complete result; the second one is none.
            bound.outcome.summary = format!("cancelled in the second run; the first: {}", first.summary);
        }
    }
    if let Some(expected) = expected
        && workspace.modified(expected, &tree)?.is_empty()
    {
        bound.tree = expected.clone();
    }
    Ok(bound)
}

/// Whether the command ran to its end and did not succeed.
fn is_red(verdict: &GateVerdict) -> bool {
    match verdict {
        GateVerdict::Failed | GateVerdict::CannotRun { why: CannotRun::NotFound | CannotRun::NotExecutable } => true,
        GateVerdict::CannotRun { why: CannotRun::TimedOut }
        | GateVerdict::Passed
        | GateVerdict::TreeMoved { .. }
        | GateVerdict::Cancelled => false,
    }
}

fn attempt(workspace: &Workspace, gate: &GateRun<'_>, tree: &TreeId) -> Result<BoundOutcome, GateError> {
    let mut outcome = run(gate)?;
    let mut tree_after = workspace.snapshot("gate-after")?;
    let files = workspace.modified(tree, &tree_after)?;
    if !files.is_empty() && (outcome.passed() || is_red(&outcome.verdict)) {
        outcome.summary = redact(&format!("the gate changed {}", named(&files, files.len()))).into_owned();
        outcome.verdict = GateVerdict::TreeMoved { files };
    }
    if tree_after != *tree && workspace.is_worktree() {
        workspace.restore(tree)?;
        tree_after = tree.clone();
    }
    Ok(BoundOutcome { tree: tree.clone(), tree_after, outcome })
}

/// What the shell returns for a command that it does not find, or cannot execute.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

fn verdict(exit: &CommandExit) -> GateVerdict {
    match (exit.stopped, exit.status.and_then(|status| status.code())) {
        (Some(Stopped::Cancelled), _) => GateVerdict::Cancelled,
        (Some(Stopped::TimedOut), _) => GateVerdict::CannotRun { why: CannotRun::TimedOut },
        (None, Some(0)) => GateVerdict::Passed,
        (None, Some(NOT_FOUND)) => GateVerdict::CannotRun { why: CannotRun::NotFound },
        (None, Some(NOT_EXECUTABLE)) => GateVerdict::CannotRun { why: CannotRun::NotExecutable },
        (None, _) => GateVerdict::Failed,
    }
}

fn outcome(exit: &CommandExit) -> GateOutcome {
    GateOutcome {
        verdict: verdict(exit),
        status: exit.status.and_then(|status| status.code()),
        signal: exit.status.and_then(|status| status.signal()),
        flaky: false,
        summary: summary::summary(exit),
        output_tail: redact(&exit.output.tail_text(MAX_TAIL_BYTES)).into_owned(),
        duration_ms: u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX),
        attempts: 1,
    }
}
