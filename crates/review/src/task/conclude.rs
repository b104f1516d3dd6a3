//! From one finished step to the next: gates after a build, reviews after the gates, and what the verdicts mean.

use std::collections::BTreeSet;

use belay_core::Timestamp;
use belay_core::task::GateResult;

use super::{Attention, BuildStart, Built, DoneBy, Phase, Review, ReviewKind, Step, Task};
use crate::convergence::{Outlook, RoundFacts, assess};
use crate::diff::ChangedLines;
use crate::ledger::{Issue, Provenance, ReviewedRound};
use crate::verdict::{Verdict, VerdictStatus};

impl Task {
    pub(super) fn built(&mut self, at: Timestamp, step: &Step, built: &Built) {
        let Step::Build { round: number } = step else { return };
        self.ledger.forget_objections();
        for (issue, reason) in &built.objections {
            self.ledger.object(*issue, reason);
        }
        if let Some(round) = self.round_mut(*number) {
            let reverted = matches!(round.start, BuildStart::Reverted { .. });
            let contents = built.contents.clone();
            round.facts = RoundFacts { changed: built.changed, contents, reverted, ..RoundFacts::default() };
            round.built = Some(built.clone());
        }
        match self.spec.gates.is_empty() {
            true => self.start_reviews(at, *number),
            false => self.go_to(Step::Gate { round: *number, gate: 0 }),
        }
    }

    pub(super) fn gated(&mut self, at: Timestamp, step: &Step, result: &GateResult) {
        let Step::Gate { round: number, gate } = step else { return };
        let mut result = result.clone();
        let built = self.current_round().and_then(|round| round.built.as_ref());
        if result.passed && built.is_none_or(|built| built.tree != result.tree) {
            // A result is evidence for the tree it was made on, and for no other.
            result.passed = false;
            result.summary = "the tree changed while the gate ran".to_owned();
        }
        let is_red = (!result.passed).then(|| format!("{}: {}", result.command, result.summary));
        if let Some(round) = self.round_mut(*number) {
            round.gates.push(result);
            round.facts.red_gate.clone_from(&is_red);
        }
        let next = gate + 1;
        if is_red.is_some() {
            // Reviewing work that does not pass its own gate would be a waste.
            self.next_round(at, *number);
        } else if next < self.spec.gates.len() {
            self.go_to(Step::Gate { round: *number, gate: next });
        } else {
            self.start_reviews(at, *number);
        }
    }

    fn start_reviews(&mut self, at: Timestamp, number: u32) {
        match self.next_reviewer(number, false) {
            Some(step) => self.go_to(step),
            None => self.end(Phase::Done { by: DoneBy::Gates }, at),
        }
    }

    /// The next reviewer without an answer in this round. The final pass asks everyone once more.
    fn next_reviewer(&self, number: u32, is_final: bool) -> Option<Step> {
        let round = self.rounds.iter().find(|round| round.number == number)?;
        let pending = self.spec.reviewers.iter().map(|role| &role.agent).find(|agent| {
            let answered =
                |review: &Review| review.reviewer == **agent && (review.kind == ReviewKind::Final) == is_final;
            !round.no_verdict.contains_key(*agent) && !round.reviews.iter().any(answered)
        })?;
        let has_seen_work =
            self.rounds.iter().flat_map(|round| &round.reviews).any(|review| review.reviewer == *pending);
        let kind = match (is_final, has_seen_work) {
            (true, _) => ReviewKind::Final,
            (false, true) => ReviewKind::Delta,
            (false, false) => ReviewKind::Full,
        };
        Some(Step::Review { round: number, reviewer: pending.clone(), kind })
    }

    /// `tree`: the tree after the review, if the review was read.
    pub(super) fn reviewed(&mut self, at: Timestamp, step: &Step, verdict: Verdict, tree: Option<&String>) {
        let Step::Review { round: number, reviewer, kind } = step else { return };
        let built = self.current_round().and_then(|round| round.built.as_ref());
        if tree.is_some_and(|tree| built.is_some_and(|built| built.tree != *tree)) {
            // The gates passed on another tree, and so did the reviews before.
            return self.needs(at, Attention::TreeChanged { reviewer: reviewer.clone() });
        }
        let review = Review { reviewer: reviewer.clone(), kind: *kind, verdict };
        let verdict = review.verdict.clone();
        if let Some(round) = self.round_mut(*number) {
            round.reviews.push(review);
        }
        match kind {
            ReviewKind::Arbitration => self.arbitrated(at, *number, reviewer, &verdict),
            _ => self.after_review(at, *number, *kind == ReviewKind::Final),
        }
    }

    fn after_review(&mut self, at: Timestamp, number: u32, is_final: bool) {
        match self.next_reviewer(number, is_final) {
            Some(step) => self.go_to(step),
            None => self.conclude(at, number, is_final),
        }
    }

