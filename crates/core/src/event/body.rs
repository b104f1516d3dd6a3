//! The kinds of events.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::effect::Spend;

/// The kinds of events. `kind` names the variant in JSON; the variant's fields are on the same level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// A conversation started or was resumed.
    SessionStarted(SessionStarted),
    /// A conversation ended. A pause or kill stays in force.
    SessionEnded(SessionEnded),
    /// The agent received a prompt.
    Prompt(Prompt),
    /// The agent requested a tool call that has not run yet.
    ToolCalled(ToolCalled),
    /// A tool call succeeded, failed, was refused, or continues in the background.
    ToolReturned(ToolReturned),
    /// A fact about an earlier call or response that was not known at the time.
    Learned(LateFact),
    /// A file's content changed.
    FileChanged(FileChanged),
    /// A test, build or lint run started or ended.
    CheckRan(CheckRan),
    /// A commit was made.
    Committed(Committed),
    /// The agent sent a model request.
    ModelAsked(ModelAsked),
    /// The model responded.
    ModelAnswered(ModelAnswered),
    /// A model call failed for an external reason: outage, overload, refusal.
    ModelFailed(ModelFailed),
    /// A usage limit was hit.
    LimitHit(UsageLimitHit),
    /// The agent ended its turn by itself.
    TurnEnded(TurnEnded),
    /// The agent declared a wait.
    Waiting(Waiting),
    /// A declared wait ended.
    WaitEnded(WaitEnded),
    /// The agent asked a person for permission.
    PermissionAsked(PermissionRequested),
    /// A person answered such a request.
    PermissionAnswered(PermissionAnswered),
    /// An offer to answer such a request in Belay ended without an answer here. Emitted by Belay.
    ApprovalEnded(ApprovalEnded),
    /// The agent compacted the conversation. Belay's evidence is unaffected.
    Compacted(Compacted),
    /// This session started a sub-agent.
    SubAgentStarted(SubAgent),
    /// A sub-agent of this session ended.
    SubAgentEnded(SubAgent),
    /// Total cost of this session's sub-agents so far. Emitted by Belay, because budgets add up to the root
    /// session.
    SubAgentsSpent(SubAgentSpend),
    /// Today's cost of all sessions of the same project and account. Emitted by Belay, because they share
    /// budgets.
    SharedSpent(SharedSpend),
    /// A named task started, progressed or completed.
    Task(Task),
    /// A note in the session's record, ignored by detection.
    Note(Note),
    /// An operator's decision.
    Operator(Operator),
    /// An intervention was delivered to the agent, with proof.
    Delivered(Delivered),
    /// A clock tick, sent by the resident process to sessions that may stall.
    Tick,
}

impl Body {
    /// The variant's name in JSON.
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
            Self::PermissionAnswered(_) => "permission_answered",
            Self::ApprovalEnded(_) => "approval_ended",
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

    /// Identity from the agent's own ids, as prefix and id; `None` if the event id has to serve.
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
            Self::ApprovalEnded(ended) => Some(("approval-ended:", Cow::Borrowed(&ended.approval))),
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
