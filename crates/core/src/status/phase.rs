//! The last thing known about a conversation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::trailing_question;
use crate::action::ToolKind;
use crate::event::{Author, Body, Event, Operator, OperatorDecision, PermissionSubject, Source, StartKind};
use crate::excerpt::floor;
use crate::time::Timestamp;

/// Maximum length of the texts in a phase.
const MAX_TEXT_BYTES: usize = 200;

/// Open prompts that are told apart.
const MAX_PROMPTS: usize = 16;

/// Calls of one response start within this time of each other. A person takes longer to answer.
const PARALLEL_CALLS: Duration = Duration::from_secs(1);

/// The last response of a turn is this close to its end.
const LATE_RESPONSE: Duration = Duration::from_secs(5);

/// HTTP status of a refused request: too many requests.
const TOO_MANY_REQUESTS: u16 = 429;

/// What the agent does or waits for, by the last event that tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Unknown,
    /// Belay started the program, and the agent has not reported anything yet. It may show a login or trust dialog.
    Starting,
    /// Started or resumed, without a prompt yet.
    Ready,
    /// The model works on a response.
    Model,
    /// A tool runs.
    Tool { what: String },
    /// Sub-agents run.
    SubAgents { count: u32 },
    Compacting {
        /// By the agent itself, in the middle of its work.
        #[serde(default)]
        automatic: bool,
    },
    /// A permission prompt is open.
    Permission {
        what: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// A command waits for it. Once it is allowed, the agent has a new child process.
        #[serde(default)]
        is_command: bool,
    },
    /// A question is open.
    Question { text: String },
    /// A plan waits for approval.
    Plan { text: String },
    /// A dialog of the agent is open.
    Dialog { what: String },
    /// A usage limit applies.
    Limited {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        what: String,
    },
    /// The turn ended with an error.
    Failed { what: String },
    /// The turn is over.
    Done { text: String },
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
    /// The last failure of a model call, until a call succeeds. The agent may retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The last permission of this turn was denied. The agent may report its end before the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Calls whose permission prompts are open, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<String>,
    /// When a person last prompted or interrupted the agent. What a sub-agent asked before is settled.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub turn_since: Timestamp,
}

fn is_unknown(at: &Timestamp) -> bool {
    !at.is_known()
}

/// What the session knows beyond the event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseContext<'a> {
    /// The oldest call that still runs, if any.
    pub running: Option<RunningCall<'a>>,
    pub running_sub_agents: u32,
    pub stall_minutes: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunningCall<'a> {
    pub what: &'a str,
    pub is_command: bool,
}

impl PhaseRecord {
    /// Moves to the phase that follows from an event. Events that say nothing about it change nothing.
    pub(crate) fn observe(&mut self, event: &Event, context: PhaseContext<'_>) {
        self.update_prompts(&event.body);
        let next = self.next(event, context);
        match &event.body {
            Body::ModelFailed(failed) => self.failure = Some(failure(failed.message.as_str())),
            Body::PermissionAnswered(answered) => self.denied = !answered.allowed,
            Body::Prompt(_) | Body::ToolCalled(_) => (self.failure, self.denied) = (None, false),
            Body::ModelAnswered(_) => self.failure = None,
            _ => {}
        }
        match &event.body {
            // Transcripts report with a delay.
            Body::Prompt(prompt) if prompt.by == Author::Person => self.turn_since = self.turn_since.max(event.at),
            Body::TurnEnded(turn) if turn.interrupted => self.turn_since = self.turn_since.max(event.at),
            _ => {}
        }
        let Some(phase) = next else { return };
        let is_permission = |phase: &Phase| matches!(phase, Phase::Permission { .. });
        // Of several prompts, one was answered: the others still block the agent.
        if is_permission(&self.phase)
            && !is_permission(&phase)
            && ends_one_prompt(&event.body)
            && !self.prompts.is_empty()
        {
            return;
        }
        if !is_permission(&phase) {
            self.prompts.clear();
        }
        if phase == self.phase {
            return;
        }
        let (since, source, stall_minutes) = (event.at, event.source, context.stall_minutes);
        let (event, failure, denied) = (event.body.kind().to_owned(), self.failure.take(), self.denied);
        let (turn_since, prompts) = (self.turn_since, std::mem::take(&mut self.prompts));
        *self = Self { phase, since, source, event, stall_minutes, failure, denied, prompts, turn_since };
    }

