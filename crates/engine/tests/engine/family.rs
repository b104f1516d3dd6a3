//! Sub-agents: what they cost, their ancestors have cost too.

use belay_core::Event;
use belay_core::effect::Spent;
use belay_core::event::{Body, ModelAnswered, Usage};

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

fn beneath(folder: &Folder, session: &str) -> Spent {
    folder.store().session(&key(session)).unwrap().unwrap().beneath
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
    assert_eq!(beneath(&folder, "grandchild"), Spent::default());
    let row = folder.store().session(&key("child")).unwrap().unwrap();
    assert_eq!(row.parent, Some(key("root")));
    assert_eq!(row.card.spent.usage.output, 5);
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
fn a_circle_of_parents_is_not_believed() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe(of("a", answer("a", "a1", 1))).unwrap();
    engine.observe(of("a", answer("b", "a2", 1))).unwrap();
    engine.observe(of("b", answer("a", "a3", 1))).unwrap();
    assert_eq!(beneath(&folder, "a").usage.output, 1);
    assert_eq!(beneath(&folder, "b"), Spent::default());
}
