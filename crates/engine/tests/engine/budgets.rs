//! Budgets that sessions share.

use belay_core::event::{ModelAnswered, ModelAsked, Usage};
use belay_core::session::Budget;
use belay_core::{Body, Digest, Event, Rules, Verdict};
use belay_engine::{Engine, EngineOptions};

use crate::common::{Folder, TestClock, event, key, started};

const TOKENS: u64 = 100;

fn engine(folder: &Folder, limit: impl FnOnce(&mut Rules)) -> Engine {
    let mut rules = Rules::default();
    limit(&mut rules);
    let rules = std::sync::Arc::new(rules);
    let options = EngineOptions {
        clock: Box::new(TestClock::default()),
        rules: Box::new(move |_: Option<&str>| std::sync::Arc::clone(&rules)),
        ..EngineOptions::default()
    };
    Engine::new(folder.store(), options)
}

fn asked(session: &str, id: &str, account: u64) -> Event {
    let ask = ModelAsked { request: Some(id.to_owned()), account: Some(Digest(account)), ..ModelAsked::default() };
    event(session, id, Body::ModelAsked(ask))
}

fn answered(session: &str, id: &str) -> Event {
    let usage = Usage { output: TOKENS, ..Usage::default() };
    let answer = ModelAnswered {
        response: Some(id.to_owned()),
        usage: Some(usage),
        cost_micros: Some(TOKENS * 1000),
        ..ModelAnswered::default()
    };
    event(session, id, Body::ModelAnswered(answer))
}

fn is_held(engine: &mut Engine, event: Event) -> bool {
    matches!(engine.observe(event).unwrap().decision.verdict, Verdict::Hold { .. })
}

/// Spends in two sessions by turns until one of them may not ask any more; how many answers that took.
fn until_held(engine: &mut Engine, sessions: [(&str, &str, u64); 2]) -> Option<u64> {
    for (session, project, _) in sessions {
        engine.observe(started(session, &format!("start-{session}"), project)).unwrap();
    }
    (0..50).find(|turn| {
        let (session, _, account) = sessions[(*turn % 2) as usize];
        if is_held(engine, asked(session, &format!("q{turn}"), account)) {
            return true;
        }
        engine.observe(answered(session, &format!("a{turn}"))).unwrap();
        false
    })
}

#[test]
fn sessions_of_a_project_share_its_budget_for_the_day() {
    let (own, other) = ("/home/user/project", "/home/user/other");
    let limit = |rules: &mut Rules| rules.budget.day_tokens = 10 * TOKENS;
    let folder = Folder::new();
    assert_eq!(until_held(&mut engine(&folder, limit), [("a", own, 1), ("b", own, 2)]), Some(10));
    // A third one, in another process, is held before it spends anything; and one elsewhere is not.
    let mut later = engine(&folder, limit);
    later.observe(started("c", "start-c", own)).unwrap();
    later.observe(started("d", "start-d", other)).unwrap();
    assert!(is_held(&mut later, asked("c", "qc", 3)));
    assert!(!is_held(&mut later, asked("d", "qd", 4)));
    let apart = Folder::new();
    assert_eq!(until_held(&mut engine(&apart, limit), [("a", own, 1), ("b", other, 2)]), Some(20));
}

#[test]
fn sessions_that_one_account_pays_for_share_its_budget() {
    let limit = |rules: &mut Rules| rules.budget.account_day_usd = 1.0;
    let folder = Folder::new();
    assert_eq!(until_held(&mut engine(&folder, limit), [("a", "/one", 7), ("b", "/two", 7)]), Some(10));
    let apart = Folder::new();
    assert_eq!(until_held(&mut engine(&apart, limit), [("a", "/one", 7), ("b", "/two", 8)]), Some(20));
}

#[test]
fn what_was_spent_a_moment_ago_counts_for_who_asks_in_the_same_breath() {
    let folder = Folder::new();
    let mut engine = engine(&folder, |rules| rules.budget.account_day_tokens = TOKENS);
    let batch = vec![
        started("a", "start-a", "/one"),
        started("b", "start-b", "/two"),
        asked("a", "qa", 7),
        answered("a", "aa"),
        asked("b", "qb", 7),
    ];
    let answers = engine.observe_batch(batch);
    let verdicts: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().decision.verdict).collect();
    assert_eq!(verdicts[2], Verdict::Go);
    assert!(matches!(verdicts[4], Verdict::Hold { .. }), "{verdicts:?}");
    assert!(engine.remaining_budget(&key("b")).1, "it is known to share a budget");
}

