//! What a session is doing, as one derived value with its reason.
//!
//! While events are applied, a session keeps its [`Phase`]: the last thing known about the conversation (a tool runs, a
//! permission prompt is open, the turn ended with a question). [`derive()`] combines the phase with what only the reader
//! knows: the time, whether the agent's process is alive, and whether a person has looked. Pages, commands and alerts all
//! call it, so they cannot disagree.
//!
//! Two rules keep the value honest. Silence without evidence becomes `unknown`, never `working`. And what waits for a
//! person comes from an explicit sign, so that a sub-agent or a long tool is not shown as blocked.

mod label;
mod phase;
mod prose_question;
#[cfg(test)]
mod tests;

pub use phase::{Phase, PhaseRecord};
pub(crate) use phase::{PhaseContext, RunningCall};
pub use prose_question::trailing_question;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Source;
use crate::format;
use crate::session::{DeclaredWait, SessionState};
use crate::time::Timestamp;

/// A model that has been silent for longer than this may have lost its agent.
const SILENT_MODEL: Duration = Duration::from_secs(3 * 60);

/// A tool of an agent whose process cannot be observed may have ended unnoticed after this long.
const SILENT_TOOL: Duration = Duration::from_secs(15 * 60);

/// A ready or finished session whose process cannot be observed may have been closed after this long.
const SILENT_IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// Agents also start children of their own while they ask, such as `git status`. Those end sooner.
const SHORT_LIVED_CHILD: Duration = Duration::from_secs(1);

/// [`Status::evidence`] of a session whose sub-agent waits for a person.
pub const SUB_AGENT: &str = "sub_agent";

/// The status of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub value: StatusValue,
    /// What it waits for, with the value `waiting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// When the status ends by itself: the end of a limit or of a declared wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    pub since: Timestamp,
    pub source: StatusSource,
    /// The kind of event that led to it, or the rule: `hold`, `process_gone`, `child_process`, `silence`, `limit_reset`,
    /// `sub_agent`.
    pub evidence: String,
    /// One sentence for a person.
    pub why: String,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusValue {
    Working,
    /// See [`Status::waiting_for`].
    Waiting,
    /// A usage limit of the provider applies.
    Limited,
    /// Belay or a person paused or killed it.
    Held,
    /// The turn is over, and nobody has looked since.
    Finished,
    /// Ready for a prompt.
    Idle,
    /// The turn or the process ended with an error.
    Failed,
    /// Silent for too long, although its process is alive.
    Stalled,
    Ended,
    /// Too little evidence.
    Unknown,
}

/// What a waiting session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    Permission,
    Question,
    PlanApproval,
    /// A login, trust or update dialog of the agent.
    Dialog,
    /// The agent declared a wait.
    Declared,
}

/// Where the evidence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusSource {
    /// A person's or Belay's decision.
    Decision,
    Hook,
    Proxy,
    Transcript,
    /// The process table.
    Process,
    /// Another sensor.
    Event,
}

impl From<Source> for StatusSource {
    fn from(source: Source) -> Self {
        match source {
            Source::Hook => Self::Hook,
            Source::Proxy => Self::Proxy,
            Source::Transcript => Self::Transcript,
            _ => Self::Event,
        }
    }
}

/// What the session knows.
#[derive(Clone, Copy, Debug)]
pub struct StatusInput<'a> {
    pub state: &'a SessionState,
    /// The sentence of the open incident.
    pub incident: Option<&'a str>,
    pub phase: &'a PhaseRecord,
    pub waiting: Option<&'a DeclaredWait>,
    /// Time of the newest event.
    pub last_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// What only the reader knows.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    pub now: Timestamp,
    pub process: ProcessState,
    /// Start of the oldest child process of the agent that began after the phase did. Read for an open permission.
    pub child_since: Option<Timestamp>,
    /// When a person last looked at the session.
    pub seen_at: Option<Timestamp>,
    /// The status of the sub-agent that has waited longest for a person, if any does; see [`Status::blocks_parent`].
    pub sub_agent: Option<&'a Status>,
}

/// The agent's process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessState {
    /// Its id is not known, or it runs elsewhere.
    #[default]
    Unknown,
    Alive,
    /// It has exited, or its id belongs to another process.
    Gone,
}

/// Derives the status of a session.
pub fn derive(input: &StatusInput<'_>, seen: &Observation<'_>) -> Status {
    held(input).or_else(|| ended(input, seen)).or_else(|| declared_wait(input, seen)).unwrap_or_else(|| {
        let own = by_phase(input, seen);
        sub_agent_waits(input, seen, &own).unwrap_or(own)
    })
}

