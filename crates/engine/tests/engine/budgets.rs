//! Shared budgets.

use belay_core::event::{MAX_AMOUNT, ModelAnswered, ModelAsked, Usage};
use belay_core::session::Budget;
use belay_core::{Body, Digest, Event, Rules, Verdict};
use belay_engine::{Engine, EngineOptions, RulesScope};

use crate::fixtures::{TestClock, TestDir, event, key, started};

const TOKENS: u64 = 100;

fn engine(dir: &TestDir, limit: impl FnOnce(&mut Rules)) -> Engine {
    let mut rules = Rules::default();
    limit(&mut rules);
    let rules = std::sync::Arc::new(rules);
    let options = EngineOptions {
        clock: Box::new(TestClock::default()),
        rules: Box::new(move |_: RulesScope<'_>| std::sync::Arc::clone(&rules)),
        ..EngineOptions::default()
    };
    Engine::new(dir.store(), options)
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

/// Spends alternately in two sessions until one of them is held; returns the number of responses that took.
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
fn sessions_of_a_project_share_its_daily_budget() {
    let (own, other) = ("/home/user/project", "/home/user/other");
    let limit = |rules: &mut Rules| rules.budget.day_tokens = 10 * TOKENS;
    let dir = TestDir::new();
    assert_eq!(until_held(&mut engine(&dir, limit), [("a", own, 1), ("b", own, 2)]), Some(10));
    // A third session, in another process, is held before it spends anything; one in another project is not.
    let mut later = engine(&dir, limit);
    later.observe(started("c", "start-c", own)).unwrap();
    later.observe(started("d", "start-d", other)).unwrap();
    assert!(is_held(&mut later, asked("c", "qc", 3)));
    assert!(!is_held(&mut later, asked("d", "qd", 4)));
    let apart = TestDir::new();
    assert_eq!(until_held(&mut engine(&apart, limit), [("a", own, 1), ("b", other, 2)]), Some(20));
}

#[test]
fn sessions_of_an_account_share_its_budget() {
    let limit = |rules: &mut Rules| rules.budget.account_day_usd = 1.0;
    let dir = TestDir::new();
    assert_eq!(until_held(&mut engine(&dir, limit), [("a", "/one", 7), ("b", "/two", 7)]), Some(10));
    let apart = TestDir::new();
    assert_eq!(until_held(&mut engine(&apart, limit), [("a", "/one", 7), ("b", "/two", 8)]), Some(20));
}

#[test]
fn spend_earlier_in_a_batch_counts_for_later_events() {
    let dir = TestDir::new();
    let mut engine = engine(&dir, |rules| rules.budget.account_day_tokens = TOKENS);
    let batch = vec![
        started("a", "start-a", "/one"),
        started("b", "start-b", "/two"),
        asked("a", "qa", 7),
        answered("a", "aa"),
        asked("b", "qb", 7),
    ];
    let outcomes = engine.observe_batch(batch);
    let verdicts: Vec<_> = outcomes.into_iter().map(|outcome| outcome.unwrap().decision.verdict).collect();
    assert_eq!(verdicts[2], Verdict::Go);
    assert!(matches!(verdicts[4], Verdict::Hold { .. }), "{verdicts:?}");
    assert!(engine.remaining_budget(&key("b")).1, "the budget is shared");
}

#[test]
fn tokens_per_minute_have_their_own_limit() {
    // The limit applies to a window of five minutes, so a burst may be five times as large.
    let limit = |rules: &mut Rules| rules.budget.tokens_per_minute = 2 * TOKENS;
    let dir = TestDir::new();
    assert_eq!(until_held(&mut engine(&dir, limit), [("a", "/one", 1), ("b", "/two", 2)]), Some(20));
}

#[test]
fn cost_per_minute_has_its_own_limit() {
    // Each response costs ten cents.
    let limit = |rules: &mut Rules| rules.budget.usd_per_minute = 0.2;
    let dir = TestDir::new();
    assert_eq!(until_held(&mut engine(&dir, limit), [("a", "/one", 1), ("b", "/two", 2)]), Some(20));
}

#[test]
fn remaining_budget_survives_a_replay() {
    let dir = TestDir::new();
    let limit = |rules: &mut Rules| {
        rules.budget.day_tokens = 10 * TOKENS;
        rules.budget.session_usd = 5.0;
    };
    let mut one = engine(&dir, limit);
    one.observe(started("a", "start", "/one")).unwrap();
    one.observe(answered("a", "a1")).unwrap();
    one.observe(asked("a", "q2", 1)).unwrap();
    assert_eq!(one.remaining_budget(&key("a")).0, Budget { tokens: Some(9 * TOKENS), cost_micros: Some(4_900_000) });
    dir.sqlite().execute("DELETE FROM snapshots", []).unwrap();
    let replayed = engine(&dir, limit).session(&key("a")).unwrap().unwrap();
    assert_eq!(replayed, one.session(&key("a")).unwrap().unwrap());
    let unlimited = TestDir::new();
    let mut free = unlimited.engine();
    free.observe(answered("a", "a1")).unwrap();
    assert_eq!(free.remaining_budget(&key("a")).0, Budget::default());
}

/// Whether a later engine with these limits holds each of two questions.
fn held_later(dir: &TestDir, limit: impl Fn(&mut Rules), questions: [Event; 2]) -> [bool; 2] {
    let mut later = engine(dir, limit);
    questions.map(|question| is_held(&mut later, question))
}

#[test]
fn spend_is_booked_for_the_account_at_the_time() {
    let dir = TestDir::new();
    let batch = vec![asked("a", "q1", 7), answered("a", "a1"), asked("a", "q2", 8), answered("a", "a2")];
    engine(&dir, |_| {}).observe_batch(batch).into_iter().for_each(|answer| drop(answer.unwrap()));
    let tokens = |tokens: u64| move |rules: &mut Rules| rules.budget.account_day_tokens = tokens;
    assert_eq!(held_later(&dir, tokens(2 * TOKENS), [asked("b", "b1", 7), asked("c", "c1", 8)]), [false, false]);
    assert_eq!(held_later(&dir, tokens(TOKENS), [asked("d", "d1", 7), asked("e", "e1", 8)]), [true, true]);
}

#[test]
fn spend_is_booked_for_the_project_at_the_time() {
    let dir = TestDir::new();
    let there = |session: &str, id: &str, cwd: &str| Event { cwd: Some(cwd.to_owned()), ..asked(session, id, 7) };
    let batch = vec![there("a", "q1", "/one"), answered("a", "a1"), there("a", "q2", "/two"), answered("a", "a2")];
    engine(&dir, |_| {}).observe_batch(batch).into_iter().for_each(|answer| drop(answer.unwrap()));
    let tokens = |tokens: u64| move |rules: &mut Rules| rules.budget.day_tokens = tokens;
    let both = |n: u64| [there(&format!("b{n}"), "b", "/one"), there(&format!("c{n}"), "c", "/two")];
    assert_eq!(held_later(&dir, tokens(2 * TOKENS), both(1)), [false, false]);
    assert_eq!(held_later(&dir, tokens(TOKENS), both(2)), [true, true]);
}

#[test]
fn a_hostile_number_does_not_stop_the_accounting_of_a_project() {
    let dir = TestDir::new();
    let mut engine = engine(&dir, |rules| rules.budget.day_tokens = u64::MAX);
    engine.observe(started("s", "start", "/p")).unwrap();
    let huge = i64::MAX.unsigned_abs();
    for id in ["h1", "h2", "h3"] {
        let usage = Usage { input: huge, output: huge, cache_read: huge, cache_write: huge, ..Usage::default() };
        let answer = ModelAnswered {
            response: Some(id.to_owned()),
            usage: Some(usage),
            cost_micros: Some(huge),
            ..ModelAnswered::default()
        };
        assert!(engine.observe(event("s", id, Body::ModelAnswered(answer))).unwrap().committed);
    }
    assert!(engine.observe(answered("s", "a1")).unwrap().committed);
    let spent = engine.session(&key("s")).unwrap().unwrap().spent;
    assert_eq!(spent.usage.output, 3 * MAX_AMOUNT + TOKENS);
    assert_eq!(engine.metrics().faults, 0);
    assert_eq!(dir.store().totals(None).unwrap().cost_micros, 3 * MAX_AMOUNT + TOKENS * 1000);
}

#[test]
fn a_fault_in_the_ledger_does_not_drop_the_event() {
    let dir = TestDir::new();
    let mut engine = engine(&dir, |rules| rules.budget.day_tokens = 1_000_000);
    engine.observe(started("s", "start", "/p")).unwrap();
    dir.sqlite().execute_batch("DROP TABLE ledger").unwrap();
    let outcome = engine.observe(answered("s", "a1")).unwrap();
    assert!(outcome.committed && outcome.seq.is_some(), "{outcome:?}");
    assert_eq!(engine.session(&key("s")).unwrap().unwrap().spent.usage.output, TOKENS);
    assert!(engine.metrics().faults > 0);
}
