//! Sub-agents: spend and holds along the tree of sessions.

use std::sync::Arc;

use belay_core::effect::Spend;
use belay_core::event::{ModelAnswered, OperatorDecision, Usage};
use belay_core::session::Budget;
use belay_core::{Body, Event, Rules, Source, Verdict};
use belay_engine::{Engine, EngineOptions, RulesScope};

use crate::fixtures::{TestDir, call, event, key, prompt};

fn answer(session: &str, id: &str, output: u64) -> Event {
    let usage = Usage { output, ..Usage::default() };
    let body = ModelAnswered {
        response: Some(id.to_owned()),
        usage: Some(usage),
        cost_micros: Some(output * 10),
        ..ModelAnswered::default()
    };
    event(session, id, Body::ModelAnswered(body))
}

fn child_of(parent: &str, mut event: Event) -> Event {
    event.parent = Some(key(parent));
    event
}

fn descendants(dir: &TestDir, session: &str) -> Spend {
    dir.store().session(&key(session)).unwrap().unwrap().descendants
}

#[test]
fn sub_agent_spend_is_charged_to_all_ancestors() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe_batch(vec![
        prompt("root", "p"),
        child_of("root", answer("child", "a1", 5)),
        child_of("child", answer("grandchild", "a2", 7)),
    ]);
    // A second engine, and one event at a time.
    let mut other = dir.engine();
    other.observe(answer("grandchild", "a3", 100)).unwrap();
    other.observe(answer("grandchild", "a3", 100)).unwrap();
    other.observe(call("child", 1)).unwrap();
    engine.observe(answer("root", "a4", 1000)).unwrap();

    let root = descendants(&dir, "root");
    assert_eq!((root.usage.output, root.cost_micros, root.calls), (112, 1120, 1));
    assert_eq!(descendants(&dir, "child").usage.output, 107);
    assert_eq!(descendants(&dir, "grandchild"), Spend::default());
    let row = dir.store().session(&key("child")).unwrap().unwrap();
    assert_eq!(row.parent, Some(key("root")));
    assert_eq!(row.details.spent.usage.output, 5);
}

#[test]
fn a_parent_linked_late_is_charged_for_earlier_spend() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe(answer("child", "a1", 5)).unwrap();
    engine.observe(child_of("child", answer("grandchild", "a2", 7))).unwrap();
    // The root does not exist yet.
    engine.observe(child_of("root", answer("child", "a3", 11))).unwrap();
    assert_eq!(descendants(&dir, "root").usage.output, 23);
    let root = dir.store().session(&key("root")).unwrap().unwrap();
    assert_eq!(root.version, 0);
    assert_eq!(engine.observe(prompt("root", "p")).unwrap().seq, Some(1));
    assert_eq!(descendants(&dir, "root").usage.output, 23);
}

#[test]
fn a_held_session_holds_its_descendants() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe(prompt("root", "p")).unwrap();
    engine.observe(child_of("root", call("child", 1))).unwrap();
    engine.observe(child_of("child", call("grandchild", 1))).unwrap();
    engine.decide(&key("root"), OperatorDecision::Pause, "", None).unwrap();
    for mut engine in [engine, dir.engine()] {
        for session in ["child", "grandchild"] {
            let Verdict::Hold { reason, .. } = engine.observe(call(session, 9)).unwrap().decision.verdict else {
                panic!("{session} is not held")
            };
            assert!(reason.contains("belay resume codex:root"), "{reason}");
        }
    }
    let mut other = dir.engine();
    assert_eq!(other.observe(prompt("unrelated", "p")).unwrap().decision.verdict, Verdict::Go);
    // The hold also applies while the store is not writable.
    let sqlite = dir.sqlite();
    sqlite.execute_batch("BEGIN IMMEDIATE").unwrap();
    let held = other.observe(call("grandchild", 10)).unwrap();
    assert!(!held.committed && matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
}

#[test]
fn sub_agent_spend_uses_the_budget_of_the_root() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe(prompt("root", "p")).unwrap();
    engine.observe(child_of("root", answer("child", "a1", 5))).unwrap();
    let budget = OperatorDecision::Budget(Budget { tokens: Some(1000), cost_micros: None });
    engine.decide(&key("root"), budget, "", None).unwrap();
    let spent = (2..40).find_map(|n| {
        engine.observe(answer("child", &format!("a{n}"), 50)).unwrap();
        let root = dir.store().session(&key("root")).unwrap().unwrap();
        root.state.is_paused().then_some(root.descendants.usage.output)
    });
    assert!(spent.expect("the budget is used up").abs_diff(1000) <= 100, "{spent:?}");
    let held = engine.observe(call("child", 1)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
    // A replay of the log gives the same session.
    dir.sqlite().execute("DELETE FROM snapshots", []).unwrap();
    let replayed = dir.engine().session(&key("root")).unwrap().unwrap();
    assert_eq!(replayed, engine.session(&key("root")).unwrap().unwrap());
    assert!(replayed.state.is_paused());
}

#[test]
fn parent_cycles_are_ignored() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe(child_of("a", answer("a", "a1", 1))).unwrap();
    engine.observe(child_of("a", answer("b", "a2", 1))).unwrap();
    engine.observe(child_of("b", answer("a", "a3", 1))).unwrap();
    assert_eq!(descendants(&dir, "a").usage.output, 1);
    assert_eq!(descendants(&dir, "b"), Spend::default());
}

#[test]
fn a_reported_parent_gives_no_settings() {
    let dir = TestDir::new();
    let strict = Arc::new(Rules::default());
    let mut observing = Rules::default();
    observing.dry_run = true;
    let observing = Arc::new(observing);
    let rules = move |scope: RulesScope<'_>| Arc::clone(if scope.settings.is_some() { &observing } else { &strict });
    let mut engine = Engine::new(dir.store(), EngineOptions { rules: Box::new(rules), ..EngineOptions::default() });
    engine.observe(prompt("root", "p")).unwrap();
    let settings = [("detect.dry_run".to_owned(), "true".to_owned())].into();
    engine.decide(&key("root"), OperatorDecision::Configure { settings }, "", None).unwrap();
    for (child, source, inherits) in [("sub-agent", Source::Hook, true), ("stranger", Source::Unverified, false)] {
        for number in 1..=2 {
            engine.observe(Event { source, ..child_of("root", call(child, number)) }).unwrap();
        }
        engine.observe(call(child, 3)).unwrap();
        assert_eq!(dir.store().session(&key(child)).unwrap().unwrap().parent, Some(key("root")));
        assert_eq!(engine.rules_of(&key(child)).dry_run, inherits, "{child}");
    }
}