    /// Whether the round can still be approved if one more reviewer gives no verdict.
    pub(super) fn can_do_without(&self, number: u32, kind: ReviewKind) -> bool {
        let missing = self.rounds.iter().find(|round| round.number == number).map_or(0, |round| round.no_verdict.len());
        let left = self.spec.reviewers.len().saturating_sub(missing + 1);
        kind != ReviewKind::Arbitration && left >= self.spec.needed_approvals() && left > 0
    }

    pub(super) fn skip_reviewer(&mut self, at: Timestamp, number: u32, kind: ReviewKind, reviewer: &str, why: &str) {
        if let Some(round) = self.round_mut(number) {
            round.no_verdict.insert(reviewer.to_owned(), why.to_owned());
        }
        self.after_review(at, number, kind == ReviewKind::Final);
    }

    /// Every reviewer has answered, or is known not to.
    fn conclude(&mut self, at: Timestamp, number: u32, is_final: bool) {
        let Some(pass) = self.record_pass(number, is_final) else { return };
        let blocked = pass.verdicts.iter().find_map(|(reviewer, verdict)| match &verdict.status {
            VerdictStatus::BlockedOnHuman { action } => Some((reviewer.clone(), action.clone())),
            _ => None,
        });
        if let Some((reviewer, action)) = blocked {
            return self.needs(at, Attention::BlockedOnHuman { reviewer, action });
        }
        if !self.ledger.open().is_empty() {
            return self.next_round(at, number);
        }
        if pass.approved_by.len() < self.spec.needed_approvals() {
            let unread = pass.verdicts.iter().find(|(reviewer, _)| !pass.approved_by.contains(reviewer));
            let reviewer = unread.map_or_else(String::new, |(reviewer, _)| reviewer.clone());
            return self.needs(at, Attention::NoVerdict { reviewer, why: "its output is not a verdict".to_owned() });
        }
        if pass.saw_everything {
            return self.end(Phase::Done { by: DoneBy::Reviewers { names: pass.approved_by } }, at);
        }
        self.final_pass(number);
    }

    /// Records the verdicts of a round in the ledger.
    fn record_pass(&mut self, number: u32, is_final: bool) -> Option<ReviewPass> {
        let round = self.rounds.iter().find(|round| round.number == number)?;
        let in_pass =
            |review: &&Review| review.kind != ReviewKind::Arbitration && (review.kind == ReviewKind::Final) == is_final;
        let reviews: Vec<&Review> = round.reviews.iter().filter(in_pass).collect();
        let saw_everything = reviews.iter().all(|review| review.kind != ReviewKind::Delta);
        let verdicts: Vec<(String, Verdict)> =
            reviews.iter().map(|review| (review.reviewer.clone(), review.verdict.clone())).collect();
        let lines: Option<Vec<ChangedLines>> =
            self.rounds.iter().map(|round| round.built.as_ref()?.lines.clone()).collect();
        let reviewers: Vec<String> = self.spec.reviewers.iter().map(|role| role.agent.clone()).collect();
        let earlier = self.rounds.iter().filter(|round| round.number < number);
        let report = self.ledger.record(
            &ReviewedRound {
                number,
                tree: round.built.as_ref().map_or("", |built| built.tree.as_str()),
                changed: round.built.as_ref().is_some_and(|built| built.changed),
                changes: lines.as_deref(),
                is_first: !is_final && earlier.flat_map(|round| &round.reviews).next().is_none(),
                floor: self.spec.policy.floor(number),
                verdicts: &verdicts,
                reviewers: &reviewers,
            },
            &self.spec.policy.similarity,
        );
        let seeds = report.new.iter().filter_map(|id| self.ledger.get(*id));
        let seeded = seeds.filter(|issue| issue.provenance == (Provenance::Fix { round: number })).count();
        self.note_report(number, seeded, report.closed.len());
        if let Some(round) = self.round_mut(number) {
            round.is_concluded = true;
        }
        Some(ReviewPass { verdicts, approved_by: report.approved_by, saw_everything })
    }

    /// Records the verdicts of a round that a person ends before every reviewer has answered.
    pub(super) fn record_unfinished_round(&mut self) {
        let Some(round) = self.current_round().filter(|round| !round.is_concluded && !round.reviews.is_empty()) else {
            return;
        };
        let is_final = round.reviews.iter().any(|review| review.kind == ReviewKind::Final);
        self.record_pass(round.number, is_final);
    }

    /// Nothing is open, but the reviewers have looked at changes only: everyone reviews everything, in a new session.
    fn final_pass(&mut self, number: u32) {
        match self.next_reviewer(number, true) {
            Some(step) => {
                if let Some(round) = self.round_mut(number) {
                    round.is_concluded = false;
                }
                self.go_to(step);
            }
            // Everyone has: only another round can change the answer.
            None => self.begin_round(BuildStart::Continue),
        }
    }

    fn note_report(&mut self, number: u32, seeded: usize, closed: usize) {
        let open = count(self.ledger.open().len());
        if let Some(round) = self.round_mut(number) {
            round.facts.seeded += count(seeded);
            round.facts.closed += count(closed);
            round.facts.open = open;
        }
    }

