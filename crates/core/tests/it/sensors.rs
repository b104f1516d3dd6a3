//! Hooks and proxy tell of the same work, some agents without ids that would show it: everything counts once.

use belay_core::event::*;
use belay_core::{Body, Event, Excerpt, Rules, Session, SessionKey, Source, Timestamp};
use serde_json::json;

/// One conversation, told by whoever speaks.
struct Told {
    session: Session,
    rules: Rules,
    number: i64,
}

impl Told {
    fn new() -> Self {
        Self { session: Session::new(SessionKey::new("copilot", "s")), rules: Rules::default(), number: 0 }
    }

    fn tell(&mut self, source: Source, body: Body) {
        self.number += 1;
        let at = Timestamp::from_millis(1_000_000 + self.number * 100);
        let event = Event::new(format!("e-{}", self.number), self.session.key.clone(), source, at, body);
        self.session.apply(&event, &self.rules);
    }

    fn prompt(&mut self, source: Source) {
        self.tell(source, Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new("Fix it") }));
    }

    fn call(&mut self, source: Source, id: Option<&str>, command: &str) {
        let called = ToolCalled::new(id.map(str::to_owned), None, "bash", &json!({ "command": command }));
        self.tell(source, Body::ToolCalled(called));
    }

    fn result(&mut self, source: Source, id: Option<&str>) {
        self.tell(source, Body::ToolReturned(ToolReturned::new(id.map(str::to_owned), None, None, "fine")));
    }

    fn answer(&mut self, source: Source) {
        let usage = Usage { input: 900, output: 100, ..Usage::default() };
        self.tell(source, Body::ModelAnswered(ModelAnswered { usage: Some(usage), ..ModelAnswered::default() }));
    }

    fn asked(&mut self) {
        self.tell(Source::Proxy, Body::ModelAsked(ModelAsked::default()));
    }

    fn counted(&self) -> (u64, u64, u64, u64) {
        let counters = &self.session.counters;
        (counters.human_turns, counters.calls, counters.results, self.session.spent.usage.total())
    }
}

#[test]
fn a_call_that_a_hook_told_of_without_an_id_is_known_again_on_the_wire() {
    let mut told = Told::new();
    told.prompt(Source::Hook);
    told.asked();
    told.prompt(Source::Proxy);
    told.answer(Source::Proxy);
    told.answer(Source::Hook);
    for (round, id) in ["toolu_1", "toolu_2"].into_iter().enumerate() {
        told.call(Source::Hook, None, "npm test");
        told.result(Source::Hook, None);
        told.asked();
        told.call(Source::Proxy, Some(id), "npm test");
        told.result(Source::Proxy, Some(id));
        let rounds = round as u64 + 1;
        assert_eq!(told.counted(), (1, rounds, rounds, 1000), "{id}");
    }
}

#[test]
fn an_agent_without_any_ids_is_understood_too() {
    let mut told = Told::new();
    told.asked();
    told.call(Source::Hook, None, "ls");
    told.call(Source::Hook, None, "pwd");
    told.result(Source::Hook, None);
    told.result(Source::Hook, None);
    told.asked();
    for command in ["ls", "pwd"] {
        told.call(Source::Proxy, None, command);
    }
    for _ in 0..2 {
        told.result(Source::Proxy, None);
    }
    assert_eq!(told.counted(), (0, 2, 2, 0));
}

#[test]
fn what_a_hook_has_missed_counts_from_the_wire() {
    let mut told = Told::new();
    told.prompt(Source::Hook);
    told.asked();
    told.prompt(Source::Proxy);
    told.call(Source::Hook, None, "ls");
    told.result(Source::Hook, None);
    told.asked();
    for id in ["toolu_1", "toolu_2"] {
        told.call(Source::Proxy, Some(id), "ls");
        told.result(Source::Proxy, Some(id));
    }
    told.prompt(Source::Proxy);
    assert_eq!(told.counted(), (2, 2, 2, 0));
}

#[test]
fn a_hook_that_is_quicker_than_the_proxy_is_heard_once() {
    let mut told = Told::new();
    told.answer(Source::Hook);
    told.asked();
    told.answer(Source::Proxy);
    told.answer(Source::Hook);
    told.answer(Source::Proxy);
    assert_eq!(told.counted().3, 2000);
}
