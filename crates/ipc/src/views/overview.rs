//! The overview: which sessions and review tasks need a person, what the others do, and what today cost.

use belay_core::{Subject, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calls::CallView;
use super::{CostView, ReviewSummaryView, SessionView};

/// Finished tasks that are listed. Who never lands results has the list of tasks for the others.
const MAX_FINISHED_REVIEWS: usize = 20;

/// The overview.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewView {
    pub now: Timestamp,
    /// Sessions that need a person, longest wait first; acknowledged ones last.
    pub needs: Vec<NeedView>,
    /// Review tasks that need a decision, longest wait first; then those that are done and whose result has not landed.
    /// A task whose session is held is not among them: the session is.
    #[serde(default)]
    pub reviews: Vec<ReviewSummaryView>,
    /// Sessions that work, or wait for something that ends by itself, by start time.
    pub active: Vec<SessionView>,
    /// Number of sessions that are idle and seen, unknown or ended.
    pub resting: u64,
    pub today: TodayView,
    /// Sessions of the guided trial exist.
    pub trial: bool,
}

/// A row of the list of who needs a person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NeedRow<'a> {
    Session(&'a NeedView),
    Review(&'a ReviewSummaryView),
}

impl NeedRow<'_> {
    /// The key of its subject (see [`Subject::key`]).
    pub fn key(&self) -> String {
        match self {
            Self::Session(need) => need.session.session.clone(),
            Self::Review(task) => Subject::review(&*task.id).key(),
        }
    }

    /// Whatever waits for a decision comes first, then results that wait to be landed, then what is acknowledged.
    fn place(self) -> (u8, Timestamp) {
        match self {
            Self::Session(need) => (if need.acknowledged { 2 } else { 0 }, need.since),
            Self::Review(task) => (u8::from(!task.needs_decision()), task.since),
        }
    }
}

impl OverviewView {
    /// Sessions and review tasks that need a person, longest wait first.
    pub fn need_rows(&self) -> Vec<NeedRow<'_>> {
        let mut tasks = self.reviews.iter().map(NeedRow::Review).peekable();
        let mut rows = Vec::with_capacity(self.need_count());
        for need in self.needs.iter().map(NeedRow::Session) {
            while let Some(task) = tasks.next_if(|task| task.place() < need.place()) {
                rows.push(task);
            }
            rows.push(need);
        }
        rows.extend(tasks);
        rows
    }

    /// Number of sessions and review tasks that need a person.
    pub fn need_count(&self) -> usize {
        self.needs.len() + self.reviews.len()
    }

    /// Of these tasks, those that the overview lists, in its order.
    pub fn listed_reviews(tasks: impl IntoIterator<Item = ReviewSummaryView>) -> Vec<ReviewSummaryView> {
        let wanted = tasks.into_iter().filter(|task| task.need().is_some());
        let (mut listed, mut finished): (Vec<_>, Vec<_>) = wanted.partition(ReviewSummaryView::needs_decision);
        listed.sort_by(|a, b| (a.since, &a.id).cmp(&(b.since, &b.id)));
        finished.sort_by(|a, b| (a.since, &a.id).cmp(&(b.since, &b.id)));
        listed.extend(finished.split_off(finished.len().saturating_sub(MAX_FINISHED_REVIEWS)));
        listed
    }
}

/// A session that needs a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeedView {
    pub kind: NeedKind,
    pub session: SessionView,
    pub since: Timestamp,
    /// What is needed and why, in one sentence.
    pub reason: String,
    /// The exact command, question or plan, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Id of the open incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// A person has acknowledged the incident.
    #[serde(default)]
    pub acknowledged: bool,
    /// Id of the finding behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// The budget that a person would probably set next, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_budget_micros: Option<u64>,
    /// The last calls, to draw the shape of a loop; only for findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallView>,
    /// The pairs of the finding in the order of the cycle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<String>,
    /// Number of the first call that belongs to the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_from: Option<u64>,
}

/// Why a person is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    Question,
    Permission,
    PlanApproval,
    /// A login, trust or update dialog of the agent.
    Dialog,
    /// Paused because of a loop.
    Loop,
    /// Paused because a budget is used up.
    OverBudget,
    /// Paused by a person.
    Paused,
    /// Nudged and still repeating.
    Looping,
    Stalled,
    Failed,
    Finished,
    /// A review task cannot go on without a decision.
    Decision,
}

