//! Hooks and proxy report the same work, for some agents without common ids: everything counts once.

use belay_core::event::*;
use belay_core::session::CallMark;
use belay_core::{
    Body, CallStatus, Digest, Effect, Event, Excerpt, InterventionLevel, Rules, Session, SessionKey, Source, Timestamp,
};
use serde_json::json;

/// One conversation reported by several sensors.
struct Conversation {
    session: Session,
    rules: Rules,
    number: i64,
}

impl Conversation {
    fn new() -> Self {
        Self { session: Session::new(SessionKey::new("copilot", "s")), rules: Rules::default(), number: 0 }
    }

    fn apply(&mut self, source: Source, body: Body) {
        self.number += 1;
        let at = Timestamp::from_millis(1_000_000 + self.number * 100);
        let event = Event::new(format!("e-{}", self.number), self.session.key.clone(), source, at, body);
        self.session.apply(&event, &self.rules);
    }

    fn prompt(&mut self, source: Source) {
        self.prompt_with(source, "Fix it");
    }

    fn prompt_with(&mut self, source: Source, text: &str) {
        self.apply(source, Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new(text) }));
    }

    fn call(&mut self, source: Source, id: Option<&str>, command: &str) {
        let called = ToolCalled::new(id.map(str::to_owned), None, "bash", &json!({ "command": command }));
        self.apply(source, Body::ToolCalled(called));
    }

    fn result(&mut self, source: Source, id: Option<&str>) {
        self.apply(source, Body::ToolReturned(ToolReturned::new(id.map(str::to_owned), None, None, "fine")));
    }

    fn answer(&mut self, source: Source) {
        let usage = Usage { input: 900, output: 100, ..Usage::default() };
        self.apply(source, Body::ModelAnswered(ModelAnswered { usage: Some(usage), ..ModelAnswered::default() }));
    }

    fn asked(&mut self) {
        self.apply(Source::Proxy, Body::ModelAsked(ModelAsked::default()));
    }

    fn counted(&self) -> (u64, u64, u64, u64) {
        let counters = &self.session.counters;
        (counters.human_turns, counters.calls, counters.results, self.session.spent.usage.total())
    }
}

#[test]
fn a_hook_call_without_an_id_matches_the_proxy_call() {
    let mut conversation = Conversation::new();
    conversation.prompt(Source::Hook);
    conversation.asked();
    conversation.prompt(Source::Proxy);
    conversation.answer(Source::Proxy);
    conversation.answer(Source::Hook);
    for (round, id) in ["toolu_1", "toolu_2"].into_iter().enumerate() {
        conversation.call(Source::Hook, None, "npm test");
        conversation.result(Source::Hook, None);
        conversation.asked();
        conversation.call(Source::Proxy, Some(id), "npm test");
        conversation.result(Source::Proxy, Some(id));
        let rounds = round as u64 + 1;
        assert_eq!(conversation.counted(), (1, rounds, rounds, 1000), "{id}");
    }
}

#[test]
fn an_agent_without_any_ids_is_understood_too() {
    let mut conversation = Conversation::new();
    conversation.asked();
    conversation.call(Source::Hook, None, "ls");
    conversation.call(Source::Hook, None, "pwd");
    conversation.result(Source::Hook, None);
    conversation.result(Source::Hook, None);
    conversation.asked();
    for command in ["ls", "pwd"] {
        conversation.call(Source::Proxy, None, command);
    }
    for _ in 0..2 {
        conversation.result(Source::Proxy, None);
    }
    assert_eq!(conversation.counted(), (0, 2, 2, 0));
}

#[test]
fn what_a_hook_has_missed_counts_from_the_wire() {
    let mut conversation = Conversation::new();
    conversation.prompt(Source::Hook);
    conversation.asked();
    conversation.prompt(Source::Proxy);
    conversation.call(Source::Hook, None, "ls");
    conversation.result(Source::Hook, None);
    conversation.asked();
    for id in ["toolu_1", "toolu_2"] {
        conversation.call(Source::Proxy, Some(id), "ls");
        conversation.result(Source::Proxy, Some(id));
    }
    conversation.prompt(Source::Proxy);
    // A prompt is the exception: a program can send one in a person's name.
    assert_eq!(conversation.counted(), (1, 2, 2, 0));
}

/// Whether the session is paused although a new prompt comes between each two of its failing calls.
fn is_paused_despite_prompts(hooked: bool, prompts: Source) -> bool {
    let mut conversation = Conversation::new();
    let calls = if hooked { Source::Hook } else { Source::Proxy };
    for round in 0..20 {
        let id = format!("toolu_{round}");
        conversation.asked();
        conversation.call(calls, Some(&id), "npm test");
        let failed = ToolReturned::new(Some(id), Some(CallStatus::Error), Some(1), "Error: Cannot find module 'x'");
        conversation.apply(calls, Body::ToolReturned(failed));
        conversation.prompt_with(prompts, &format!("Go on, {round}"));
    }
    conversation.session.state.is_paused()
}