/// A parent that asks nothing itself while a sub-agent waits for a person: the work goes on only after the answer, even
/// if the sub-agent runs in the background and the parent's own turn is over. What a person settled by interrupting or
/// prompting the parent since is not waited for.
fn sub_agent_waits(input: &StatusInput<'_>, seen: &Observation<'_>, own: &Status) -> Option<Status> {
    let child = seen.sub_agent?;
    if !own.value.yields_to_sub_agent() || child.since < input.phase.turn_since {
        return None;
    }
    let why = format!("Sub-agent: {}", child.why);
    Some(Status {
        waiting_for: child.waiting_for,
        ..by_rule(StatusValue::Waiting, child.since, child.source, SUB_AGENT, why)
    })
}

fn held(input: &StatusInput<'_>) -> Option<Status> {
    let (since, until, verb) = match input.state.effective() {
        SessionState::Paused { since, until, .. } => (*since, *until, "Paused"),
        SessionState::Killed { since, .. } => (*since, None, "Killed"),
        _ => return None,
    };
    let why = input.incident.map_or_else(|| format!("{verb}."), str::to_owned);
    Some(Status { until, ..by_rule(StatusValue::Held, since, StatusSource::Decision, "hold", why) })
}

fn ended(input: &StatusInput<'_>, seen: &Observation<'_>) -> Option<Status> {
    if let Some(at) = input.ended_at {
        let why = "The agent ended the session.".to_owned();
        return Some(by_rule(StatusValue::Ended, at, input.phase.source.into(), "session_ended", why));
    }
    if seen.process != ProcessState::Gone {
        return None;
    }
    let (value, why) = match &input.phase.phase {
        Phase::Starting | Phase::Ready | Phase::Done { .. } => {
            (StatusValue::Ended, "The agent's process has exited.".to_owned())
        }
        Phase::Failed { what } => (StatusValue::Failed, format!("{what} The agent's process has exited.")),
        _ => (StatusValue::Failed, "The agent's process exited in the middle of its work.".to_owned()),
    };
    Some(by_rule(value, input.last_at, StatusSource::Process, "process_gone", why))
}

fn declared_wait(input: &StatusInput<'_>, seen: &Observation<'_>) -> Option<Status> {
    let wait = input.waiting.filter(|wait| wait.until.is_none_or(|until| seen.now < until))?;
    let why = if wait.what.is_empty() { "Declared a wait.".to_owned() } else { format!("Waits for {}.", wait.what) };
    let declared = waiting(WaitingFor::Declared, wait.since, input.phase, why);
    Some(Status { until: wait.until, evidence: "waiting".to_owned(), ..declared })
}

fn by_phase(input: &StatusInput<'_>, seen: &Observation<'_>) -> Status {
    let record = input.phase;
    let silent = seen.now.saturating_since(input.last_at.max(record.since));
    let own = |value, why: String| by_event(value, record, why);
    match &record.phase {
        Phase::Unknown => unknown(input, silent),
        Phase::Starting => own(StatusValue::Unknown, "Started; the agent has not reported anything yet.".to_owned()),
        Phase::Permission { what, is_command: true, .. } if runs_child(record, seen) => {
            let why = sentence("Runs", what);
            by_rule(
                StatusValue::Working,
                seen.child_since.unwrap_or(record.since),
                StatusSource::Process,
                "child_process",
                why,
            )
        }
        Phase::Permission { what, .. } => {
            waiting(WaitingFor::Permission, record.since, record, sentence("Asks to run", what))
        }
        Phase::Question { text } => waiting(WaitingFor::Question, record.since, record, quoted(text)),
        Phase::Plan { text } => waiting(WaitingFor::PlanApproval, record.since, record, sentence("Plan", text)),
        Phase::Dialog { what } => waiting(WaitingFor::Dialog, record.since, record, sentence("Dialog", what)),
        Phase::Limited { until, what } => match until {
            // The reset has passed, and nothing has happened since.
            Some(until) if seen.now >= *until => {
                let why = "The usage limit has been reset.".to_owned();
                by_rule(StatusValue::Idle, *until, record.source.into(), "limit_reset", why)
            }
            _ => Status { until: *until, ..own(StatusValue::Limited, sentence("Usage limit", what)) },
        },
        Phase::Failed { what } => own(StatusValue::Failed, what.clone()),
        Phase::Ready if seen.process == ProcessState::Unknown && silent > SILENT_IDLE => unknown(input, silent),
        Phase::Ready => own(StatusValue::Idle, "Ready for a prompt.".to_owned()),
        Phase::Done { text } => {
            let seen_since = seen.seen_at.is_some_and(|at| at >= record.since);
            match seen_since {
                true if seen.process == ProcessState::Unknown && silent > SILENT_IDLE => unknown(input, silent),
                true => own(StatusValue::Idle, "Ready for a prompt.".to_owned()),
                false => own(StatusValue::Finished, finished(text)),
            }
        }
        Phase::Model => active(input, seen, silent, SILENT_MODEL, "The model is responding.".to_owned()),
        Phase::Compacting { .. } => active(input, seen, silent, SILENT_MODEL, "Compacts the conversation.".to_owned()),
        Phase::Tool { what } => active(input, seen, silent, SILENT_TOOL, sentence("Runs", what)),
        Phase::SubAgents { count } => active(
            input,
            seen,
            silent,
            SILENT_TOOL,
            format!("Waits for {}.", format::pluralize(u64::from(*count), "sub-agent")),
        ),
    }
}

