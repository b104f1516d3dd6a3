use belay_core::Timestamp;
use belay_core::effect::{Evidence, Spend};
use belay_core::session::{CallFigures, CallMark};

use super::*;

/// Calls by letter: a letter repeats one action and outcome, `.` is always new.
fn calls(letters: &str) -> Vec<CallRecord> {
    let mut seen = Vec::new();
    let mut distinct = 0;
    let call = |(ordinal, letter): (usize, char)| {
        let ordinal = ordinal as u64;
        let action = if letter == '.' { Digest(1000 + ordinal) } else { Digest(u64::from(u32::from(letter))) };
        let first = letter == '.' || !seen.contains(&letter);
        seen.push(letter);
        distinct += u64::from(first);
        CallRecord {
            ordinal,
            action,
            first,
            mark: CallMark::Ok,
            what: letter.to_string(),
            figures: Some(CallFigures { distinct, ..CallFigures::default() }),
            ..CallRecord::default()
        }
    };
    letters.chars().enumerate().map(call).collect()
}

fn finding(calls: &[u64]) -> Finding {
    let evidence = |call: &u64| Evidence {
        call: *call,
        id: None,
        what: String::new(),
        outcome: String::new(),
        at: Timestamp::UNKNOWN,
    };
    Finding {
        id: "fnd-1".to_owned(),
        pattern: "cycle".to_owned(),
        count: 3,
        denied: 0,
        sentence: String::new(),
        unchanged: String::new(),
        progress_would_be: String::new(),
        evidence: calls.iter().map(evidence).collect(),
        from_call: calls[0],
        call: calls[calls.len() - 1],
        action: Digest(0),
        outcome: Digest(0),
        spent: Spend::default(),
        at: Timestamp::UNKNOWN,
    }
}

fn draw(letters: &str, evidence: Option<&[u64]>) -> PictureView {
    let calls = calls(letters);
    let finding = evidence.map(finding);
    picture(calls.len() as u64, &calls, finding.as_ref(), &CallStrip::default())
}

#[test]
fn the_rows_of_a_cycle_come_first_and_in_its_order() {
    let view = draw("..zz.zBAC.BACBAC", Some(&[6, 7, 8, 10, 11, 12, 13, 14, 15]));
    let rows: Vec<(&str, u64, bool)> =
        view.rows.iter().map(|row| (row.what.as_str(), row.count, row.in_finding)).collect();
    assert_eq!(rows, [("B", 3, true), ("A", 3, true), ("C", 3, true), ("z", 3, false)]);
    let rounds: Vec<(u64, u64)> = view.rounds.iter().map(|round| (round.first, round.last)).collect();
    assert_eq!(rounds, [(7, 9), (11, 13), (14, 16)]);
    assert_eq!(view.finding_from, Some(7));
    assert_eq!(view.calls_without_new, 6, "the last new call is number 10");
}

#[test]
fn without_a_finding_repeats_are_rows_but_not_rounds() {
    let view = draw("AABAB..", None);
    assert!(view.rows.iter().all(|row| !row.in_finding));
    assert_eq!(view.rows.iter().map(|row| (row.what.as_str(), row.count)).collect::<Vec<_>>(), [("A", 3), ("B", 2)]);
    assert_eq!((view.rounds.len(), view.finding_from, view.calls_without_new), (0, None, 0));
}

#[test]
fn new_ground_rises_by_one_for_each_new_pair() {
    let all = calls("A.A.B");
    let distinct = |calls: &[CallRecord]| call_views(calls).iter().map(|call| call.distinct).collect::<Vec<_>>();
    assert_eq!(distinct(&all), [1, 2, 2, 3, 4]);
    assert_eq!(distinct(&all[2..]), [2, 3, 4], "a later window continues the count");
    // The result of call 2 arrived after call 3 was made.
    let mut late = all;
    late[2].figures = Some(CallFigures { distinct: 1, ..CallFigures::default() });
    assert_eq!(distinct(&late), [1, 2, 2, 3, 4]);
}

#[test]
fn an_empty_window_has_no_rows() {
    let view = draw("", None);
    assert_eq!((view.rows.len(), view.calls_without_new, view.total), (0, 0, 0));
}
