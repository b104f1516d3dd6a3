use super::*;
use crate::convergence::Policy;
use crate::diff::ChangedLines;
use crate::verdict::{Place, RaisedIssue, Verdict, VerdictStatus};

fn raised(place: &str, claim: &str) -> RaisedIssue {
    let (file, line) = place.split_once(':').unwrap();
    let place = Some(Place { file: file.to_owned(), line: line.parse().ok() });
    RaisedIssue { place, claim: claim.to_owned(), ..RaisedIssue::default() }
}

fn verdict(issues: Vec<RaisedIssue>) -> Verdict {
    let status = if issues.is_empty() { VerdictStatus::Done } else { VerdictStatus::IssuesFound };
    Verdict { status, issues, unparsed: false }
}

struct Rounds {
    ledger: Ledger,
    changes: Vec<ChangedLines>,
}

impl Rounds {
    fn new() -> Self {
        Self { ledger: Ledger::default(), changes: Vec::new() }
    }

    /// One round in which the builder changed lines of a file, and these reviewers answered.
    fn review(&mut self, changed: Option<(&str, u32, u32)>, verdicts: &[(&str, Vec<RaisedIssue>)]) -> RoundReport {
        let diff = changed.map_or_else(String::new, |(file, first, last)| {
            let len = last - first + 1;
            let lines = "+x\n".repeat(usize::try_from(len).unwrap());
            format!("--- a/{file}\n+++ b/{file}\n@@ -{first},0 +{first},{len} @@\n{lines}")
        });
        self.changes.push(ChangedLines::parse(&diff));
        let number = u32::try_from(self.changes.len()).unwrap();
        let verdicts: Vec<_> =
            verdicts.iter().map(|(name, issues)| ((*name).to_owned(), verdict(issues.clone()))).collect();
        let round = ReviewedRound {
            number,
            tree: &format!("tree {number}"),
            changed: changed.is_some(),
            changes: Some(&self.changes),
            is_first: number == 1,
            floor: Severity::Minor,
            verdicts: &verdicts,
            reviewers: &["codex".to_owned(), "gemini".to_owned()],
        };
        self.ledger.record(&round, &Policy::default().similarity)
    }

    fn state(&self, id: u32) -> &IssueState {
        &self.ledger.get(IssueId(id)).unwrap().state
    }
}

#[test]
fn two_reviewers_with_one_issue_share_it() {
    let mut rounds = Rounds::new();
    let report = rounds.review(
        Some(("a.rs", 1, 50)),
        &[
            ("codex", vec![raised("a.rs:10", "Two requests with one key can both charge")]),
            ("gemini", vec![raised("a.rs:12", "Both requests charge if they use the same key")]),
        ],
    );
    assert_eq!(report.new, [IssueId(1)]);
    assert_eq!(rounds.ledger.issues()[0].raised_by, ["codex", "gemini"]);
    // One of them is satisfied: the other's word still counts.
    let report = rounds.review(
        Some(("a.rs", 8, 12)),
        &[("codex", vec![]), ("gemini", vec![raised("a.rs:12", "Both requests charge if they use the same key")])],
    );
    assert_eq!((report.still_open.len(), report.closed.len()), (1, 0));
    assert_eq!(report.approved_by, ["codex"]);
}

#[test]
fn issues_of_one_verdict_and_ids_of_ones_own_are_not_merged() {
    let mut rounds = Rounds::new();
    let numbered = RaisedIssue { id: Some("1".to_owned()), ..raised("b.rs:70", "The retry never ends") };
    let report = rounds.review(
        Some(("a.rs", 1, 50)),
        &[
            ("codex", vec![raised("a.rs:10", "Panics on empty input"), raised("a.rs:12", "Panics on invalid input")]),
            ("gemini", vec![numbered]),
        ],
    );
    assert_eq!(report.new.len(), 3, "gemini was not shown I-1, and counts its own issues: {:#?}", rounds.ledger);
}

#[test]
fn a_persons_issue_is_not_met_by_doing_nothing() {
    let mut rounds = Rounds::new();
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![]), ("gemini", vec![])]);
    rounds.ledger.raise_for_person(1, "operator", "use a hash map");
    rounds.ledger.object(IssueId(1), "a list is fine");
    rounds.review(None, &[("codex", vec![]), ("gemini", vec![])]);
    assert_eq!(rounds.state(1), &IssueState::Open);
    rounds.ledger.forget_objections();
    rounds.review(Some(("a.rs", 9, 11)), &[("codex", vec![]), ("gemini", vec![])]);
    assert!(matches!(rounds.state(1), IssueState::Fixed { .. }));
}

#[test]
fn a_reviewer_without_a_verdict_keeps_its_issues_open() {
    let mut rounds = Rounds::new();
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![raised("a.rs:10", "panics")]), ("gemini", vec![])]);
    let report = rounds.review(Some(("a.rs", 9, 11)), &[("gemini", vec![])]);
    assert!(report.closed.is_empty());
    assert!(rounds.state(1) == &IssueState::Open);
    rounds.review(Some(("a.rs", 9, 11)), &[("codex", vec![]), ("gemini", vec![])]);
    assert_eq!(rounds.state(1), &IssueState::Fixed { tree: "tree 3".to_owned(), round: 3 });
}