#[test]
fn a_prompt_that_no_hook_reported_discards_no_evidence() {
    assert!(is_paused_despite_prompts(true, Source::Proxy), "any program can send a request with a new message");
    assert!(!is_paused_despite_prompts(true, Source::Hook), "a person spoke");
    assert!(!is_paused_despite_prompts(false, Source::Proxy), "without hooks, the request is the only report");
}

#[test]
fn a_request_of_an_unknown_user_marks_its_session() {
    let mut conversation = Conversation::new();
    conversation.asked();
    assert!(!conversation.session.has_unverified_events());
    conversation.apply(Source::Proxy, Body::ModelAsked(ModelAsked { unverified: true, ..ModelAsked::default() }));
    assert!(conversation.session.has_unverified_events());
}

#[test]
fn a_hook_ahead_of_the_proxy_counts_once() {
    let mut conversation = Conversation::new();
    conversation.answer(Source::Hook);
    conversation.asked();
    conversation.answer(Source::Proxy);
    conversation.answer(Source::Hook);
    conversation.answer(Source::Proxy);
    assert_eq!(conversation.counted().3, 2000);
}

/// Copilot CLI's requests do not name the sub-agent that sends them.
#[test]
fn calls_of_a_sub_agent_count_in_its_own_session_only() {
    let mut conversation = Conversation::new();
    conversation.prompt(Source::Hook);
    conversation.asked();
    conversation.prompt(Source::Proxy);
    conversation.call(Source::Hook, None, "task");
    let child = SubAgent { child: SessionKey::new("copilot", "child"), role: None };
    conversation.apply(Source::Hook, Body::SubAgentStarted(child));
    conversation.asked();
    conversation.prompt_with(Source::Proxy, "Do it for me");
    for id in ["call_1", "call_2"] {
        conversation.asked();
        conversation.call(Source::Proxy, Some(id), "echo from-the-child");
        conversation.result(Source::Proxy, Some(id));
    }
    conversation.result(Source::Hook, None);
    conversation.asked();
    conversation.call(Source::Proxy, Some("call_0"), "task");
    conversation.result(Source::Proxy, Some("call_0"));
    assert_eq!(conversation.counted(), (1, 1, 1, 0));
}

/// Four rounds of one failing run under `belay run`, where a watcher reports that these files changed each time.
fn watched_runs(files: &[&str]) -> Vec<(String, u64)> {
    let output = "E   ModuleNotFoundError: No module named 'app'\n1 error in 0.1s";
    let returned = |id| ToolReturned::new(id, None, Some(2), output);
    watched("shell", &json!({"command": "pytest -q | tee test.txt"}), returned, files, |path, round| {
        Digest::from_bytes(format!("{path} {round}"))
    })
}

/// Four rounds of one call that a hook reports, with the contents of files that a watcher reports meanwhile: the nudges and
/// pauses that follow.
fn watched(
    tool: &str,
    input: &serde_json::Value,
    returned: impl Fn(Option<String>) -> ToolReturned,
    files: &[&str],
    content: impl Fn(&str, u32) -> Digest,
) -> Vec<(String, u64)> {
    let key = SessionKey::new("codex", "s");
    let (mut session, rules) = (Session::new(key.clone()), Rules::default());
    let mut found = Vec::new();
    let mut number = 0;
    let mut apply = |source: Source, body: Body| {
        number += 1;
        let at = Timestamp::from_millis(1_000_000 + number * 100);
        for effect in session.apply(&Event::new(format!("e{number}"), key.clone(), source, at, body), &rules) {
            if let Effect::Intervened(step) = effect
                && step.level >= InterventionLevel::Nudge
            {
                found.push((step.finding.pattern, step.finding.call));
            }
        }
    };
    for round in 0..4 {
        let id = Some(format!("call-{round}"));
        apply(Source::Hook, Body::ToolCalled(ToolCalled::new(id.clone(), None, tool, input)));
        for path in files {
            apply(
                Source::Watcher,
                Body::FileChanged(FileChanged {
                    path: (*path).to_owned(),
                    change: ChangeKind::Modified,
                    before: None,
                    after: Some(content(path, round)),
                    added: None,
                    removed: None,
                    call: None,
                }),
            );
        }
        apply(Source::Hook, Body::ToolReturned(returned(id)));
    }
    found
}

#[test]
fn caches_and_logs_that_a_call_writes_do_not_hide_its_repetition() {
    let plain = watched_runs(&[]);
    assert_eq!(plain.first().map(|(_, call)| *call), Some(2), "{plain:?}");
    assert_eq!(watched_runs(&["__pycache__/a.pyc", "out/test.log", ".coverage"]), plain);
}

