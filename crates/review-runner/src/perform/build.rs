//! Runs the builder.

use belay_drive::headless::HeadlessResult;
use belay_drive::workspace::{TreeId, Workspace};
use belay_review::diff::ChangedLines;
use belay_review::prompt::objections;
use belay_review::task::{BuildStart, Built, Round, StepOutcome};

use super::{Question, ReviewStep as _, StepContext, StepEnd, adopt, ask, ended, numbered};
use crate::error::RunnerError;
use crate::prompts;
use crate::task_dir::{read_artifact, write_artifact};

pub(super) fn perform(context: &StepContext) -> Result<StepEnd, RunnerError> {
    let workspace = context.workspace()?;
    let round = current_round(context)?;
    // A session that goes on finds its own edits; any other attempt begins where the round began.
    if context.run.session.is_none() {
        start_tree(context, &workspace, round)?;
    }
    let gate_output = previous_gate_output(context, round);
    let resumes = context.run.session.is_some();
    let prompt = prompts::work(&context.prompts()?, &context.task, resumes, gate_output.as_deref());
    let turn = Question {
        role: &context.task.spec.builder,
        access: "workspace",
        prompt_name: numbered(round.number, "-work-prompt.md"),
        prompt: prompt.map_err(|error| RunnerError::Invalid(error.to_string()))?,
        schema: None,
    };
    Ok(ended(ask(context, &turn)?, |result| built(context, &workspace, round, result)))
}

pub(super) fn recover(context: &StepContext) -> Result<StepEnd, RunnerError> {
    let workspace = context.workspace()?;
    let round = current_round(context)?;
    Ok(ended(adopt(context, &context.task.spec.builder)?, |result| built(context, &workspace, round, result)))
}

fn current_round(context: &StepContext) -> Result<&Round, RunnerError> {
    context.task.current_round().ok_or_else(|| RunnerError::Invalid("the task has no round".to_owned()))
}

/// The tree that a round starts with: what the round before it left, unless its fix is reverted.
fn tree_before(context: &StepContext, workspace: &Workspace, round: u32) -> TreeId {
    let reverted = context.task.rounds.iter().find_map(|entry| match entry.start {
        BuildStart::Reverted { fix_of } if entry.number == round => Some(fix_of),
        _ => None,
    });
    let last = reverted.unwrap_or(round);
    let built =
        context.task.rounds.iter().rev().filter(|entry| entry.number < last).find_map(|entry| entry.built.as_ref());
    built.map_or_else(|| workspace.base().clone(), |built| TreeId::new(built.tree.clone()))
}

/// Restores the files that the round starts with. In the person's own directory nothing is undone, except for a fix
/// that Belay reverts.
fn start_tree(context: &StepContext, workspace: &Workspace, round: &Round) -> Result<(), RunnerError> {
    let start = tree_before(context, workspace, round.number);
    if workspace.is_worktree() {
        return Ok(workspace.restore(&start)?);
    }
    if let BuildStart::Reverted { fix_of } = round.start
        && !round.has_leftovers
        && let Some(built) =
            context.task.rounds.iter().find(|entry| entry.number == fix_of).and_then(|entry| entry.built.as_ref())
    {
        workspace.revert(&start, &TreeId::new(built.tree.clone()))?;
    }
    Ok(())
}

/// The output of the gate that failed in the round before, which the builder needs to see.
fn previous_gate_output(context: &StepContext, round: &Round) -> Option<String> {
    let before = context.task.rounds.iter().rev().find(|entry| entry.number < round.number)?;
    let gate = before.gates.iter().position(|gate| !gate.passed)?;
    let output =
        read_artifact(context.artifacts(), &numbered(before.number, &format!("-gate-{}.txt", gate + 1))).ok()?;
    let text = String::from_utf8_lossy(&output).into_owned();
    let start = text.len().saturating_sub(MAX_GATE_BYTES);
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Some(text[start..].to_owned())
}

/// The end of a gate's output in a prompt.
const MAX_GATE_BYTES: usize = 8 * 1024;

/// What the build changed.
fn built(
    context: &StepContext,
    workspace: &Workspace,
    round: &Round,
    result: &HeadlessResult,
) -> Result<StepOutcome, RunnerError> {
    let name = numbered(round.number, "-work-output.md");
    write_artifact(context.artifacts(), &name, result.answer.as_bytes())?;
    let before = tree_before(context, workspace, round.number);
    let tree = workspace.snapshot(&format!("round-{}", round.number))?;
    let diff = workspace.diff(&before, &tree)?;
    if let Some(diff) = &diff {
        write_artifact(context.artifacts(), &numbered(round.number, ".diff"), diff)?;
    }
    let built = Built {
        changed: tree != before,
        lines: diff.as_deref().map(|diff| ChangedLines::parse(&String::from_utf8_lossy(diff))),
        contents: workspace.changed_files(&before, &tree)?,
        objections: objections(&result.answer),
        tree: tree.to_string(),
    };
    Ok(StepOutcome::Built(built))
}
