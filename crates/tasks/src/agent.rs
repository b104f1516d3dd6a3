//! One turn of an agent in a step: a prompt, one answer or the reason why there is none.

use std::path::Path;
use std::time::Duration;

use belay_agents::AgentSpec;
use belay_clock::now;
use belay_core::SessionKey;
use belay_core::session::{Budget, StateName};
use belay_core::task::{Machine, Spend, StepFailure};
use belay_drive::headless::{Ending, HeadlessResult};
use belay_drive::limits::AccountId;

use crate::agent_run::{AgentCommand, AgentRun, RunEnd};
use crate::error::TaskError;
use crate::performer::{StepContext, StepEnd};

/// What an agent is asked in a step.
#[derive(Debug)]
pub struct AgentTurn<'a> {
    /// The agent, or the path of a program.
    pub agent: &'a str,
    pub model: Option<&'a str>,
    /// `read-only`, `workspace` or `full`. A program that Belay does not know has no such modes.
    pub access: &'static str,
    /// Where it works.
    pub dir: &'a Path,
    /// The file of the prompt.
    pub prompt: &'a Path,
    /// The file of the JSON schema of the answer, if the agent's CLI enforces one.
    pub schema: Option<&'a Path>,
    pub timeout: Duration,
    /// What the task may still spend.
    pub budget: Budget,
}

/// How an agent's run ended.
#[derive(Debug)]
pub enum AgentEnd {
    /// The agent finished its work.
    Answered { result: Box<HeadlessResult>, spend: Spend },
    /// It did not, and the step ends with it.
    Failed { failure: StepFailure, spend: Spend },
    /// The run was stopped, or died with the process that started it.
    Interrupted { spend: Spend },
}

impl AgentEnd {
    /// The end of the step, with the outcome of an answer.
    pub fn into_step<M: Machine>(
        self,
        outcome: impl FnOnce(&HeadlessResult) -> Result<M::Outcome, String>,
    ) -> StepEnd<M> {
        match self {
            Self::Answered { result, spend } => match outcome(&result) {
                Ok(outcome) => StepEnd::Finished { outcome, spend },
                Err(why) => StepEnd::crashed(why, spend),
            },
            Self::Failed { failure, spend } => StepEnd::Finished { outcome: failure.into(), spend },
            Self::Interrupted { spend } => StepEnd::Interrupted { spend },
        }
    }
}

/// The agent that a name or the path of a program stands for, as `belay exec` understands it.
pub fn known_agent(agent: &str) -> Option<&'static AgentSpec> {
    belay_agents::find(Path::new(agent).file_name()?.to_str()?)
}

/// The account that an agent of the step uses.
pub fn account<M: Machine>(step: &StepContext<M>, agent: &str) -> AccountId {
    let env = step.environment().unwrap_or_default();
    known_agent(agent).map_or_else(|| AccountId::from_name(agent), |agent| AccountId::from_environment(agent, &env))
}

/// Starts the agent and waits for it.
pub fn run<M: Machine>(step: &StepContext<M>, turn: &AgentTurn<'_>) -> Result<AgentEnd, TaskError> {
    let env = step.environment()?;
    let known = known_agent(turn.agent);
    let session = step.run.session.as_deref();
    let command = AgentCommand {
        agent: turn.agent,
        model: turn.model,
        access: known.map(|_| turn.access),
        dir: turn.dir,
        prompt: turn.prompt,
        schema: turn.schema,
        resume: session.map(native_id).filter(|_| known.is_some()),
        timeout: turn.timeout,
        budget: turn.budget,
        env: &env,
        belay: &step.paths.belay,
    };
    let before = session.and_then(|session| step.host.session_spend(session)).unwrap_or_default();
    let run = AgentRun::start(&command, &step.dir, step.run.attempt, before)?;
    wait(step, turn.agent, turn.budget, run)
}

/// Waits for an agent that a process before this one started.
pub fn adopt<M: Machine>(step: &StepContext<M>, agent: &str, budget: Budget) -> Result<AgentEnd, TaskError> {
    match AgentRun::find(&step.dir, step.run.attempt)? {
        Some(run) => wait(step, agent, budget, run),
        None => Ok(AgentEnd::Interrupted { spend: Spend::default() }),
    }
}