#[test]
fn a_file_that_a_call_writes_each_time_is_a_part_of_its_outcome() {
    let found = watched_runs(&["test.txt"]);
    assert_eq!(found.first().map(|(_, call)| *call), Some(2), "{found:?}");
}

#[test]
fn a_watcher_that_sees_a_repeated_write_does_not_hide_it() {
    let input = json!({"file_path": "/r/a.md", "content": "hello"});
    let returned = |id| ToolReturned::new(id, None, None, "File created successfully");
    let found = watched("Write", &input, returned, &["/r/a.md"], |_, _| Digest::from_bytes("hello"));
    // The first write changed the file, so the second is the first that did not.
    assert_eq!(found.first(), Some(&("repeated_mutation".to_owned(), 3)), "{found:?}");
}

/// The statuses of one call after each event, when its result, its exit code and a second report of the result arrive in
/// this order.
fn statuses(order: &[usize]) -> Vec<CallMark> {
    let key = SessionKey::new("codex", "s");
    let (mut session, rules) = (Session::new(key.clone()), Rules::default());
    let id = || Some("call-3".to_owned());
    let event = |name: &str, source: Source, body: Body| {
        Event::new(name.to_owned(), key.clone(), source, Timestamp::from_millis(1_000_000), body)
    };
    let called = ToolCalled::new(id(), None, "shell", &json!({"command": "make check"}));
    session.apply(&event("c", Source::Hook, Body::ToolCalled(called)), &rules);
    let text = "error: the target is up to date";
    let reports = [
        // The proxy sees only the text.
        event("p", Source::Proxy, Body::ToolReturned(ToolReturned::new(id(), None, None, text))),
        event("h", Source::Hook, Body::ToolReturned(ToolReturned::new(id(), None, None, text))),
        event(
            "t",
            Source::Transcript,
            Body::Learned(LateFact { call: id(), exit_code: Some(0), ..LateFact::default() }),
        ),
    ];
    let mark = |session: &Session| session.call_record(0).map(|record| record.mark).unwrap_or_default();
    let mut marks = Vec::new();
    for at in order {
        session.apply(&reports[*at], &rules);
        marks.push(mark(&session));
    }
    marks
}

#[test]
fn the_source_that_knows_the_exit_code_decides_in_every_order() {
    for order in [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0]] {
        let marks = statuses(&order);
        assert_eq!(marks.last(), Some(&CallMark::Ok), "{order:?}: {marks:?}");
        let decided = marks.iter().position(|mark| *mark == CallMark::Ok).unwrap_or(marks.len());
        assert!(marks[decided..].iter().all(|mark| *mark == CallMark::Ok), "{order:?}: overruled in {marks:?}");
    }
}

/// The calls that are nudged in a session with these commands, output and exit code each. `late`: the exit code is known only
/// after the result, as with Codex's hooks.
fn nudged_calls(commands: &[(&str, &str, i32)], late: bool) -> Vec<u64> {
    let key = SessionKey::new("codex", "s");
    let (mut session, rules) = (Session::new(key.clone()), Rules::default());
    let (mut nudged, mut number) = (Vec::new(), 0);
    let mut apply = |source: Source, body: Body| {
        number += 1;
        let at = Timestamp::from_millis(1_000_000 + number * 100);
        for effect in session.apply(&Event::new(format!("e{number}"), key.clone(), source, at, body), &rules) {
            if let Effect::Intervened(step) = effect
                && step.level >= InterventionLevel::Nudge
            {
                nudged.push(step.finding.call);
            }
        }
    };
    for (at, (command, output, code)) in commands.iter().enumerate() {
        let id = Some(format!("call-{at}"));
        let called = ToolCalled::new(id.clone(), None, "shell", &json!({ "command": command }));
        apply(Source::Hook, Body::ToolCalled(called));
        let (status, known) = if late { (Some(CallStatus::Ok), None) } else { (None, Some(*code)) };
        apply(Source::Hook, Body::ToolReturned(ToolReturned::new(id.clone(), status, known, output)));
        if late {
            let fact = LateFact { call: id, exit_code: Some(*code), ..LateFact::default() };
            apply(Source::Transcript, Body::Learned(fact));
        }
    }
    nudged
}

#[test]
fn a_failure_that_is_known_late_is_no_read() {
    let look = ("git status", "On branch main, your branch is up to date", 0);
    let commands = [
        look,
        ("make a", "make: target a has no recipe and was not built", 2),
        ("make b", "undefined reference to the symbol of b", 1),
        ("make c", "the linker has stopped after c", 1),
        look,
        look,
    ];
    assert_eq!(nudged_calls(&commands, false), [5]);
    assert_eq!(nudged_calls(&commands, true), [5]);
}
