//! Review tasks: the queue, and one task with its rounds, issues and costs.

use belay_core::task::WorkspaceMode;
use belay_core::wait::Awaited;
use belay_core::{Subject, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Need, NeedKind};

/// The queue and the tasks, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewsView {
    /// A person paused the queue: running steps finish, nothing new starts.
    pub paused: bool,
    /// Tasks that may run at once.
    pub workers: u32,
    /// Tasks that may wait for a worker.
    pub queue_depth: u32,
    pub running: u32,
    pub queued: u32,
    pub tasks: Vec<ReviewSummaryView>,
    /// Number of tasks before paging.
    pub total: u64,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewPhase {
    #[default]
    Queued,
    Preparing,
    Building,
    Gating,
    Reviewing,
    Done,
    NeedsAttention,
    Cancelled,
    Failed,
}

impl ReviewPhase {
    /// Nothing runs anymore. A person may resume a task that is not done.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::NeedsAttention | Self::Cancelled | Self::Failed)
    }
}

/// A task in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewSummaryView {
    /// Such as `r-7f3k`.
    pub id: String,
    pub title: String,
    /// Absolute path of the project.
    #[serde(alias = "folder")]
    pub project_dir: String,
    pub phase: ReviewPhase,
    /// What the task does, waits for, or how it ended, in one sentence.
    pub status: String,
    /// Why a person is needed, if the phase is `needs_attention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<ReviewAttention>,
    /// What is awaited, if a usage limit, a lock or a pause holds the task back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Awaited>,
    pub since: Timestamp,
    pub filed_at: Timestamp,
    /// The current round, 0 before the first one.
    pub round: u32,
    pub max_rounds: u32,
    pub builder: String,
    pub reviewers: Vec<String>,
    pub open_issues: u32,
    pub tokens: u64,
    /// Known cost in millionths of a US dollar.
    pub cost_micros: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_micros: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// The result was merged or applied, or was made in place.
    pub landed: bool,
    /// The result is kept as a branch, and the worktree is removed.
    #[serde(default)]
    pub archived: bool,
    /// The newest decision of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<NewestDecisionView>,
}

impl ReviewSummaryView {
    /// Only a person can make it go on, or end it.
    pub fn needs_decision(&self) -> bool {
        matches!(self.phase, ReviewPhase::NeedsAttention | ReviewPhase::Failed) && !self.archived
    }

    /// It needs a decision, or its session is held.
    pub fn needs_person(&self) -> bool {
        let is_held = !self.phase.has_ended() && matches!(self.waiting, Some(Awaited::Pause { .. }));
        is_held || self.needs_decision()
    }

    /// It is done, and nobody has landed or archived the result.
    pub fn awaits_landing(&self) -> bool {
        self.phase == ReviewPhase::Done && !self.landed && !self.archived
    }

    /// What a person has to decide: how the task goes on, or whether its result lands. If its session is held, the session
    /// needs the person.
    pub fn need(&self) -> Option<Need> {
        if !self.needs_decision() && !self.awaits_landing() {
            return None;
        }
        let kind = match (self.phase, self.attention) {
            (ReviewPhase::Done, _) => NeedKind::Finished,
            (ReviewPhase::Failed, _) => NeedKind::Failed,
            (_, Some(ReviewAttention::BudgetUsed)) => NeedKind::OverBudget,
            (_, Some(ReviewAttention::Reseeding)) => NeedKind::Looping,
            _ => NeedKind::Decision,
        };
        Some(Need {
            subject: Subject::review(&*self.id),
            kind,
            since: self.since,
            reason: format!("\"{}\": {}", self.title, self.status),
            project: Some(self.project_dir.clone()),
        })
    }

    /// A person's decision brought it to where it is, so that the person knows.
    pub fn follows_decision(&self) -> bool {
        self.decided.as_ref().is_some_and(|decided| decided.at == self.since)
    }
}

/// Why a task needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewAttention {
    RoundsUsed,
    BudgetUsed,
    /// A reviewer names what only a person can do.
    BlockedOnHuman,
    /// Builder and reviewers disagree, or no round closes an issue.
    Dispute,
    /// Each fix introduces new issues.
    Reseeding,
    /// A gate fails in the same way every round.
    GateStuck,
    /// A reviewer gave no verdict.
    NoVerdict,
    /// Files changed during a review.
    TreeChanged,
    /// Files that instruct a reviewer have changed since the task began.
    InstructionsChanged,
    /// An agent asks for a permission or a login.
    Refused,
}