fn wait<M: Machine>(step: &StepContext<M>, agent: &str, budget: Budget, run: AgentRun) -> Result<AgentEnd, TaskError> {
    let (is_adopted, before) = (run.is_adopted(), run.spent_before());
    let path = step.dir.run_file(step.run.attempt, "jsonl");
    let end = run.wait(&step.cancel, || step.host.task_changed(&step.subject));
    let RunEnd { output, stderr } = end.map_err(|source| TaskError::Read { path, source })?;
    let Some(result) = output.result else {
        let session = output.session.as_ref().zip(known_agent(agent));
        let session = session.map(|(id, agent)| SessionKey::new(agent.id, id).to_string());
        let spend = charged(step, output.spend, session.as_deref(), before);
        return Ok(match is_adopted || step.cancel.is_cancelled() {
            // The process died with the one that started it, at a reboot for example.
            true => AgentEnd::Interrupted { spend },
            false => AgentEnd::Failed { failure: StepFailure::Crashed { why: last_line(&stderr) }, spend },
        });
    };
    let reported = Spend { millis: result.duration_ms, ..Spend::of_usage(result.usage, result.micros.unwrap_or(0)) };
    let spend = charged(step, reported, result.session.as_deref(), before);
    if result.ending == Ending::Finished {
        // The account's first run after a limit tells the others that it is over.
        step.limits.answered(&account(step, agent), now());
        return Ok(AgentEnd::Answered { result: Box::new(result), spend });
    }
    if result.ending == Ending::Cancelled && step.cancel.is_cancelled() {
        // A shutdown, or a person's decision that the task knows already.
        return Ok(AgentEnd::Interrupted { spend });
    }
    let is_over_budget = budget.reduced_by(spend.tokens, spend.micros).is_used_up();
    Ok(AgentEnd::Failed { failure: failure(step, agent, &result, is_over_budget), spend })
}

/// What a run has cost. Most agents report money at the end only, and not for every model; Belay has observed the session,
/// of which `before` was counted in earlier steps.
fn charged<M: Machine>(step: &StepContext<M>, reported: Spend, session: Option<&str>, before: Spend) -> Spend {
    if reported.micros > 0 {
        return reported;
    }
    let observed = session.and_then(|session| step.host.session_spend(session)).unwrap_or_default();
    let micros = observed.micros.saturating_sub(before.micros);
    let tokens = observed.tokens.saturating_sub(before.tokens);
    match tokens > reported.tokens {
        true => Spend { micros, tokens, usage: observed.usage.saturating_sub(&before.usage), millis: reported.millis },
        false => Spend { micros, ..reported },
    }
}

/// `is_over_budget`: a hold comes from the task's own budget.
fn failure<M: Machine>(
    step: &StepContext<M>,
    agent: &str,
    result: &HeadlessResult,
    is_over_budget: bool,
) -> StepFailure {
    let session = result.session.clone();
    match &result.ending {
        Ending::Finished => StepFailure::Crashed { why: "the agent finished without an answer".to_owned() },
        Ending::Refused { why } => StepFailure::Refused { why: why.clone() },
        Ending::Limited { message, until } => {
            let account = account(step, agent);
            let until = step.limits.hit(&account, *until, message, now());
            StepFailure::Limited { account: account.to_string(), until, session }
        }
        // A killed session stays killed.
        Ending::Held { state: StateName::Killed, reason } => StepFailure::Refused { why: reason.clone() },
        Ending::Held { reason, .. } => match session {
            _ if is_over_budget => StepFailure::OverBudget,
            Some(session) => StepFailure::Paused { session, reason: reason.clone() },
            None => StepFailure::Crashed { why: reason.clone() },
        },
        Ending::TimedOut => StepFailure::TimedOut,
        Ending::Cancelled => StepFailure::Crashed { why: "someone ended the agent's process".to_owned() },
        Ending::Crashed { status, signal, last_output } => {
            let how = match (signal, status) {
                (Some(signal), _) => format!("killed by signal {signal}"),
                (None, status) => format!("failed with status {}", status.unwrap_or(1)),
            };
            StepFailure::Crashed { why: format!("{agent} {how}: {}", last_line(last_output)) }
        }
    }
}

/// The agent's own id in `agent:id`.
fn native_id(session: &str) -> &str {
    session.split_once(':').map_or(session, |(_, id)| id)
}

/// The last line with content, which usually names the error.
fn last_line(text: &str) -> String {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or("it printed nothing").chars().take(400).collect()
}