/// That a person is needed, for what, and since when. Pages list it, and alerts are made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub subject: Subject,
    pub kind: NeedKind,
    pub since: Timestamp,
    /// What is needed and why, in one sentence.
    pub reason: String,
    /// Directory in which the work is done.
    pub project: Option<String>,
}

impl Need {
    /// Identifies it. If the subject needs a person again later, that need has another key.
    pub fn key(&self) -> String {
        let kind = serde_json::to_value(self.kind).unwrap_or_default();
        let kind = kind.as_str().unwrap_or_default();
        format!("need:{}:{kind}:{}", self.subject.key(), self.since.millis())
    }
}

/// What today cost. Days are those of the user's time zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TodayView {
    pub spent: CostView,
    /// Cost by hour since midnight, in millionths of a US dollar.
    pub by_hour: Vec<u64>,
    /// Highest cost first.
    pub by_agent: Vec<SpendView>,
    pub avoided: AvoidedView,
    pub quotas: Vec<QuotaView>,
}

/// Spend under one name: an agent, a project, a model or a day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpendView {
    pub name: String,
    pub tokens: u64,
    pub cost_micros: u64,
    #[serde(default)]
    pub unpriced_micros: u64,
}

/// An estimate of the waste that holds avoided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AvoidedView {
    pub cost_micros: u64,
    pub loops: Vec<AvoidedLoopView>,
}

/// One hold and what it avoided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AvoidedLoopView {
    pub incident: String,
    pub session: String,
    /// Project, or the session's name.
    pub name: String,
    /// "held 23 min", "killed".
    pub how: String,
    pub cost_micros: u64,
}

/// The quota of an account, as its provider last reported it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaView {
    /// Provider and, as far as known, account.
    pub account: String,
    /// What is limited: "5 hours", "week", "requests per minute".
    pub limit: String,
    pub used_percent: f32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    pub reported_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use belay_core::wait::Awaited;

    use super::super::ReviewPhase;
    use super::*;

    fn task(id: &str, phase: ReviewPhase, since: i64) -> ReviewSummaryView {
        let since = Timestamp::from_millis(since);
        ReviewSummaryView { id: id.to_owned(), phase, since, ..ReviewSummaryView::default() }
    }

    fn ids(tasks: &[ReviewSummaryView]) -> Vec<&str> {
        tasks.iter().map(|task| &*task.id).collect()
    }

    #[test]
    fn tasks_to_decide_come_before_results_and_what_goes_on_by_itself_is_left_out() {
        let held = ReviewSummaryView {
            waiting: Some(Awaited::Pause { session: "codex:1".to_owned(), reason: String::new() }),
            ..task("held", ReviewPhase::Building, 1)
        };
        let landed = ReviewSummaryView { landed: true, ..task("landed", ReviewPhase::Done, 1) };
        let archived = ReviewSummaryView { archived: true, ..task("archived", ReviewPhase::Failed, 1) };
        assert!(held.needs_person() && !archived.needs_person());
        let tasks = [
            task("done", ReviewPhase::Done, 2),
            task("failed", ReviewPhase::Failed, 9),
            task("cancelled", ReviewPhase::Cancelled, 1),
            task("attention", ReviewPhase::NeedsAttention, 5),
            task("building", ReviewPhase::Building, 1),
            held,
            landed,
            archived,
        ];
        assert_eq!(ids(&OverviewView::listed_reviews(tasks)), ["attention", "failed", "done"]);
    }

    #[test]
    fn a_need_that_comes_back_has_another_key() {
        let key = |phase, since| task("r-7f3k", phase, since).need().map(|need| need.key());
        assert_eq!(key(ReviewPhase::Failed, 5).as_deref(), Some("need:review:r-7f3k:failed:5"));
        assert_eq!(key(ReviewPhase::Failed, 9).as_deref(), Some("need:review:r-7f3k:failed:9"));
        assert_eq!(key(ReviewPhase::NeedsAttention, 9).as_deref(), Some("need:review:r-7f3k:decision:9"));
        assert_eq!(key(ReviewPhase::Building, 9), None);
    }

    #[test]
    fn only_the_newest_results_are_listed() {
        let tasks = (0..30).map(|at| task(&format!("r-{at:02}"), ReviewPhase::Done, at));
        let listed = OverviewView::listed_reviews(tasks);
        assert_eq!((listed.len(), &*listed[0].id, &*listed[19].id), (20, "r-10", "r-29"));
    }
}
