//! The last thing known about a conversation.

use serde::{Deserialize, Serialize};

use super::trailing_question;
use crate::action::ToolKind;
use crate::event::{Body, Event, PermissionSubject, Source};
use crate::excerpt::floor;
use crate::time::Timestamp;

/// Maximum length of the texts in a phase.
const MAX_TEXT_BYTES: usize = 200;

/// HTTP status of a refused request: too many requests.
const TOO_MANY_REQUESTS: u16 = 429;

/// What the agent does or waits for, by the last event that tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Unknown,
    /// Started or resumed, without a prompt yet.
    Ready,
    /// The model works on a response.
    Model,
    /// A tool runs.
    Tool {
        what: String,
    },
    /// Sub-agents run.
    SubAgents {
        count: u32,
    },
    Compacting,
    /// A permission prompt is open.
    Permission {
        what: String,
    },
    /// A question is open.
    Question {
        text: String,
    },
    /// A plan waits for approval.
    Plan {
        text: String,
    },
    /// A dialog of the agent is open.
    Dialog {
        what: String,
    },
    /// A usage limit applies.
    Limited {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        what: String,
    },
    /// The turn ended with an error.
    Failed {
        what: String,
    },
    /// The turn is over.
    Done {
        text: String,
    },
}

/// A phase, since when, and by which sensor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRecord {
    #[serde(flatten)]
    pub phase: Phase,
    pub since: Timestamp,
    pub source: Source,
    /// Kind of the event that led to it.
    pub event: String,
    /// Minutes of silence that count as a stall, by the rules in force; see `detect.patterns.stall`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_minutes: Option<u64>,
}

/// What the session knows beyond the event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseContext<'a> {
    /// The call that still runs, if any.
    pub running: Option<&'a str>,
    pub running_sub_agents: u32,
    pub stall_minutes: Option<u64>,
}

impl PhaseRecord {
    /// Moves to the phase that follows from an event. Events that say nothing about it change nothing.
    pub(crate) fn observe(&mut self, event: &Event, context: PhaseContext<'_>) {
        let Some(phase) = self.next(event, context) else { return };
        if phase == self.phase {
            return;
        }
        let (since, source, stall_minutes) = (event.at, event.source, context.stall_minutes);
        *self = Self { phase, since, source, event: event.body.kind().to_owned(), stall_minutes };
    }

    fn next(&self, event: &Event, context: PhaseContext<'_>) -> Option<Phase> {
        Some(match &event.body {
            Body::SessionStarted(_) if self.is_busy() => return None,
            Body::SessionStarted(_) => Phase::Ready,
            Body::Prompt(_) => Phase::Model,
            Body::ModelAsked(ask) if !ask.auxiliary => Phase::Model,
            Body::ModelAnswered(answer) if !answer.auxiliary => match answer.tool_calls {
                Some(0) => turn_over(answer.text.as_str()),
                // The calls are reported by themselves.
                _ => Phase::Model,
            },
            Body::ToolCalled(called) => match called.tool.kind {
                ToolKind::Ask => Phase::Question { text: short(called.input.as_str()) },
                _ => Phase::Tool { what: short(called.input.as_str()) },
            },
            Body::ToolReturned(_) | Body::SubAgentEnded(_) | Body::SubAgentStarted(_) => work(context),
            Body::PermissionAsked(asked) => match asked.subject {
                PermissionSubject::Tool => Phase::Permission { what: short(asked.what.as_str()) },
                PermissionSubject::Question => Phase::Question { text: short(asked.what.as_str()) },
                PermissionSubject::Plan => Phase::Plan { text: short(asked.what.as_str()) },
                PermissionSubject::Dialog => Phase::Dialog { what: short(asked.what.as_str()) },
            },
            Body::Compacted(_) => Phase::Compacting,
            Body::LimitHit(limit) => Phase::Limited { until: limit.resets_at, what: short(limit.what.as_str()) },
            Body::ModelFailed(failed) if failed.status == Some(TOO_MANY_REQUESTS) => {
                Phase::Limited { until: failed.retry_at, what: short(failed.message.as_str()) }
            }
            // The agent retries or ends its turn.
            Body::ModelFailed(_) => return None,
            // A limit also ends the turn.
            Body::TurnEnded(_) if matches!(self.phase, Phase::Limited { .. }) => return None,
            Body::TurnEnded(turn) if turn.failed => Phase::Failed { what: failure(turn.text.as_str()) },
            Body::TurnEnded(turn) => match self.phase {
                // A response by the proxy has told the same.
                Phase::Question { .. } | Phase::Done { .. } if turn.text.is_empty() => return None,
                _ => turn_over(turn.text.as_str()),
            },
            _ => return None,
        })
    }

    fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Model | Phase::Tool { .. } | Phase::SubAgents { .. } | Phase::Compacting)
    }
}

fn work(context: PhaseContext<'_>) -> Phase {
    match (context.running, context.running_sub_agents) {
        (_, count @ 1..) => Phase::SubAgents { count },
        (Some(what), 0) => Phase::Tool { what: short(what) },
        (None, 0) => Phase::Model,
    }
}

fn turn_over(text: &str) -> Phase {
    match trailing_question(text) {
        Some(text) => Phase::Question { text },
        None => Phase::Done { text: first_line(text) },
    }
}

fn failure(text: &str) -> String {
    if text.is_empty() { "The turn ended with an error.".to_owned() } else { short(text) }
}

/// The first line that says something.
fn first_line(text: &str) -> String {
    let line = text.lines().map(|line| line.trim_matches(['#', '*', ' '])).find(|line| !line.is_empty());
    short(line.unwrap_or_default())
}

fn short(text: &str) -> String {
    floor(text.trim(), MAX_TEXT_BYTES).to_owned()
}
