//! Sub-agents: what they cost, their ancestors have cost too.

use belay_core::effect::Spend;
use belay_core::event::{ModelAnswered, OperatorDecision, Usage};
use belay_core::{Body, Event, Verdict};

use crate::common::{Folder, call, event, key, prompt};

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

fn of(parent: &str, mut event: Event) -> Event {
    event.parent = Some(key(parent));
    event
}

fn beneath(folder: &Folder, session: &str) -> Spend {
    folder.store().session(&key(session)).unwrap().unwrap().descendants
}

#[test]
fn the_cost_of_sub_agents_adds_up_to_the_root() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe_batch(vec![
        prompt("root", "p"),
        of("root", answer("child", "a1", 5)),
        of("child", answer("grandchild", "a2", 7)),
    ]);
    // A second engine, and one event at a time.
    let mut other = folder.engine();
    other.observe(answer("grandchild", "a3", 100)).unwrap();
    other.observe(answer("grandchild", "a3", 100)).unwrap();
    other.observe(call("child", 1)).unwrap();
    engine.observe(answer("root", "a4", 1000)).unwrap();

    let root = beneath(&folder, "root");
    assert_eq!((root.usage.output, root.cost_micros, root.calls), (112, 1120, 1));
    assert_eq!(beneath(&folder, "child").usage.output, 107);
    assert_eq!(beneath(&folder, "grandchild"), Spend::default());
    let row = folder.store().session(&key("child")).unwrap().unwrap();
    assert_eq!(row.parent, Some(key("root")));
    assert_eq!(row.details.spent.usage.output, 5);
}

#[test]
fn a_parent_named_late_learns_of_all_that_was_spent() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe(answer("child", "a1", 5)).unwrap();
    engine.observe(of("child", answer("grandchild", "a2", 7))).unwrap();
    // Nobody has seen the root yet.
    engine.observe(of("root", answer("child", "a3", 11))).unwrap();
    assert_eq!(beneath(&folder, "root").usage.output, 23);
    let root = folder.store().session(&key("root")).unwrap().unwrap();
    assert_eq!(root.version, 0);
    assert_eq!(engine.observe(prompt("root", "p")).unwrap().seq, Some(1));
    assert_eq!(beneath(&folder, "root").usage.output, 23);
}

#[test]
fn who_holds_a_session_holds_its_sub_agents() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe(prompt("root", "p")).unwrap();
    engine.observe(of("root", call("child", 1))).unwrap();
    engine.observe(of("child", call("grandchild", 1))).unwrap();
    engine.decide(&key("root"), OperatorDecision::Pause, "", None).unwrap();
    for mut engine in [engine, folder.engine()] {
        for session in ["child", "grandchild"] {
            let Verdict::Hold { reason, .. } = engine.observe(call(session, 9)).unwrap().decision.verdict else {
                panic!("{session} goes on")
            };
            assert!(reason.contains("belay resume codex:root"), "{reason}");
        }
    }
    let mut other = folder.engine();
    assert_eq!(other.observe(prompt("stranger", "p")).unwrap().decision.verdict, Verdict::Go);
    // Also when the store cannot be written.
    let sqlite = folder.sqlite();
    sqlite.execute_batch("BEGIN IMMEDIATE").unwrap();
    let held = other.observe(call("grandchild", 10)).unwrap();
    assert!(!held.committed && matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
}

#[test]
fn what_sub_agents_spend_uses_up_the_budget_of_the_root() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe(prompt("root", "p")).unwrap();
    engine.observe(of("root", answer("child", "a1", 5))).unwrap();
    let budget = OperatorDecision::Budget { tokens: Some(1000), cost_micros: None };
    engine.decide(&key("root"), budget, "", None).unwrap();
    let spent = (2..40).find_map(|n| {
        engine.observe(answer("child", &format!("a{n}"), 50)).unwrap();
        let root = folder.store().session(&key("root")).unwrap().unwrap();
        root.state.is_paused().then_some(root.descendants.usage.output)
    });
    assert!(spent.expect("the budget is used up").abs_diff(1000) <= 100, "{spent:?}");
    let held = engine.observe(call("child", 1)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
    // The log alone gives the same session.
    folder.sqlite().execute("DELETE FROM snapshots", []).unwrap();
    let replayed = folder.engine().session(&key("root")).unwrap().unwrap();
    assert_eq!(replayed, engine.session(&key("root")).unwrap().unwrap());
    assert!(replayed.state.is_paused());
}

#[test]
fn a_circle_of_parents_is_not_believed() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe(of("a", answer("a", "a1", 1))).unwrap();
    engine.observe(of("a", answer("b", "a2", 1))).unwrap();
    engine.observe(of("b", answer("a", "a3", 1))).unwrap();
    assert_eq!(beneath(&folder, "a").usage.output, 1);
    assert_eq!(beneath(&folder, "b"), Spend::default());
}