    /// Issues are open, or a gate is red: whether to go on, and how.
    fn next_round(&mut self, at: Timestamp, number: u32) {
        let open = count(self.ledger.open().len());
        if let Some(round) = self.round_mut(number) {
            round.facts.open = open;
            // A red gate ends a round without reviews.
            round.is_concluded = true;
        }
        if number >= self.spec.rounds {
            return self.needs(at, Attention::RoundsUsed { rounds: self.spec.rounds });
        }
        let facts: Vec<RoundFacts> = self.rounds.iter().map(|round| round.facts.clone()).collect();
        match assess(&facts, &self.spec.policy) {
            Outlook::Continue => self.begin_round(BuildStart::Continue),
            Outlook::Revert => {
                self.ledger.revert(number);
                self.begin_round(BuildStart::Reverted { fix_of: number });
            }
            Outlook::Reseeding => self.needs(at, Attention::Reseeding),
            Outlook::GateStuck { gate } => self.needs(at, Attention::GateStuck { gate }),
            // A reviewer's opinion cannot make a red gate green.
            Outlook::Dispute(how) if facts.last().is_some_and(|round| round.red_gate.is_some()) => {
                self.needs(at, Attention::Dispute { how });
            }
            Outlook::Dispute(how) => match self.spec.arbiter.clone().filter(|_| !self.arbitrated) {
                Some(arbiter) if self.open_issues_of_reviewers().next().is_some() => {
                    self.disputed = self.open_issues_of_reviewers().map(|issue| issue.id).collect();
                    let kind = ReviewKind::Arbitration;
                    self.go_to(Step::Review { round: number, reviewer: arbiter.agent, kind });
                }
                _ => self.needs(at, Attention::Dispute { how }),
            },
        }
    }

    /// Open issues that are not a person's own: nobody overrules a person.
    fn open_issues_of_reviewers(&self) -> impl Iterator<Item = &Issue> {
        let is_reviewer = |by: &String| self.spec.reviewers.iter().any(|role| role.agent == *by);
        let open = self.ledger.issues().iter().filter(|issue| issue.is_open());
        open.filter(move |issue| issue.raised_by.first().is_some_and(is_reviewer))
    }

    /// The arbiter's verdict on the disputed issues. It may confirm some of them and dismiss the others.
    fn arbitrated(&mut self, at: Timestamp, number: u32, arbiter: &str, verdict: &Verdict) {
        self.arbitrated = true;
        let disputed = std::mem::take(&mut self.disputed);
        if let VerdictStatus::BlockedOnHuman { action } = &verdict.status {
            let (reviewer, action) = (arbiter.to_owned(), action.clone());
            return self.needs(at, Attention::BlockedOnHuman { reviewer, action });
        }
        let confirmed: Vec<_> = match (&verdict.status, verdict.unparsed) {
            (VerdictStatus::Done, _) => Vec::new(),
            // What cannot be read confirms everything.
            (_, true) => disputed.clone(),
            _ => {
                let measure = &self.spec.policy.similarity;
                let found = verdict
                    .issues
                    .iter()
                    .filter_map(|raised| self.ledger.find(raised, usize::MAX, &BTreeSet::new(), measure));
                let found: Vec<_> = found.filter(|id| disputed.contains(id)).collect();
                if found.is_empty() { disputed.clone() } else { found }
            }
        };
        let dismissed: Vec<_> = disputed.iter().copied().filter(|id| !confirmed.contains(id)).collect();
        self.ledger.dismiss(&dismissed, &format!("dismissed by {arbiter}"), number);
        if self.ledger.open().is_empty() {
            self.final_pass(number);
        } else {
            self.begin_round(BuildStart::Upheld { issues: confirmed });
        }
    }

    /// Where an ended task continues: at its unfinished step, or in a new round if the last one was complete.
    pub(super) fn resume_position(&mut self) {
        let Some((number, is_concluded)) = self.current_round().map(|round| (round.number, round.is_concluded)) else {
            return;
        };
        // An arbiter without a verdict is asked again.
        if !is_concluded || matches!(self.steps.position(), Some(Step::Review { kind: ReviewKind::Arbitration, .. })) {
            return;
        }
        let is_red = self.current_round().is_some_and(|round| round.red_gate().is_some());
        self.spec.rounds = self.spec.rounds.max(number.saturating_add(1));
        if self.ledger.open().is_empty() && !is_red && !self.spec.reviewers.is_empty() {
            // A person waived what was left, or did what only a person could.
            self.final_pass(number);
        } else {
            self.begin_round(BuildStart::Continue);
        }
    }
}

/// The verdicts of a round, and what became of them.
struct ReviewPass {
    verdicts: Vec<(String, Verdict)>,
    approved_by: Vec<String>,
    /// Everyone has looked at everything.
    saw_everything: bool,
}

fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}