    /// Keeps the list of open prompts. Only calls that have an id can be told apart.
    fn update_prompts(&mut self, body: &Body) {
        match body {
            Body::PermissionAsked(asked) if asked.subject == PermissionSubject::Tool => {
                if let Some(call) = asked.call.as_ref().filter(|call| !self.prompts.contains(call)) {
                    self.prompts.push(call.clone());
                    let surplus = self.prompts.len().saturating_sub(MAX_PROMPTS);
                    self.prompts.drain(..surplus);
                }
            }
            Body::ToolReturned(returned) if returned.call.is_some() => {
                self.prompts.retain(|call| Some(call) != returned.call.as_ref());
            }
            Body::PermissionAnswered(answered) if answered.call.is_some() => {
                self.prompts.retain(|call| Some(call) != answered.call.as_ref());
            }
            // Which one it was is not known.
            Body::ToolReturned(_)
            | Body::PermissionAnswered(_)
            | Body::Operator(Operator { decision: OperatorDecision::Answer { .. }, .. })
                if !self.prompts.is_empty() =>
            {
                self.prompts.remove(0);
            }
            _ => {}
        }
    }

    fn next(&self, event: &Event, context: PhaseContext<'_>) -> Option<Phase> {
        if self.is_outdated(event) {
            return None;
        }
        Some(match &event.body {
            Body::SessionStarted(start) if start.how == StartKind::Launched => match self.phase {
                Phase::Unknown => Phase::Starting,
                _ => return None,
            },
            Body::SessionStarted(start) => match self.phase {
                // A person asked for the compaction, and the agent has nothing else to do.
                Phase::Compacting { automatic: false } if start.how == StartKind::Compacted => Phase::Ready,
                Phase::Compacting { .. } if start.how == StartKind::Compacted => Phase::Model,
                _ if self.is_busy() => return None,
                _ => Phase::Ready,
            },
            Body::Prompt(_) => Phase::Model,
            Body::ModelAsked(ask) if !ask.auxiliary => Phase::Model,
            // The summary, which a person asked for.
            Body::ModelAnswered(_) if self.phase == (Phase::Compacting { automatic: false }) => Phase::Ready,
            Body::ModelAnswered(answer) if !answer.auxiliary => match answer.tool_calls {
                Some(0) if !self.asks() => turn_over(answer.text.as_str()),
                // The calls are reported by themselves, and the turn may have been interrupted since.
                _ if self.has_call() || self.is_over() => return None,
                _ => Phase::Model,
            },
            // Of parallel calls, one waits for its permission while others start and end.
            Body::ToolCalled(_) if self.asks() && event.at.saturating_since(self.since) < PARALLEL_CALLS => {
                return None;
            }
            Body::ToolCalled(called) => match called.tool.kind {
                ToolKind::Ask => Phase::Question { text: short(called.input.as_str()) },
                _ => Phase::Tool { what: short(called.input.as_str()) },
            },
            // The remains of an interrupted call.
            Body::ToolReturned(_) if self.is_over() => return None,
            Body::ToolReturned(returned) if self.asks_for_another(returned.call.as_deref(), context) => return None,
            Body::ToolReturned(_) => work(context),
            // Claude Code also reports the end of sub-agents that it has not reported the start of.
            Body::SubAgentEnded(_) if !self.has_call() || self.asks() => return None,
            Body::SubAgentEnded(_) => work(context),
            // It runs in the background while the agent asks.
            Body::SubAgentStarted(_) if self.asks() => return None,
            Body::SubAgentStarted(_) => work(context),
            Body::PermissionAsked(asked) => match asked.subject {
                PermissionSubject::Tool => Phase::Permission {
                    what: short(asked.what.as_str()),
                    call: asked.call.clone(),
                    is_command: context.running.is_some_and(|call| call.is_command),
                },
                PermissionSubject::Question => Phase::Question { text: short(asked.what.as_str()) },
                PermissionSubject::Plan => Phase::Plan { text: short(asked.what.as_str()) },
                PermissionSubject::Dialog => Phase::Dialog { what: short(asked.what.as_str()) },
            },
            Body::Operator(Operator { decision: OperatorDecision::Answer { .. }, .. })
                if matches!(self.phase, Phase::Permission { .. }) =>
            {
                work(context)
            }
            Body::PermissionAnswered(_) if !self.asks() => return None,
            Body::PermissionAnswered(answered) if answered.allowed => work(context),
            Body::PermissionAnswered(_) => Phase::Model,
            Body::Compacted(compacted) => Phase::Compacting { automatic: compacted.automatic },
            Body::LimitHit(limit) => Phase::Limited { until: limit.resets_at, what: short(limit.what.as_str()) },
            Body::ModelFailed(failed) if failed.status == Some(TOO_MANY_REQUESTS) => {
                Phase::Limited { until: failed.retry_at, what: short(failed.message.as_str()) }
            }
            Body::ModelFailed(failed) if self.is_busy() && is_final(failed.status) => {
                Phase::Failed { what: failure(failed.message.as_str()) }
            }
            // The agent retries or ends its turn.
            Body::ModelFailed(_) => return None,
            Body::TurnEnded(turn) if turn.interrupted => Phase::Ready,
            // A limit also ends the turn.
            Body::TurnEnded(_) if matches!(self.phase, Phase::Limited { .. }) => return None,
            Body::TurnEnded(turn) if turn.failed => Phase::Failed { what: failure(turn.text.as_str()) },
            Body::TurnEnded(turn) => match self.phase {
                // A response by the proxy has told the same, or a person has interrupted the turn.
                Phase::Question { .. }
                | Phase::Plan { .. }
                | Phase::Done { .. }
                | Phase::Ready
                | Phase::Failed { .. }
                    if turn.text.is_empty() =>
                {
                    return None;
                }
                Phase::Model if turn.text.is_empty() && self.failure.is_some() => {
                    Phase::Failed { what: self.failure.clone().unwrap_or_default() }
                }
                // The agent stopped because of the answer, or had only to compact the conversation.
                Phase::Model if turn.text.is_empty() && (self.denied || self.event == "session_started") => {
                    Phase::Ready
                }
                _ => turn_over(turn.text.as_str()),
            },
            _ => return None,
        })
    }

