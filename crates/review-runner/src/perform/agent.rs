//! Running an agent in a step.

use std::path::PathBuf;

use belay_clock::now;
use belay_core::SessionKey;
use belay_core::session::StateName;
use belay_core::task::{Spend, StepFailure};
use belay_drive::headless::{Ending, HeadlessResult};
use belay_review::task::{Role, StepOutcome};

use super::{Performed, StepContext, account, known_agent};
use crate::agent_run::{AgentCommand, AgentRun, RunEnd};
use crate::error::RunnerError;
use crate::task_dir::write_artifact;

/// What an agent is asked in a step.
pub(super) struct AgentTurn<'a> {
    pub(super) role: &'a Role,
    pub(super) access: &'static str,
    /// Name of the artifact that holds the prompt.
    pub(super) prompt_name: String,
    pub(super) prompt: String,
    /// JSON schema of the answer, if the agent's CLI enforces one.
    pub(super) schema: Option<&'static str>,
}

/// How an agent's run ended.
pub(super) enum AgentEnd {
    /// The agent finished its work.
    Answered { result: Box<HeadlessResult>, spend: Spend },
    /// It did not, and the step ends with it.
    Ended(Performed),
}

/// Starts the agent and waits for it.
pub(super) fn run(context: &StepContext, turn: &AgentTurn<'_>) -> Result<AgentEnd, RunnerError> {
    write_artifact(context.artifacts(), &turn.prompt_name, turn.prompt.as_bytes())?;
    let env = context.environment()?;
    let workspace = context.workspace()?;
    let schema = turn.schema.map(|schema| write_schema(context, schema)).transpose()?;
    let known = known_agent(&turn.role.agent);
    let resume = context.run.session.as_deref().map(native_id);
    let command = AgentCommand {
        agent: &turn.role.agent,
        model: turn.role.model.as_deref(),
        access: known.map(|_| turn.access),
        dir: workspace.dir(),
        prompt: &context.artifacts().join(&turn.prompt_name),
        schema: schema.as_deref(),
        resume: resume.filter(|_| known.is_some()),
        timeout: context.timeout(),
        budget: context.task.budget_left(),
        env: &env,
        belay: &context.belay,
    };
    let resumed = context.run.session.as_deref();
    let before = resumed.and_then(|session| context.host.session_spend(session)).unwrap_or_default();
    let run = AgentRun::start(&command, &context.dir, context.run.attempt, before)?;
    wait(context, turn.role, run)
}

/// Waits for an agent that a process before this one started.
pub(super) fn adopt(context: &StepContext, role: &Role) -> Result<AgentEnd, RunnerError> {
    match AgentRun::find(&context.dir, context.run.attempt)? {
        Some(run) => wait(context, role, run),
        None => Ok(AgentEnd::Ended(Performed::Interrupted { spend: Spend::default() })),
    }
}

fn wait(context: &StepContext, role: &Role, run: AgentRun) -> Result<AgentEnd, RunnerError> {
    let (is_adopted, before) = (run.is_adopted(), run.spent_before());
    let path = context.dir.run_file(context.run.attempt, "jsonl");
    let end = run.wait(&context.cancel, || context.host.task_changed(context.dir.id()));
    let RunEnd { output, stderr } = end.map_err(|source| RunnerError::Read { path, source })?;
    let Some(result) = output.result else {
        let session = output.session.as_ref().zip(known_agent(&role.agent));
        let session = session.map(|(id, agent)| SessionKey::new(agent.id, id).to_string());
        let spend = charged(context, output.spend, session.as_deref(), before);
        return Ok(AgentEnd::Ended(match is_adopted || context.cancel.is_set() {
            // The process died with the one that started it, at a reboot for example.
            true => Performed::Interrupted { spend },
            false => Performed::Finished {
                outcome: StepOutcome::Failed(StepFailure::Crashed { why: last_line(&stderr) }),
                spend,
            },
        }));
    };
    let reported = Spend { millis: result.duration_ms, ..Spend::of_usage(result.usage, result.micros.unwrap_or(0)) };
    let spend = charged(context, reported, result.session.as_deref(), before);
    if result.ending == Ending::Finished {
        // The account's first run after a limit tells the others that it is over.
        context.limits.answered(&account(context, &role.agent), now());
        return Ok(AgentEnd::Answered { result: Box::new(result), spend });
    }
    Ok(AgentEnd::Ended(not_finished(context, role, &result, spend)))
}