#[test]
fn a_fixed_issue_opens_again_only_with_other_evidence() {
    let mut rounds = Rounds::new();
    let with =
        |evidence: &str| RaisedIssue { evidence: Some(evidence.to_owned()), ..raised("a.rs:10", "the handle leaks") };
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![with("lsof shows 12 open files")])]);
    rounds.review(Some(("a.rs", 9, 11)), &[("codex", vec![])]);
    let report = rounds.review(Some(("b.rs", 1, 2)), &[("codex", vec![with("lsof shows 12 open files")])]);
    assert_eq!((report.repeated.len(), report.reopened.len()), (1, 0));
    assert_eq!(report.approved_by, ["codex"], "a repeat keeps nobody from finishing");
    let report =
        rounds.review(Some(("b.rs", 1, 2)), &[("codex", vec![with("valgrind reports 3 blocks lost in open_all")])]);
    assert_eq!(report.reopened, [IssueId(1)]);
}

#[test]
fn a_new_issue_under_the_number_of_a_closed_one_is_new() {
    let mut rounds = Rounds::new();
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![raised("a.rs:10", "the file handle leaks")])]);
    rounds.review(Some(("a.rs", 8, 12)), &[("codex", Vec::new())]);
    assert!(matches!(rounds.state(1), IssueState::Fixed { .. }));
    let id = Some("I-1".to_owned());
    let other = RaisedIssue { id, ..raised("a.rs:22", "an empty list panics in `first_entry`") };
    let report = rounds.review(Some(("a.rs", 20, 24)), &[("codex", vec![other])]);
    assert_eq!((report.new, report.repeated), (vec![IssueId(2)], Vec::new()));
    assert!(report.approved_by.is_empty());
    assert!(matches!(rounds.state(1), IssueState::Fixed { .. }));
}

#[test]
fn later_rounds_add_only_what_a_fix_introduced() {
    let mut rounds = Rounds::new();
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![raised("a.rs:10", "panics on empty input")])]);
    let critical = RaisedIssue {
        severity: Severity::Critical,
        reason: Some("reachable from the network now".to_owned()),
        ..raised("old.rs:7", "passwords are logged")
    };
    let report = rounds.review(
        Some(("a.rs", 9, 11)),
        &[(
            "codex",
            vec![
                raised("a.rs:10", "the new check rejects valid input"),
                raised("a.rs:40", "the cache is never cleared"),
                raised("old.rs:90", "the retry never ends"),
                critical,
            ],
        )],
    );
    let ledger = &rounds.ledger;
    let states: Vec<String> = ledger
        .issues()
        .iter()
        .map(|issue| format!("{}: {} ({})", issue.id, issue.state.name(), issue.provenance))
        .collect();
    assert_eq!(
        states,
        [
            "I-1: fixed (the task)",
            "I-2: open (fix of round 2)",
            "I-3: follow-up (the task)",
            "I-4: follow-up (before the task)",
            "I-5: open (before the task)",
        ]
    );
    assert_eq!(report.new, [IssueId(2), IssueId(5)]);
}

#[test]
fn a_persons_waiver_outranks_every_reviewer() {
    let mut rounds = Rounds::new();
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![raised("a.rs:10", "panics on empty input")])]);
    assert!(rounds.ledger.waive(IssueId(1), "operator", "never empty"));
    assert!(!rounds.ledger.waive(IssueId(9), "operator", "no such issue"));
    let insisting = RaisedIssue {
        severity: Severity::Critical,
        evidence: Some("it panicked in production".to_owned()),
        reason: Some("it matters".to_owned()),
        ..raised("a.rs:10", "panics on empty input")
    };
    let report = rounds.review(None, &[("codex", vec![insisting])]);
    assert_eq!(report.approved_by, ["codex"]);
    assert!(rounds.ledger.open().is_empty());
}

#[test]
fn an_objection_that_nobody_contradicts_is_a_rejection() {
    let mut rounds = Rounds::new();
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![raised("a.rs:10", "panics on empty input")])]);
    rounds.ledger.object(IssueId(1), "the caller checks it");
    rounds.review(None, &[("codex", vec![])]);
    assert_eq!(rounds.state(1), &IssueState::Rejected { reason: "the caller checks it".to_owned(), round: 2 });
}

#[test]
fn reverting_a_fix_opens_what_it_fixed_and_drops_what_it_introduced() {
    let mut rounds = Rounds::new();
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![raised("a.rs:10", "panics on empty input")])]);
    rounds.review(Some(("a.rs", 9, 11)), &[("codex", vec![raised("a.rs:10", "the new check rejects valid input")])]);
    rounds.ledger.revert(2);
    assert_eq!(rounds.state(1), &IssueState::Open);
    assert!(matches!(rounds.state(2), IssueState::Rejected { .. }));
}

#[test]
fn an_escalation_needs_a_reason() {
    let mut rounds = Rounds::new();
    rounds.review(Some(("a.rs", 1, 50)), &[("codex", vec![raised("a.rs:10", "panics on empty input")])]);
    let escalated = RaisedIssue { severity: Severity::Critical, ..raised("a.rs:10", "panics on empty input") };
    rounds.review(None, &[("codex", vec![escalated.clone()])]);
    assert_eq!(rounds.ledger.issues()[0].severity, Severity::Major);
    let reasoned = RaisedIssue { reason: Some("data is lost".to_owned()), ..escalated };
    rounds.review(None, &[("codex", vec![reasoned])]);
    assert_eq!(rounds.ledger.issues()[0].severity, Severity::Critical);
}

#[test]
fn ids_are_read_as_people_write_them() {
    for text in ["I-3", "i-3", "3"] {
        assert_eq!(text.parse(), Ok(IssueId(3)));
    }
    for text in ["", "I-0", "I-x", "three", "-3"] {
        assert!(text.parse::<IssueId>().is_err(), "{text}");
    }
}
