//! The slots of the templates.

use serde::Serialize;

use crate::ledger::{Issue, IssueId};
use crate::severity::Severity;
use crate::task::ReviewKind;

/// Slots of the template `work`.
#[derive(Clone, Debug, Serialize)]
pub struct WorkPrompt<'a> {
    /// The person's words.
    pub task: &'a str,
    pub round: u32,
    pub rounds: u32,
    /// Open issues, worst first.
    pub issues: Vec<OpenIssue<'a>>,
    /// Ids of issues that a third reviewer confirmed.
    pub confirmed: Vec<String>,
    /// The round whose fix was reverted.
    pub reverted: Option<u32>,
    /// Edits of an attempt that died are still there.
    pub partial_edits: bool,
    /// The gate that fails.
    pub gate: Option<GateOutput<'a>>,
    /// Earlier rounds in short.
    pub history: Option<&'a str>,
}

/// Slots of the template `review`.
#[derive(Clone, Debug, Serialize)]
pub struct ReviewPrompt<'a> {
    pub task: &'a str,
    /// `full`, `delta`, `final` or `arbitration`.
    #[serde(skip)]
    pub kind: ReviewKind,
    /// Open issues; the disputed ones in an arbitration.
    pub issues: Vec<OpenIssue<'a>>,
    pub closed: Vec<ClosedIssue<'a>>,
    pub gates: Vec<GateSummary<'a>>,
    /// The change: since the reviewer's last verdict, or all of it.
    pub diff: Option<&'a str>,
    /// The builder's final answer, if it changed nothing. Never its reasoning.
    pub answer: Option<&'a str>,
    /// An earlier round was reviewed, so that only what later changes introduced may be raised.
    pub is_later_round: bool,
}

/// An open issue in a prompt.
#[derive(Clone, Debug, Serialize)]
pub struct OpenIssue<'a> {
    pub id: String,
    pub severity: Severity,
    pub place: Option<String>,
    pub claim: &'a str,
    pub evidence: Option<&'a str>,
    /// Why the builder does not want to fix it.
    pub objection: Option<&'a str>,
}

impl<'a> From<&'a Issue> for OpenIssue<'a> {
    fn from(issue: &'a Issue) -> Self {
        Self {
            id: issue.id.to_string(),
            severity: issue.severity,
            place: issue.place.as_ref().map(ToString::to_string),
            claim: &issue.claim,
            evidence: issue.evidence.last().map(String::as_str),
            objection: issue.objection.as_deref(),
        }
    }
}

/// A closed issue in a prompt.
#[derive(Clone, Debug, Serialize)]
pub struct ClosedIssue<'a> {
    pub id: String,
    pub place: Option<String>,
    pub claim: &'a str,
    /// `fixed`, `rejected`, `waived` or `follow-up`.
    pub state: &'static str,
}

impl<'a> From<&'a Issue> for ClosedIssue<'a> {
    fn from(issue: &'a Issue) -> Self {
        Self {
            id: issue.id.to_string(),
            place: issue.place.as_ref().map(ToString::to_string),
            claim: &issue.claim,
            state: issue.state.name(),
        }
    }
}

/// A gate that fails, with the end of its output.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GateOutput<'a> {
    pub command: &'a str,
    pub output: &'a str,
}

/// A gate's result in one line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GateSummary<'a> {
    pub command: &'a str,
    pub summary: &'a str,
}

/// Longest reason of an objection.
const MAX_REASON_CHARS: usize = 500;

/// The issues that a builder's answer rejects: lines such as `REJECTED I-3: the reason`.
pub fn objections(answer: &str) -> Vec<(IssueId, String)> {
    let lines = answer.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '`', ' ']);
        let (id, reason) = line.strip_prefix("REJECTED ")?.split_once(':')?;
        let reason: String = reason.trim().trim_end_matches(['*', '`']).chars().take(MAX_REASON_CHARS).collect();
        (!reason.is_empty()).then_some((id.trim().parse().ok()?, reason))
    });
    lines.collect()
}
