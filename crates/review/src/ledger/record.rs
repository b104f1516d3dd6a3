//! What a round of verdicts does to the ledger.

use std::collections::BTreeSet;

use super::{FollowUp, Issue, IssueId, IssueState, Ledger, Provenance};
use crate::claim::Similarity;
use crate::diff::{ChangedLines, origin};
use crate::severity::Severity;
use crate::verdict::{RaisedIssue, Verdict};

/// A round whose reviews are complete.
#[derive(Clone, Copy, Debug)]
pub struct ReviewedRound<'a> {
    pub number: u32,
    /// The tree that was reviewed.
    pub tree: &'a str,
    /// Whether the build of this round changed the tree.
    pub changed: bool,
    /// The changes of rounds 1 to this one; `None` if they are not known, as outside of git.
    pub changes: Option<&'a [ChangedLines]>,
    /// The first round that was reviewed: it sets the bar.
    pub is_first: bool,
    /// Least severity that keeps the loop going.
    pub floor: Severity,
    pub verdicts: &'a [(String, Verdict)],
    /// All reviewers of the task, with and without a verdict.
    pub reviewers: &'a [String],
}

/// What a round did to the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundReport {
    /// Issues that were raised for the first time and are open.
    pub new: Vec<IssueId>,
    pub reopened: Vec<IssueId>,
    pub still_open: Vec<IssueId>,
    pub closed: Vec<IssueId>,
    /// Closed issues that were raised again without new evidence.
    pub repeated: Vec<IssueId>,
    pub follow_ups: Vec<IssueId>,
    /// Reviewers whose verdict leaves nothing open.
    pub approved_by: Vec<String>,
}

impl Ledger {
    /// Records the verdicts of a round.
    pub fn record(&mut self, round: &ReviewedRound<'_>, measure: &Similarity) -> RoundReport {
        let mut report = RoundReport::default();
        let mut raised_by: Vec<(&str, BTreeSet<IssueId>)> = Vec::new();
        // Reviewers were shown the issues up to here.
        let shown = self.0.len();
        for (reviewer, verdict) in round.verdicts {
            let mut ids = BTreeSet::new();
            for raised in &verdict.issues {
                let known = self.find(raised, shown, &ids, measure);
                ids.insert(match known {
                    Some(id) => self.raise_again(id, round, reviewer, raised, measure, &mut report),
                    None => self.add(round, reviewer, raised, &mut report),
                });
            }
            raised_by.push((reviewer, ids));
        }
        self.close(round, &raised_by, &mut report);
        report.follow_ups.extend(self.raise_floor(round.floor));
        report.new.retain(|id| self.is_open(*id));
        report.still_open.retain(|id| self.is_open(*id));
        report.reopened.retain(|id| self.is_open(*id));
        for ((reviewer, ids), (_, verdict)) in raised_by.iter().zip(round.verdicts) {
            // What the reviewer raised became follow-ups or was closed before: nothing of it keeps the loop going.
            if !verdict.unparsed && !ids.iter().any(|id| self.is_open(*id)) {
                report.approved_by.push((*reviewer).to_owned());
            }
        }
        report
    }

    fn is_open(&self, id: IssueId) -> bool {
        self.get(id).is_some_and(Issue::is_open)
    }

    /// Records that a known issue was raised again.
    fn raise_again(
        &mut self,
        id: IssueId,
        round: &ReviewedRound<'_>,
        reviewer: &str,
        raised: &RaisedIssue,
        measure: &Similarity,
        report: &mut RoundReport,
    ) -> IssueId {
        let Some(issue) = self.get_mut(id) else { return id };
        let has_new_evidence = issue.add_evidence(raised, measure);
        if !issue.raised_by.iter().any(|by| by == reviewer) {
            issue.raised_by.push(reviewer.to_owned());
        }
        let opens = match &issue.state {
            IssueState::Open => {
                let seen = report.new.contains(&id) || report.reopened.contains(&id) || report.still_open.contains(&id);
                if !seen {
                    report.still_open.push(id);
                }
                false
            }
            IssueState::Fixed { .. } | IssueState::Rejected { .. } => has_new_evidence,
            // A person's word outranks a reviewer's.
            IssueState::Waived { .. } => false,
            IssueState::FollowUp { .. } => raised.severity == Severity::Critical && raised.reason.is_some(),
        };
        if opens {
            issue.state = IssueState::Open;
            issue.objection = None;
            report.reopened.push(id);
        } else if !issue.is_open() && !report.repeated.contains(&id) {
            report.repeated.push(id);
        }
        // An escalation needs a reason; otherwise it would only serve to pass the floor.
        if raised.reason.is_some() {
            issue.severity = issue.severity.max(raised.severity);
        }
        issue.last_raised = round.number;
        if issue.is_open() && raised.place.is_some() {
            issue.place.clone_from(&raised.place);
        }
        id
    }

