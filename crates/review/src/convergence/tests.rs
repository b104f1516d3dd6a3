use super::*;

fn round(closed: u32, seeded: u32) -> RoundFacts {
    RoundFacts { changed: true, closed, seeded, open: 1, ..RoundFacts::default() }
}

#[test]
fn the_built_in_policy_rises_its_floor_and_never_falls() {
    let policy = Policy::default();
    assert_eq!(policy.floor(1), Severity::Minor);
    assert_eq!(policy.floor(500), Severity::Critical);
    assert!((1..20).all(|round| policy.floor(round) <= policy.floor(round + 1)));
}

#[test]
fn a_loop_that_closes_issues_continues() {
    let rounds = [round(0, 0), round(2, 0), round(1, 1), round(1, 0)];
    for end in 1..=rounds.len() {
        assert_eq!(assess(&rounds[..end], &Policy::default()), Outlook::Continue, "after round {end}");
    }
}

#[test]
fn a_revert_starts_the_count_anew_and_happens_once() {
    let policy = Policy::default();
    let mut rounds = vec![round(0, 0), round(1, 1), round(1, 1)];
    assert_eq!(assess(&rounds, &policy), Outlook::Revert);
    rounds.push(RoundFacts { reverted: true, ..round(1, 1) });
    assert_eq!(assess(&rounds, &policy), Outlook::Continue);
    rounds.push(round(1, 1));
    assert_eq!(assess(&rounds, &policy), Outlook::Reseeding);
}

#[test]
fn a_gate_that_fails_differently_each_time_is_progress() {
    let policy = Policy::default();
    let red = |why: &str| RoundFacts { red_gate: Some(why.to_owned()), changed: true, ..RoundFacts::default() };
    let moving = [red("3 of 9 failed"), red("2 of 9 failed"), red("1 of 9 failed"), red("1 of 9 failed")];
    assert_eq!(assess(&moving, &policy), Outlook::Continue);
    let stuck = [red("1 of 9 failed"), red("1 of 9 failed"), red("1 of 9 failed")];
    assert_eq!(assess(&stuck, &policy), Outlook::GateStuck { gate: "1 of 9 failed".to_owned() });
}

#[test]
fn an_undone_edit_is_a_dispute_only_when_it_comes_back() {
    let policy = Policy::default();
    let with = |content: &str| RoundFacts { contents: [("a.rs".to_owned(), content.to_owned())].into(), ..round(1, 0) };
    let once = [with("x"), with("y"), with("x")];
    assert_eq!(assess(&once, &policy), Outlook::Continue, "a builder may undo its own mistake");
    let swinging = [with("x"), with("y"), with("x"), with("y")];
    assert_eq!(assess(&swinging, &policy), Outlook::Dispute(Dispute::BackAndForth));
}
