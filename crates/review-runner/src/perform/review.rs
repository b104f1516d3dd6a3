//! Runs a reviewer and reads its verdict.

use belay_drive::headless::HeadlessResult;
use belay_drive::workspace::{TreeId, Workspace};
use belay_review::Verdict;
use belay_review::prompt::AnswerFormat;
use belay_review::task::{ReviewKind, Role, StepOutcome, TaskSpec};
use belay_review::verdict::SCHEMA;

use super::{Question, ReviewStep as _, StepContext, StepEnd, adopt, ask, ended, file_part, numbered};
use crate::error::RunnerError;
use crate::instructions;
use crate::prompts::{self, ReviewInput};
use crate::task_dir::{read_artifact, write_artifact};
use belay_tasks::agent::known_agent;

pub(super) fn perform(context: &StepContext, reviewer: &str, kind: ReviewKind) -> Result<StepEnd, RunnerError> {
    let role = role(context, reviewer)?;
    let workspace = context.workspace()?;
    let files = instructions::changed(context, &workspace, &role.agent)?;
    if !files.is_empty() {
        return Ok(StepEnd::new(StepOutcome::InstructionsChanged { files }));
    }
    let format = answer_format(role);
    let templates = context.prompts()?;
    let prompt = if context.task.asks_for_format() {
        let last = read_artifact(context.artifacts(), &artifact(context, role, kind, "output")).unwrap_or_default();
        let error = Verdict::parse(&String::from_utf8_lossy(&last)).err();
        let error = error.unwrap_or(belay_review::verdict::VerdictError::Empty);
        prompts::reask(&templates, &error, format)
    } else {
        prompts::review(&templates, &input(context, &workspace, role, kind, format)?, context.run.session.is_some())
    };
    let turn = Question {
        role,
        access: "read-only",
        prompt_name: artifact(
            context,
            role,
            kind,
            if context.task.asks_for_format() { "reask-prompt" } else { "prompt" },
        ),
        prompt: prompt.map_err(|error| RunnerError::Invalid(error.to_string()))?,
        schema: (format == AnswerFormat::Schema).then_some(SCHEMA),
    };
    // Files that a gate left behind are not the reviewer's change.
    let before = workspace.snapshot("before-review")?;
    context.dir.write_json("before-review.json", &before)?;
    Ok(ended(ask(context, &turn)?, |result| reviewed(context, &workspace, role, kind, result)))
}

pub(super) fn recover(context: &StepContext, reviewer: &str, kind: ReviewKind) -> Result<StepEnd, RunnerError> {
    let role = role(context, reviewer)?;
    let workspace = context.workspace()?;
    Ok(ended(adopt(context, role)?, |result| reviewed(context, &workspace, role, kind, result)))
}

fn role<'c>(context: &'c StepContext, reviewer: &str) -> Result<&'c Role, RunnerError> {
    context.reviewer(reviewer).ok_or_else(|| RunnerError::Invalid(format!("the task has no reviewer {reviewer}")))
}

/// JSON where the agent's CLI enforces the schema.
fn answer_format(role: &Role) -> AnswerFormat {
    let headless = known_agent(&role.agent).and_then(|agent| agent.headless);
    match headless.is_some_and(|headless| headless.enforces_schema()) {
        true => AnswerFormat::Schema,
        false => AnswerFormat::Text,
    }
}

/// `NN-review-<agent>-prompt.md`; the final pass and an arbitration of the same round have names of their own.
fn artifact(context: &StepContext, role: &Role, kind: ReviewKind, what: &str) -> String {
    let round = context.task.current_round().map_or(0, |round| round.number);
    let pass = match kind {
        ReviewKind::Full | ReviewKind::Delta => "",
        ReviewKind::Final => "-final",
        ReviewKind::Arbitration => "-arbitration",
    };
    numbered(round, &format!("-review-{}{pass}-{what}.md", reviewer_part(&context.task.spec, &role.agent)))
}

/// A reviewer as a part of a file name. Programs in different directories may have one name.
fn reviewer_part(spec: &TaskSpec, agent: &str) -> String {
    let name = file_part(agent);
    let namesakes = spec.reviewers.iter().chain(&spec.arbiter).map(|role| &role.agent);
    let namesakes: Vec<&String> = namesakes.filter(|other| file_part(other) == name).collect();
    match namesakes.iter().position(|other| *other == agent) {
        Some(index) if index > 0 => format!("{name}-{}", index + 1),
        _ => name,
    }
}

/// What the reviewer gets to see.
fn input<'c>(
    context: &'c StepContext,
    workspace: &Workspace,
    role: &Role,
    kind: ReviewKind,
    format: AnswerFormat,
) -> Result<ReviewInput<'c>, RunnerError> {
    let task = &context.task;
    let round = task.current_round();
    let built = round.and_then(|round| round.built.as_ref());
    let diff = match built {
        Some(built) => {
            let from = prompts::reviewed_tree(task, workspace, &role.agent, kind);
            workspace.diff(&from, &TreeId::new(built.tree.clone()))?
        }
        None => None,
    };
    let number = round.map_or(0, |round| round.number);
    let answer = read_artifact(context.artifacts(), &numbered(number, "-work-output.md")).ok();
    let answer = answer.map(|answer| String::from_utf8_lossy(&answer).into_owned());
    Ok(ReviewInput { task, kind, format, diff: diff.as_deref().and_then(prompts::bounded), answer })
}

/// Reads the verdict.
fn reviewed(
    context: &StepContext,
    workspace: &Workspace,
    role: &Role,
    kind: ReviewKind,
    result: &HeadlessResult,
) -> Result<StepOutcome, RunnerError> {
    write_artifact(context.artifacts(), &artifact(context, role, kind, "output"), result.answer.as_bytes())?;
    let verdict = match Verdict::parse(&result.answer) {
        Ok(verdict) => verdict,
        Err(error) => {
            let (error, output) = (error.to_string(), result.answer.chars().take(4000).collect());
            // A program that Belay does not know has no session to go on with: it must see the work again, or its
            // answer would be about nothing.
            let session = result.session.clone().filter(|_| belay_agents::find(&role.agent).is_some());
            return Ok(StepOutcome::Unparsed { error, output, session });
        }
    };
    let before: Option<TreeId> = context.dir.read_json("before-review.json")?;
    let after = workspace.snapshot("after-review")?;
    let built = context.task.current_round().and_then(|round| round.built.as_ref());
    let tree = match built {
        // Neither the reviewer nor anyone else changed what was built. Files that a gate left behind do not count.
        Some(built)
            if before.as_ref() == Some(&after)
                && workspace.modified(&TreeId::new(built.tree.clone()), &after)?.is_empty() =>
        {
            built.tree.clone()
        }
        _ => after.to_string(),
    };
    Ok(StepOutcome::Reviewed { verdict, tree })
}