    /// The known issue that the reviewer means: by its id, otherwise the one that agrees most. An id can only mean one of
    /// the first `shown` issues: reviewers number their own ones, too. For the same reason it means a closed issue only if
    /// the claims agree, or if it names no place of its own; a new defect must not disappear behind the number of an old
    /// one. `own`: what the same verdict has raised; two items of one verdict are two issues.
    pub(crate) fn find(
        &self,
        raised: &RaisedIssue,
        shown: usize,
        own: &BTreeSet<IssueId>,
        measure: &Similarity,
    ) -> Option<IssueId> {
        let is_shown = |id: &IssueId| usize::try_from(id.0).is_ok_and(|id| id <= shown);
        let named = raised.id.as_ref().and_then(|id| id.parse().ok()).filter(is_shown);
        let wanted = (raised.place.as_ref(), raised.claim.as_str());
        let is_same = |issue: &Issue| measure.is_same((issue.place.as_ref(), &issue.claim), wanted);
        let refers_to = |issue: &Issue| raised.place.is_none() && measure.score(&issue.claim, &raised.claim) > 0.0;
        let named = named.and_then(|id| self.get(id));
        if let Some(issue) = named.filter(|issue| issue.is_open() || is_same(issue) || refers_to(issue)) {
            return Some(issue.id);
        }
        let others = self.issues().iter().filter(|issue| is_shown(&issue.id) || !own.contains(&issue.id));
        let alike = others.filter(|issue| is_same(issue));
        let score = |issue: &&Issue| measure.score(&issue.claim, &raised.claim);
        alike.max_by(|a, b| score(a).total_cmp(&score(b)).then(b.id.cmp(&a.id))).map(|issue| issue.id)
    }

    fn add(
        &mut self,
        round: &ReviewedRound<'_>,
        reviewer: &str,
        raised: &RaisedIssue,
        report: &mut RoundReport,
    ) -> IssueId {
        let id = self.next_id();
        let provenance = round.provenance(raised);
        let is_excused = raised.severity == Severity::Critical && raised.reason.is_some();
        let state = if round.is_first || round.introduced(provenance) || is_excused {
            report.new.push(id);
            IssueState::Open
        } else {
            report.follow_ups.push(id);
            IssueState::FollowUp { why: FollowUp::NotIntroduced }
        };
        self.0.push(Issue {
            id,
            place: raised.place.clone(),
            claim: raised.claim.clone(),
            severity: raised.severity,
            provenance,
            raised_by: vec![reviewer.to_owned()],
            raised_in: round.number,
            last_raised: round.number,
            state,
            evidence: raised.evidence.iter().cloned().collect(),
            objection: None,
        });
        id
    }

    /// Closes what its reviewers did not raise again. A reviewer without a verdict keeps its issues open.
    fn close(&mut self, round: &ReviewedRound<'_>, raised: &[(&str, BTreeSet<IssueId>)], report: &mut RoundReport) {
        for issue in self.0.iter_mut().filter(|issue| issue.is_open() && issue.last_raised < round.number) {
            // What a person raised is for all reviewers to confirm.
            let answered = |by: &String| !round.reviewers.contains(by) || raised.iter().any(|(other, _)| other == by);
            if !issue.raised_by.iter().all(answered) {
                continue;
            }
            // A person's word outranks the builder's objection, and is not met by doing nothing.
            let is_persons = issue.raised_by.first().is_some_and(|by| !round.reviewers.contains(by));
            if is_persons && (!round.changed || issue.objection.is_some()) {
                continue;
            }
            issue.state = match issue.objection.take() {
                Some(reason) => IssueState::Rejected { reason, round: round.number },
                None if round.changed => IssueState::Fixed { tree: round.tree.to_owned(), round: round.number },
                None => IssueState::Rejected { reason: "withdrawn by its reviewer".to_owned(), round: round.number },
            };
            report.closed.push(issue.id);
        }
    }
}

impl ReviewedRound<'_> {
    /// The change that introduced the issue.
    fn provenance(&self, raised: &RaisedIssue) -> Provenance {
        let (Some(place), Some(changes)) = (&raised.place, self.changes) else { return Provenance::Unknown };
        match origin(place, changes) {
            None => Provenance::Base,
            Some(1) => Provenance::Task,
            Some(round) => Provenance::Fix { round },
        }
    }

    /// Whether a new issue may have come in after the bar was set.
    fn introduced(&self, provenance: Provenance) -> bool {
        match provenance {
            Provenance::Fix { .. } => true,
            // Nobody can tell. Patience, floor and the number of rounds bound it.
            Provenance::Unknown => true,
            Provenance::Base | Provenance::Task => false,
        }
    }
}

impl Issue {
    /// Keeps the evidence, and tells whether it differs from what was known.
    fn add_evidence(&mut self, raised: &RaisedIssue, measure: &Similarity) -> bool {
        let Some(evidence) = &raised.evidence else { return false };
        let known = self.evidence.iter().any(|known| measure.score(known, evidence) >= measure.no_place);
        if !known && self.evidence.len() < MAX_EVIDENCE {
            self.evidence.push(evidence.clone());
        }
        !known
    }
}

/// Pieces of evidence that are kept per issue.
const MAX_EVIDENCE: usize = 8;