/// What a run has cost. Most agents report money at the end only, and not for every model; Belay has observed the session,
/// of which `before` was counted in earlier steps.
fn charged(context: &StepContext, reported: Spend, session: Option<&str>, before: Spend) -> Spend {
    if reported.micros > 0 {
        return reported;
    }
    let observed = session.and_then(|session| context.host.session_spend(session)).unwrap_or_default();
    let micros = observed.micros.saturating_sub(before.micros);
    let tokens = observed.tokens.saturating_sub(before.tokens);
    match tokens > reported.tokens {
        true => Spend { micros, tokens, usage: observed.usage.saturating_sub(&before.usage), millis: reported.millis },
        false => Spend { micros, ..reported },
    }
}

fn not_finished(context: &StepContext, role: &Role, result: &HeadlessResult, spend: Spend) -> Performed {
    let session = result.session.clone();
    let outcome = match &result.ending {
        Ending::Finished => {
            StepOutcome::Failed(StepFailure::Crashed { why: "the agent finished without an answer".to_owned() })
        }
        Ending::Refused { why } => StepOutcome::Failed(StepFailure::Refused { why: why.clone() }),
        Ending::Limited { message, until } => {
            let account = account(context, &role.agent);
            let until = context.limits.hit(&account, *until, message, now());
            StepOutcome::Failed(StepFailure::Limited { account: account.to_string(), until, session })
        }
        // A killed session stays killed.
        Ending::Held { state: StateName::Killed, reason } => {
            StepOutcome::Failed(StepFailure::Refused { why: reason.clone() })
        }
        Ending::Held { reason, .. } => match session {
            _ if is_over_budget(context, spend) => StepOutcome::Failed(StepFailure::OverBudget),
            Some(session) => StepOutcome::Failed(StepFailure::Paused { session, reason: reason.clone() }),
            None => StepOutcome::Failed(StepFailure::Crashed { why: reason.clone() }),
        },
        Ending::TimedOut => StepOutcome::Failed(StepFailure::TimedOut),
        // A shutdown, or a person's decision that the task knows already.
        Ending::Cancelled if context.cancel.is_set() => return Performed::Interrupted { spend },
        Ending::Cancelled => {
            StepOutcome::Failed(StepFailure::Crashed { why: "someone ended the agent's process".to_owned() })
        }
        Ending::Crashed { status, signal, last_output } => {
            let how = match (signal, status) {
                (Some(signal), _) => format!("killed by signal {signal}"),
                (None, status) => format!("failed with status {}", status.unwrap_or(1)),
            };
            StepOutcome::Failed(StepFailure::Crashed {
                why: format!("{} {how}: {}", role.agent, last_line(last_output)),
            })
        }
    };
    Performed::Finished { outcome, spend }
}

/// Whether the hold comes from the task's own budget.
fn is_over_budget(context: &StepContext, spend: Spend) -> bool {
    let left = context.task.budget_left();
    left.reduced_by(spend.tokens, spend.micros).is_used_up()
}

/// The agent's own id in `agent:id`.
fn native_id(session: &str) -> &str {
    session.split_once(':').map_or(session, |(_, id)| id)
}

fn write_schema(context: &StepContext, schema: &str) -> Result<PathBuf, RunnerError> {
    write_artifact(context.dir.path(), "verdict-schema.json", schema.as_bytes())?;
    Ok(context.dir.path().join("verdict-schema.json"))
}

/// The last line with content, which usually names the error.
fn last_line(text: &str) -> String {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or("it printed nothing").chars().take(400).collect()
}
