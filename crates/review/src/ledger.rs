//! The issues of a task, from the round that raised them to the one that closed them.
//!
//! Reviewers forget and reword. The ledger does not: an issue is identified by its place and its claim
//! ([`crate::claim`]), keeps its id, and once closed opens again only with evidence that was not there before.

mod issue;
mod record;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use issue::{FollowUp, Issue, IssueId, IssueState, Provenance};
pub use record::{ReviewedRound, RoundReport};

use crate::severity::Severity;

/// All issues of a task, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ledger(Vec<Issue>);

impl Ledger {
    pub fn issues(&self) -> &[Issue] {
        &self.0
    }

    pub fn get(&self, id: IssueId) -> Option<&Issue> {
        self.0.iter().find(|issue| issue.id == id)
    }

    fn get_mut(&mut self, id: IssueId) -> Option<&mut Issue> {
        self.0.iter_mut().find(|issue| issue.id == id)
    }

    /// Issues that keep the loop going, worst first.
    pub fn open(&self) -> Vec<&Issue> {
        let mut open: Vec<&Issue> = self.0.iter().filter(|issue| issue.is_open()).collect();
        open.sort_by_key(|issue| (std::cmp::Reverse(issue.severity), issue.id));
        open
    }

    pub fn follow_ups(&self) -> impl Iterator<Item = &Issue> {
        self.0.iter().filter(|issue| matches!(issue.state, IssueState::FollowUp { .. }))
    }

    /// A person's decision not to fix an issue. It outranks every later verdict.
    pub fn waive(&mut self, id: IssueId, by: &str, why: &str) -> bool {
        let Some(issue) = self.get_mut(id) else { return false };
        issue.state = IssueState::Waived { by: by.to_owned(), why: why.to_owned() };
        true
    }

    /// Adds what a person wants fixed. It is critical, so that no floor drops it.
    pub fn raise_for_person(&mut self, round: u32, by: &str, claim: &str) -> IssueId {
        let id = self.next_id();
        self.0.push(Issue {
            id,
            place: None,
            claim: claim.to_owned(),
            severity: Severity::Critical,
            provenance: Provenance::Unknown,
            raised_by: vec![by.to_owned()],
            raised_in: round,
            last_raised: round,
            state: IssueState::Open,
            evidence: Vec::new(),
            objection: None,
        });
        id
    }

    /// The builder does not want to fix an open issue. Its reviewers decide.
    pub fn object(&mut self, id: IssueId, reason: &str) {
        if let Some(issue) = self.get_mut(id).filter(|issue| issue.is_open()) {
            issue.objection = Some(reason.to_owned());
        }
    }

    /// An objection holds for the round in which it was made.
    pub(crate) fn forget_objections(&mut self) {
        for issue in &mut self.0 {
            issue.objection = None;
        }
    }

    fn next_id(&self) -> IssueId {
        IssueId(u32::try_from(self.0.len()).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// Dismisses open issues because a third reviewer or a person does not share them.
    pub fn dismiss(&mut self, ids: &[IssueId], reason: &str, round: u32) {
        for issue in self.0.iter_mut().filter(|issue| issue.is_open() && ids.contains(&issue.id)) {
            issue.state = IssueState::Rejected { reason: reason.to_owned(), round };
        }
    }

    /// The fix of `round` was reverted: what it fixed is open again, and what it introduced is gone.
    pub fn revert(&mut self, round: u32) {
        for issue in &mut self.0 {
            match &issue.state {
                IssueState::Fixed { round: fixed, .. } if *fixed == round => issue.state = IssueState::Open,
                IssueState::Open if issue.provenance == (Provenance::Fix { round }) => {
                    let reason = format!("gone with the fix of round {round}, which was reverted");
                    issue.state = IssueState::Rejected { reason, round };
                }
                _ => {}
            }
        }
    }

    /// Open issues below the floor become follow-ups.
    pub(crate) fn raise_floor(&mut self, floor: Severity) -> Vec<IssueId> {
        let below = self.0.iter_mut().filter(|issue| issue.is_open() && issue.severity < floor);
        below
            .map(|issue| {
                issue.state = IssueState::FollowUp { why: FollowUp::BelowFloor };
                issue.id
            })
            .collect()
    }
}