#[test]
fn tokens_per_minute_have_a_limit_of_their_own() {
    // Over five minutes: five times as much may come at once.
    let limit = |rules: &mut Rules| rules.budget.tokens_per_minute = 2 * TOKENS;
    let folder = Folder::new();
    assert_eq!(until_held(&mut engine(&folder, limit), [("a", "/one", 1), ("b", "/two", 2)]), Some(20));
}

#[test]
fn money_per_minute_has_one_too() {
    // Ten cents an answer.
    let limit = |rules: &mut Rules| rules.budget.usd_per_minute = 0.2;
    let folder = Folder::new();
    assert_eq!(until_held(&mut engine(&folder, limit), [("a", "/one", 1), ("b", "/two", 2)]), Some(20));
}

#[test]
fn a_session_hears_what_is_left_and_a_replay_comes_to_the_same() {
    let folder = Folder::new();
    let limit = |rules: &mut Rules| {
        rules.budget.day_tokens = 10 * TOKENS;
        rules.budget.session_usd = 5.0;
    };
    let mut one = engine(&folder, limit);
    one.observe(started("a", "start", "/one")).unwrap();
    one.observe(answered("a", "a1")).unwrap();
    one.observe(asked("a", "q2", 1)).unwrap();
    assert_eq!(one.remaining_budget(&key("a")).0, Budget { tokens: Some(9 * TOKENS), cost_micros: Some(4_900_000) });
    folder.sqlite().execute("DELETE FROM snapshots", []).unwrap();
    let replayed = engine(&folder, limit).session(&key("a")).unwrap().unwrap();
    assert_eq!(replayed, one.session(&key("a")).unwrap().unwrap());
    let unlimited = Folder::new();
    let mut free = unlimited.engine();
    free.observe(answered("a", "a1")).unwrap();
    assert_eq!(free.remaining_budget(&key("a")).0, Budget::default());
}

/// What two sessions of a later process may do: the one that goes on where the first spent, and the other.
fn held_later(folder: &Folder, limit: impl Fn(&mut Rules), questions: [Event; 2]) -> [bool; 2] {
    let mut later = engine(folder, limit);
    questions.map(|question| is_held(&mut later, question))
}

#[test]
fn what_was_spent_is_booked_for_whoever_paid_then() {
    let folder = Folder::new();
    let batch = vec![asked("a", "q1", 7), answered("a", "a1"), asked("a", "q2", 8), answered("a", "a2")];
    engine(&folder, |_| {}).observe_batch(batch).into_iter().for_each(|answer| drop(answer.unwrap()));
    let tokens = |tokens: u64| move |rules: &mut Rules| rules.budget.account_day_tokens = tokens;
    assert_eq!(held_later(&folder, tokens(2 * TOKENS), [asked("b", "b1", 7), asked("c", "c1", 8)]), [false, false]);
    assert_eq!(held_later(&folder, tokens(TOKENS), [asked("d", "d1", 7), asked("e", "e1", 8)]), [true, true]);
}

#[test]
fn what_was_spent_is_booked_for_where_the_session_worked_then() {
    let folder = Folder::new();
    let there = |session: &str, id: &str, cwd: &str| Event { cwd: Some(cwd.to_owned()), ..asked(session, id, 7) };
    let batch = vec![there("a", "q1", "/one"), answered("a", "a1"), there("a", "q2", "/two"), answered("a", "a2")];
    engine(&folder, |_| {}).observe_batch(batch).into_iter().for_each(|answer| drop(answer.unwrap()));
    let tokens = |tokens: u64| move |rules: &mut Rules| rules.budget.day_tokens = tokens;
    let both = |n: u64| [there(&format!("b{n}"), "b", "/one"), there(&format!("c{n}"), "c", "/two")];
    assert_eq!(held_later(&folder, tokens(2 * TOKENS), both(1)), [false, false]);
    assert_eq!(held_later(&folder, tokens(TOKENS), both(2)), [true, true]);
}
