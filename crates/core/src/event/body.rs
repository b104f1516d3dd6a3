//! What can happen in a session.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::effect::Spend;

/// The kinds of events. `kind` names the variant on the wire; the other fields stand beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// A conversation began or was taken up again.
    SessionStarted(SessionStarted),
    /// A conversation ended. A paused or killed session stays so.
    SessionEnded(SessionEnded),
    /// Somebody told the agent what to do.
    Prompt(Prompt),
    /// The agent asks for a tool, before it runs.
    ToolCalled(ToolCalled),
    /// A tool answered, failed, was refused, or goes on in the background.
    ToolReturned(ToolReturned),
    /// A fact about an earlier call or answer that was not known when it was told.
    Learned(LateFact),
    /// A file's content changed.
    FileChanged(FileChanged),
    /// A test, build or lint run began or ended.
    CheckRan(CheckRan),
    /// A commit was made.
    Committed(Committed),
    /// A model request left the agent.
    ModelAsked(ModelAsked),
    /// A model answered.
    ModelAnswered(ModelAnswered),
    /// A model call failed for a reason outside the agent: outage, overload, refusal.
    ModelFailed(ModelFailed),
    /// A usage limit was hit.
    LimitHit(UsageLimitHit),
    /// The agent's turn ended (it stopped by itself).
    TurnEnded(TurnEnded),
    /// The agent declares that it waits.
    Waiting(Waiting),
    /// A declared wait is over.
    WaitEnded(WaitEnded),
    /// The agent asks a person for permission.
    PermissionAsked(PermissionRequested),
    /// The conversation was condensed; the agent forgets, we do not.
    Compacted(Compacted),
    /// A sub-agent was started by this session.
    SubAgentStarted(SubAgent),
    /// A sub-agent of this session ended.
    SubAgentEnded(SubAgent),
    /// What the sub-agents of this session have cost so far. Told by Belay itself: budgets add up to the root.
    SubAgentsSpent(SubAgentSpend),
    /// What all sessions of the same project and account have cost today. Told by Belay itself: they share budgets.
    SharedSpent(SharedSpend),
    /// A named task began, moved or was completed.
    Task(Task),
    /// Something worth keeping, without meaning for detection.
    Note(Note),
    /// A person's decision.
    Operator(Operator),
    /// An intervention reached the agent (there is proof).
    Delivered(Delivered),
    /// Time passes. Sent by the resident process to sessions that may stall.
    Tick,
}

impl Body {
    /// The variant's name on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted(_) => "session_started",
            Self::SessionEnded(_) => "session_ended",
            Self::Prompt(_) => "prompt",
            Self::ToolCalled(_) => "tool_called",
            Self::ToolReturned(_) => "tool_returned",
            Self::Learned(_) => "learned",
            Self::FileChanged(_) => "file_changed",
            Self::CheckRan(_) => "check_ran",
            Self::Committed(_) => "committed",
            Self::ModelAsked(_) => "model_asked",
            Self::ModelAnswered(_) => "model_answered",
            Self::ModelFailed(_) => "model_failed",
            Self::LimitHit(_) => "limit_hit",
            Self::TurnEnded(_) => "turn_ended",
            Self::Waiting(_) => "waiting",
            Self::WaitEnded(_) => "wait_ended",
            Self::PermissionAsked(_) => "permission_asked",
            Self::Compacted(_) => "compacted",
            Self::SubAgentStarted(_) => "sub_agent_started",
            Self::SubAgentEnded(_) => "sub_agent_ended",
            Self::SubAgentsSpent(_) => "sub_agents_spent",
            Self::SharedSpent(_) => "shared_spent",
            Self::Task(_) => "task",
            Self::Note(_) => "note",
            Self::Operator(_) => "operator",
            Self::Delivered(_) => "delivered",
            Self::Tick => "tick",
        }
    }

    /// Identity by the agent's own ids, in two pieces; `None` where the event id must do.
    pub(super) fn native_id(&self) -> Option<(&'static str, Cow<'_, str>)> {
        fn named<'a>(kind: &'static str, id: &'a Option<String>) -> Option<(&'static str, Cow<'a, str>)> {
            id.as_deref().map(|id| (kind, Cow::Borrowed(id)))
        }
        match self {
            Self::ToolCalled(call) => named("call:", &call.call),
            Self::ToolReturned(result) => named("result:", &result.call),
            Self::Learned(fact) => Some(fact.identity()),
            Self::ModelAsked(ask) => named("ask:", &ask.request),
            Self::ModelAnswered(answer) => named("answer:", &answer.response),
            Self::Committed(commit) => Some(("commit:", Cow::Borrowed(&commit.sha))),
            Self::SubAgentStarted(sub) => Some(("sub-start:", sub.child.to_string().into())),
            Self::SubAgentsSpent(told) => {
                let Spend { calls, usage, cost_micros, .. } = told.beneath;
                Some(("sub-spent:", format!("{calls}:{}:{cost_micros}", usage.total()).into()))
            }
            Self::SharedSpent(SharedSpend { day, project, account }) => {
                let TokenCost { tokens, cost_micros } = project;
                let told = format!("{day}:{tokens}:{cost_micros}:{}:{}", account.tokens, account.cost_micros);
                Some(("shared-spent:", told.into()))
            }
            _ => None,
        }
    }
}
