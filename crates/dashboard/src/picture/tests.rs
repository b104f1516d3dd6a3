use super::fold::{Fold, folded_ranges};
use super::layout::{ColumnKind, Layout};
use super::*;
use belay_core::Timestamp;
use belay_core::session::CallMark;
use belay_ipc::views::{CallView, Round};
use std::time::Duration;

fn call(number: u64, pair: &str) -> CallView {
    CallView {
        call: number,
        at: Timestamp::from_millis(1_763_470_000_000 + i64::try_from(number).unwrap() * 10_000),
        batch: u32::try_from(number).unwrap(),
        pair: pair.to_owned(),
        first: false,
        distinct: 1,
        progress: false,
        mark: CallMark::Ok,
        what: pair.to_owned(),
        outcome: "ok".to_owned(),
        file: None,
        reads: false,
        check: false,
        cost_micros: 100_000,
        since_progress_micros: number * 100_000,
        fresh_tokens: 10,
        cached_tokens: 90,
        context_percent: Some(50),
    }
}

/// Calls 1, 2, 3, ... with these pairs, and rounds of `cycle` calls each.
fn looping(pairs: &str, cycle: u64) -> PictureView {
    let calls: Vec<CallView> = pairs.chars().zip(1..).map(|(pair, number)| call(number, &pair.to_string())).collect();
    let rounds =
        (0..calls.len() as u64 / cycle).map(|round| Round { first: round * cycle + 1, last: (round + 1) * cycle });
    let row = |pair: &str, in_finding| PictureRow {
        pair: pair.to_owned(),
        what: pair.to_owned(),
        outcome: String::new(),
        count: 2,
        in_finding,
    };
    PictureView {
        total: calls.len() as u64,
        rows: vec![row("a", true), row("b", true), row("r", false)],
        rounds: rounds.collect(),
        finding_from: Some(1),
        calls,
        ..PictureView::default()
    }
}

/// The columns in a line: `.` is a call, `=` are parallel calls, `[n]` is a fold of n rounds.
fn sketch(view: &PictureView) -> String {
    let columns = Layout::new(view).columns;
    columns
        .iter()
        .map(|column| match &column.kind {
            ColumnKind::Calls(calls) if calls.len() == 1 => ".".to_owned(),
            ColumnKind::Calls(_) => "=".to_owned(),
            ColumnKind::Fold(fold) => format!("[{}]", fold.rounds),
        })
        .collect()
}

#[test]
fn six_equal_rounds_are_drawn_and_seven_fold() {
    assert_eq!(sketch(&looping(&"ab".repeat(6), 2)), "............");
    assert_eq!(sketch(&looping(&"ab".repeat(7), 2)), "....[3]....");
}

#[test]
fn a_different_round_is_not_folded_away() {
    assert_eq!(sketch(&looping(&format!("{}ar{}", "ab".repeat(8), "ab".repeat(8)), 2)), "....[4]..........[4]....");
    assert!(folded_ranges(&looping(&"abar".repeat(6), 2).calls, &looping(&"abar".repeat(6), 2).rounds).is_empty());
}

#[test]
fn a_fold_tells_what_it_hides() {
    let mut view = looping(&"ab".repeat(4), 2);
    // The server leaves out thousands of equal calls.
    view.calls.push(CallView { since_progress_micros: 214_300_000, ..call(5_001, "a") });
    view.rounds = (0..2_500).map(|round| Round { first: round * 2 + 1, last: round * 2 + 2 }).collect();
    let layout = Layout::new(&view);
    let fold = layout.columns.iter().find_map(|column| match &column.kind {
        ColumnKind::Fold(fold) => Some(fold.clone()),
        ColumnKind::Calls(_) => None,
    });
    let fold = fold.unwrap();
    assert_eq!(fold.words()[0], "2,498 rounds alike");
    assert_eq!(fold.cost_micros, 214_300_000 - 400_000);
    let words =
        Fold { calls: 4_960, rounds: 2_480, time: Duration::from_secs(22_320), cost_micros: 214_300_000 }.words();
    assert_eq!(words, ["2,480 rounds alike", "6 h 12 min, $214.30"]);
}

#[test]
fn parallel_calls_share_a_column() {
    let mut view = looping("abrab", 99);
    view.calls[2].batch = view.calls[1].batch;
    assert_eq!(sketch(&view), ".=..");
    let layout = Layout::new(&view);
    assert_eq!(layout.column(&view, 2), layout.column(&view, 3));
}

#[test]
fn rows_of_the_finding_come_first_and_have_letters() {
    let view = looping("ababr", 2);
    let layout = Layout::new(&view);
    let letters: Vec<_> = layout.rows.iter().map(|row| row.letter).collect();
    assert_eq!(letters, [Some(0), Some(1), None]);
    assert_eq!(layout.rows.iter().map(|row| row.y).collect::<Vec<_>>(), [160.0, 192.0, 218.0]);
    assert_eq!((letter(0), letter(25), letter(26)), ('A', 'Z', '?'));
}

#[test]
fn without_a_finding_nothing_is_coloured() {
    let mut view = looping("ababrr", 2);
    view.rows.iter_mut().for_each(|row| row.in_finding = false);
    view.finding_from = None;
    view.rounds.clear();
    let zone = jiff::tz::TimeZone::UTC;
    let frame = Frame {
        reader: None,
        home: None,
        page: crate::Page::Session,
        needs: 0,
        open_incidents: 0,
        reviews_waiting: 0,
        address: "",
        theme: None,
        notices: &[],
        form_token: None,
        now: Timestamp::from_millis(1_763_470_100_000),
        zone: &zone,
        position: 0,
    };
    let html = panel(&frame, &view, "/sessions/x").into_string();
    for colour in ["class=\"m ma\"", "class=\"m mb\"", "thread hot", "key ka"] {
        assert!(!html.contains(colour), "{colour}");
    }
    assert!(html.contains("ridge calm"));
}

#[test]
fn an_empty_picture_says_so() {
    let view = PictureView::default();
    assert!(Layout::new(&view).columns.is_empty());
    assert!(at_newest_end(&view));
}