    /// Whether the event happened before the phase began. Proxy and transcript report with a delay.
    fn is_outdated(&self, event: &Event) -> bool {
        let may_be_late = match &event.body {
            Body::ModelAsked(_) | Body::ModelAnswered(_) | Body::PermissionAnswered(_) => true,
            Body::TurnEnded(turn) => turn.interrupted,
            _ => false,
        };
        let completes = match (&event.body, &self.phase) {
            // Copilot CLI writes the last response of a turn after it has reported the end of the turn without a text.
            (Body::ModelAnswered(answer), Phase::Done { text }) => answer.tool_calls == Some(0) && text.is_empty(),
            (Body::ModelAnswered(answer), Phase::Ready) => {
                answer.tool_calls == Some(0) && self.event == "turn_ended" && self.source == Source::Hook
            }
            // opencode reports the end of an interrupted turn twice, in any order.
            (Body::TurnEnded(turn), Phase::Done { text }) => turn.interrupted && text.is_empty(),
            _ => false,
        };
        let late_by = self.since.saturating_since(event.at);
        let believable = if completes { LATE_RESPONSE } else { Duration::ZERO };
        may_be_late && event.at.is_known() && late_by > believable
    }

    fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Model | Phase::Tool { .. } | Phase::SubAgents { .. } | Phase::Compacting { .. })
    }

    /// Whether a person has to answer within the turn.
    fn asks(&self) -> bool {
        matches!(self.phase, Phase::Permission { .. } | Phase::Plan { .. } | Phase::Dialog { .. })
            || matches!(self.phase, Phase::Question { .. })
                && matches!(&*self.event, "permission_asked" | "tool_called")
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Done { .. })
    }

    fn has_call(&self) -> bool {
        self.asks() || matches!(self.phase, Phase::Tool { .. } | Phase::SubAgents { .. })
    }

    /// Whether the agent still asks, although another call has returned.
    fn asks_for_another(&self, returned: Option<&str>, context: PhaseContext<'_>) -> bool {
        let own = match &self.phase {
            Phase::Permission { call, .. } => call.as_deref(),
            _ => None,
        };
        match (own, returned) {
            // The one that returned is no longer in the list.
            (Some(_), Some(_)) => !self.prompts.is_empty(),
            _ => self.asks() && context.running.is_some(),
        }
    }
}

/// Whether an event ends one permission prompt, and not the turn.
fn ends_one_prompt(body: &Body) -> bool {
    matches!(
        body,
        Body::ToolReturned(_)
            | Body::PermissionAnswered(_)
            | Body::Operator(Operator { decision: OperatorDecision::Answer { .. }, .. })
    )
}

fn work(context: PhaseContext<'_>) -> Phase {
    match (context.running, context.running_sub_agents) {
        (_, count @ 1..) => Phase::SubAgents { count },
        (Some(call), 0) => Phase::Tool { what: short(call.what) },
        (None, 0) => Phase::Model,
    }
}

fn turn_over(text: &str) -> Phase {
    match trailing_question(text) {
        Some(text) => Phase::Question { text },
        None => Phase::Done { text: first_line(text) },
    }
}

/// Whether agents do not retry after this HTTP status.
fn is_final(status: Option<u16>) -> bool {
    status.is_some_and(|status| (400..500).contains(&status) && !matches!(status, 408 | 409 | 425 | TOO_MANY_REQUESTS))
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