/// Whether the command that waited for a permission runs: the person has answered in the agent's terminal, which no
/// agent reports before the command ends.
fn runs_child(record: &PhaseRecord, seen: &Observation<'_>) -> bool {
    seen.process == ProcessState::Alive
        && seen.child_since.is_some_and(|at| at > record.since && seen.now.saturating_since(at) >= SHORT_LIVED_CHILD)
}

/// An agent that has work. How long its silence is believable depends on what it does and on its process.
fn active(
    input: &StatusInput<'_>,
    seen: &Observation<'_>,
    silent: Duration,
    believable: Duration,
    why: String,
) -> Status {
    let record = input.phase;
    let is_model = matches!(record.phase, Phase::Model | Phase::Compacting { .. });
    let limit = record.stall_minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60)));
    let stalled = is_model && limit.is_some_and(|limit| silent >= limit);
    match seen.process {
        ProcessState::Alive if stalled => {
            let why = format!("No activity for {}, although its process is alive.", format::duration(silent));
            by_rule(StatusValue::Stalled, input.last_at, StatusSource::Process, "silence", why)
        }
        // A tool may run for hours.
        ProcessState::Alive => by_event(StatusValue::Working, record, why),
        _ if silent <= believable => by_event(StatusValue::Working, record, why),
        _ => unknown(input, silent),
    }
}

fn unknown(input: &StatusInput<'_>, silent: Duration) -> Status {
    let why = match input.last_at.is_known() {
        true => format!("Nothing reported for {}.", format::duration(silent)),
        false => "Nothing reported yet.".to_owned(),
    };
    by_rule(StatusValue::Unknown, input.last_at, input.phase.source.into(), "silence", why)
}

fn by_rule(value: StatusValue, since: Timestamp, source: StatusSource, rule: &str, why: String) -> Status {
    Status { value, waiting_for: None, until: None, since, source, evidence: rule.to_owned(), why }
}

fn by_event(value: StatusValue, record: &PhaseRecord, why: String) -> Status {
    by_rule(value, record.since, record.source.into(), &record.event, why)
}

fn waiting(what: WaitingFor, since: Timestamp, record: &PhaseRecord, why: String) -> Status {
    Status { waiting_for: Some(what), since, ..by_event(StatusValue::Waiting, record, why) }
}

fn sentence(verb: &str, what: &str) -> String {
    if what.is_empty() { format!("{verb}: no details.") } else { format!("{verb}: {what}") }
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "Asked a question.".to_owned() } else { format!("\u{201c}{text}\u{201d}") }
}

fn finished(text: &str) -> String {
    if text.is_empty() { "The turn is over.".to_owned() } else { text.to_owned() }
}

impl StatusValue {
    /// Whether a sub-agent that waits for a person matters more.
    pub fn yields_to_sub_agent(self) -> bool {
        matches!(self, Self::Working | Self::Stalled | Self::Unknown | Self::Finished | Self::Idle)
    }

    /// Whether a person has to act or look.
    pub fn needs_person(self) -> bool {
        matches!(self, Self::Waiting | Self::Held | Self::Finished | Self::Failed | Self::Stalled)
    }
}

impl Status {
    /// Whether a person has to act or look. A declared wait ends by itself.
    pub fn needs_person(&self) -> bool {
        self.value.needs_person() && self.waiting_for != Some(WaitingFor::Declared)
    }

    /// Whether a sub-agent with this status holds up its parent: a person has to answer within its turn. A question at
    /// the end of its turn is part of its result, which the parent reads.
    pub fn blocks_parent(&self) -> bool {
        let within_turn = self.waiting_for != Some(WaitingFor::Question)
            || matches!(&*self.evidence, "permission_asked" | "tool_called" | SUB_AGENT);
        self.value == StatusValue::Waiting && self.needs_person() && within_turn
    }

    /// Whether a rule led to it, not a single event; see [`Status::evidence`].
    pub fn is_by_rule(&self) -> bool {
        matches!(&*self.evidence, "hold" | "process_gone" | "child_process" | "silence" | "limit_reset" | SUB_AGENT)
    }
}
