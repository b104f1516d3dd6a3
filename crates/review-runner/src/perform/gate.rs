//! Runs a gate on the tree that was built.

use belay_core::task::{GateResult, Spend, StepFailure};
use belay_drive::gate::{self, CannotRun, GateRun, GateVerdict};
use belay_drive::workspace::TreeId;
use belay_review::task::{Step, StepOutcome};

use super::{ReviewStep as _, StepContext, StepEnd, numbered};
use crate::error::RunnerError;

pub(super) fn perform(context: &StepContext, index: usize) -> Result<StepEnd, RunnerError> {
    let Step::Gate { round, .. } = context.run.step else {
        return Err(RunnerError::Invalid("not a gate".to_owned()));
    };
    let command = context.task.spec.gates.get(index);
    let command = command.ok_or_else(|| RunnerError::Invalid(format!("the task has no gate {}", index + 1)))?;
    let workspace = context.workspace()?;
    let built = context.task.current_round().and_then(|round| round.built.as_ref());
    let built = built.map(|built| TreeId::new(built.tree.clone()));
    let bound = gate::run_bound(
        &workspace,
        &GateRun {
            command,
            dir: workspace.dir(),
            env: &context.environment()?.variables(),
            timeout: Some(context.timeout()),
            cancel: &context.cancel,
            marker: Some(&context.marker()),
            output_file: Some(context.artifacts().join(numbered(round, &format!("-gate-{}.txt", index + 1)))),
        },
        built.as_ref(),
    )?;
    let outcome = bound.outcome;
    let spend = Spend { millis: outcome.duration_ms, ..Spend::default() };
    match outcome.verdict {
        GateVerdict::Cancelled => return Ok(StepEnd::Interrupted { spend }),
        GateVerdict::CannotRun { why: CannotRun::TimedOut } => {
            return Ok(StepEnd::Finished { outcome: StepOutcome::Failed(StepFailure::TimedOut), spend });
        }
        _ => {}
    }
    let result = GateResult {
        command: command.clone(),
        tree: bound.tree.to_string(),
        passed: outcome.passed(),
        summary: outcome.summary,
    };
    Ok(StepEnd::Finished { outcome: StepOutcome::Gated(result), spend })
}