/// A task with everything that happened to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewView {
    #[serde(flatten)]
    pub summary: ReviewSummaryView,
    pub prompt: String,
    /// Commands that must succeed.
    pub gates: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<String>,
    /// Approvals that suffice.
    pub quorum: u32,
    pub workspace: WorkspaceMode,
    /// Where the builder works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// Directory of the prompts, outputs and diffs.
    pub artifacts_dir: String,
    pub artifacts: Vec<ArtifactView>,
    pub rounds: Vec<ReviewRoundView>,
    pub issues: Vec<ReviewIssueView>,
    pub roles: Vec<RoleSpendView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningStepView>,
    /// What a person decided, oldest first.
    pub decisions: Vec<ReviewDecisionView>,
    /// A page for the person who decides a dispute, if the task needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<String>,
}

/// A file of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactView {
    pub name: String,
    pub bytes: u64,
}

/// One round: a build, its gates, its reviews.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRoundView {
    pub number: u32,
    /// What Belay did before the build, such as the revert of a fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervention: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built: Option<BuiltView>,
    pub gates: Vec<GateView>,
    pub reviews: Vec<ReviewerView>,
    /// Issues that were open after the round.
    pub open: u32,
    pub cost_micros: u64,
    pub tokens: u64,
    pub millis: u64,
    /// `NN.diff` exists.
    pub has_diff: bool,
}

/// A finished build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuiltView {
    /// Id of the tree.
    pub tree: String,
    pub changed: bool,
    pub files: u32,
    pub added: u32,
    pub removed: u32,
}

/// The result of a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateView {
    pub command: String,
    pub passed: bool,
    pub summary: String,
}

/// A reviewer's answer in a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerView {
    pub reviewer: String,
    pub kind: ReviewKind,
    pub answer: ReviewerAnswer,
    /// Issues that it raised.
    pub issues: u32,
    /// The action that a person has to take, or why there is no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How much a reviewer looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewKind {
    /// Everything, as the reviewer had not seen the work yet.
    Full,
    /// What changed since its last verdict, and the open issues.
    Delta,
    /// Everything once more, since nothing was open.
    Final,
    /// The disputed issues, as the arbiter.
    Arbitration,
}

/// What a reviewer answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewerAnswer {
    Done,
    IssuesFound,
    BlockedOnHuman,
    /// Its output could not be read, even after a second request.
    Unreadable,
    /// It failed, timed out or was limited.
    NoVerdict,
}

/// An issue in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewIssueView {
    /// Such as `I-3`.
    pub id: String,
    /// critical, major or minor.
    pub severity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    pub claim: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The change that introduced it: "the task", "fix of round 2", "before the task".
    pub provenance: String,
    pub raised_by: Vec<String>,
    pub raised_in: u32,
    pub last_raised: u32,
    /// open, fixed, rejected, waived or follow-up.
    pub state: String,
    /// The round that closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_in: Option<u32>,
    /// Why it is in this state: the reason, or who waived it and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<String>,
    /// Why the builder does not want to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection: Option<String>,
}

/// What a role cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoleSpendView {
    /// Such as `builder claude`.
    pub role: String,
    pub runs: u32,
    pub millis: u64,
    pub tokens: u64,
    pub cost_micros: u64,
}

/// The step that runs now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningStepView {
    /// Such as "the review of round 4 by gemini".
    pub step: String,
    /// The agent, or the gate's command.
    pub actor: String,
    pub since: Timestamp,
    /// The supervised session, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The last lines of its progress.
    pub output: Vec<String>,
}

/// A person's decision about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewDecisionView {
    pub at: Timestamp,
    pub by: String,
    /// Such as "waived I-3: not in this release".
    pub what: String,
}

/// The newest decision about a task, or what was done with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewestDecisionView {
    pub at: Timestamp,
    pub by: String,
    pub kind: ReviewDecisionKind,
}

/// What was decided about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecisionKind {
    Accepted,
    /// A person said what to fix.
    SentBack,
    Resumed,
    /// An issue is not fixed.
    Waived,
    Cancelled,
    Landed,
    Archived,
}

/// What became of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandedView {
    /// What happened, in one sentence.
    pub message: String,
    /// The commit that has the result, if one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}
