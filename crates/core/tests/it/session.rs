//! Invariants of every session.

use belay_core::event::*;
use belay_core::session::{Budget, MAX_SESSION_BYTES};
use belay_core::{
    Body, CallStatus, Digest, Effect, Event, Excerpt, Rules, Session, SessionKey, SessionState, Source, Timestamp,
};
use proptest::prelude::*;
use serde_json::json;

/// A generated input, from a small set of values so that repeats are common.
#[derive(Clone, Debug)]
enum Input {
    Call { tool: usize, input: usize, batch: Option<u8> },
    Result { back: usize, output: usize, status: usize, with_id: bool },
    Prompt { by: Author, text: usize },
    Said { text: usize, tokens: u64, degenerate: bool },
    Asked { text: usize },
    File { path: usize, content: usize },
    Check { ok: bool, failing: usize },
    Decision(OperatorDecision),
    Other(usize),
    Tick { minutes: i64 },
}

const TOOLS: &[&str] =
    &["Bash", "Read", "Edit", "Write", "Grep", "TodoWrite", "mcp__x__y", "finish", "Task", "BashOutput"];
const OUTPUTS: &[&str] =
    &["ok", "", "error: no such file", "FAILED a::b - assert 1 == 2\n1 failed in 0.1s", "12 passed in 0.2s", "text"];
const STATUSES: &[Option<CallStatus>] = &[
    None,
    Some(CallStatus::Error),
    Some(CallStatus::Ok),
    Some(CallStatus::Refused),
    Some(CallStatus::TimedOut),
    Some(CallStatus::Running),
];

fn input_event() -> impl Strategy<Value = Input> {
    let author = prop_oneof![Just(Author::Person), Just(Author::Continuation), Just(Author::Agent)];
    let decision = prop_oneof![
        Just(OperatorDecision::Pause),
        Just(OperatorDecision::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: true }),
        Just(OperatorDecision::Resume { cooldown_secs: Some(60), plan: None, require_plan: false, reset: false }),
        Just(OperatorDecision::Reset),
        Just(OperatorDecision::Acknowledge),
        Just(OperatorDecision::Allow { finding: "fnd-0".into() }),
        Just(OperatorDecision::Budget(Budget { tokens: Some(5_000), cost_micros: None })),
    ];
    prop_oneof![
        8 => (0..TOOLS.len(), 0..4usize, proptest::option::of(0..3u8))
            .prop_map(|(tool, input, batch)| Input::Call { tool, input, batch }),
        8 => (0..4usize, 0..OUTPUTS.len(), 0..STATUSES.len(), any::<bool>())
            .prop_map(|(back, output, status, with_id)| Input::Result { back, output, status, with_id }),
        1 => (author, 0..3usize).prop_map(|(by, text)| Input::Prompt { by, text }),
        2 => (0..3usize, 0..4_000u64, any::<bool>()).prop_map(|(text, tokens, degenerate)| Input::Said { text, tokens, degenerate }),
        1 => (0..3usize).prop_map(|text| Input::Asked { text }),
        1 => (0..3usize, 0..3usize).prop_map(|(path, content)| Input::File { path, content }),
        1 => (any::<bool>(), 0..3usize).prop_map(|(ok, failing)| Input::Check { ok, failing }),
        1 => decision.prop_map(Input::Decision),
        1 => (0..6usize).prop_map(Input::Other),
        1 => (0..30i64).prop_map(|minutes| Input::Tick { minutes }),
    ]
}

fn key() -> SessionKey {
    SessionKey::new("test", "s1")
}

/// Turns inputs into events with ids and times.
fn to_events(inputs: &[Input]) -> Vec<Event> {
    let mut now = 1_767_225_600_000;
    let mut calls: Vec<String> = Vec::new();
    let texts =
        ["please go on with the work until every test passes", "c", "another long instruction about other things"];
    let mut events = Vec::new();
    for (at, input_event) in inputs.iter().enumerate() {
        now += 7_000;
        let mut batch_name = None;
        let body = match input_event {
            Input::Call { tool, input, batch } => {
                let id = format!("call-{at}");
                calls.push(id.clone());
                batch_name = batch.map(|batch| format!("batch-{batch}"));
                let name = TOOLS[*tool];
                let input = json!({"command": format!("do {input}"), "file_path": format!("f{input}"), "old_string": "a", "new_string": format!("b{input}")});
                Body::ToolCalled(ToolCalled::new(Some(id), None, name, &input))
            }
            Input::Result { back, output, status, with_id } => {
                let id = calls.len().checked_sub(1 + back).map(|at| calls[at].clone()).filter(|_| *with_id);
                Body::ToolReturned(ToolReturned::new(id, STATUSES[*status], None, OUTPUTS[*output]))
            }
            Input::Prompt { by, text } => Body::Prompt(Prompt { by: *by, text: Excerpt::new(texts[*text]) }),
            Input::Said { text, tokens, degenerate } => Body::ModelAnswered(ModelAnswered {
                text: Excerpt::new(texts[*text]),
                usage: Some(Usage {
                    input: *tokens,
                    output: *tokens,
                    cache_read: 100 * tokens,
                    cache_write: 0,
                    ..Usage::default()
                }),
                model: Some("claude-sonnet-4-5".into()),
                degenerate: *degenerate,
                ..ModelAnswered::default()
            }),
            Input::Asked { text } => Body::ModelAsked(ModelAsked {
                tail: Some(TextFingerprint::from_text(texts[*text])),
                ..ModelAsked::default()
            }),
            Input::File { path, content } => Body::FileChanged(FileChanged {
                path: format!("f{path}"),
                change: ChangeKind::Modified,
                before: None,
                after: Some(Digest::from_bytes(content.to_le_bytes())),
                added: None,
                removed: None,
                call: calls.last().cloned(),
            }),
            Input::Check { ok, failing } => Body::CheckRan(CheckRan {
                check: CheckKind::Test,
                ok: Some(*ok),
                command: Excerpt::new("pytest"),
                passed: None,
                failed: None,
                failing: (!ok).then(|| format!("t{failing}")).into_iter().collect(),
                failure: None,
                call: None,
            }),
            Input::Decision(decision) => Body::Operator(Operator {
                decision: decision.clone(),
                note: Excerpt::default(),
                by: None,
                caller: None,
            }),
            Input::Other(which) => match which {
                0 => Body::TurnEnded(TurnEnded::default()),
                1 => Body::Compacted(Compacted::default()),
                2 => Body::Waiting(Waiting::default()),
                3 => Body::WaitEnded(WaitEnded::default()),
                4 => Body::ModelFailed(ModelFailed::default()),
                _ => Body::SubAgentStarted(SubAgent { child: SessionKey::new("test", format!("c{at}")), role: None }),
            },
            Input::Tick { minutes } => {
                now += minutes * 60_000;
                Body::Tick
            }
        };
        let mut event = Event::new(format!("e{at}"), key(), Source::Hook, Timestamp::from_millis(now), body);
        event.batch = batch_name;
        events.push(event);
    }
    events
}

fn run(session: &mut Session, events: &[Event], rules: &Rules) -> Vec<Effect> {
    events.iter().flat_map(|event| session.apply(event, rules)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_event_seen_before_changes_nothing(inputs in proptest::collection::vec(input_event(), 1..120)) {
        let rules = Rules::default();
        let mut session = Session::new(key());
        for event in to_events(&inputs) {
            session.apply(&event, &rules);
            let before = session.clone();
            let verdict = session.verdict(&event);
            prop_assert_eq!(session.apply(&event, &rules), vec![]);
            prop_assert_eq!(&session, &before);
            prop_assert_eq!(session.verdict(&event), verdict);
        }
    }

    #[test]
    fn a_log_replays_to_the_same_session_and_effects(
        inputs in proptest::collection::vec(input_event(), 1..200),
        cut in 0.0..1.0f64,
    ) {
        let rules = Rules::default();
        let events = to_events(&inputs);
        let mut straight = Session::new(key());
        let effects = run(&mut straight, &events, &rules);

        // The same from a snapshot in between, and from serialised events.
        let cut = (events.len() as f64 * cut) as usize;
        let mut half = Session::new(key());
        let mut replayed = run(&mut half, &events[..cut], &rules);
        let mut half: Session = serde_json::from_slice(&serde_json::to_vec(&half).unwrap()).unwrap();
        let wired: Vec<Event> = events[cut..].iter().map(|event| Event::from_json(&serde_json::to_vec(event).unwrap()).unwrap()).collect();
        replayed.extend(run(&mut half, &wired, &rules));
        prop_assert_eq!(half, straight);
        prop_assert_eq!(replayed, effects);
    }

    #[test]
    fn a_session_stays_small(inputs in proptest::collection::vec(input_event(), 400..700)) {
        let rules = Rules::default();
        let mut session = Session::new(key());
        run(&mut session, &to_events(&inputs), &rules);
        let bytes = serde_json::to_vec(&session).unwrap().len();
        prop_assert!(bytes <= MAX_SESSION_BYTES, "{bytes} bytes");
    }

    #[test]
    fn dry_run_records_and_does_nothing(inputs in proptest::collection::vec(input_event(), 1..200)) {
        let mut rules = Rules::default();
        rules.dry_run = true;
        let mut session = Session::new(key());
        for event in to_events(&inputs) {
            let person = matches!(event.body, Body::Operator(_));
            let paused = session.state.is_paused();
            for effect in session.apply(&event, &rules) {
                if let Effect::Intervened(step) = effect {
                    prop_assert!(step.dry_run);
                }
            }
            prop_assert!(person || paused || !session.state.is_paused(), "paused by {event:?}");
        }
    }

    #[test]
    fn the_order_of_results_within_a_batch_makes_no_difference(order in Just(vec![0usize, 1, 2, 3]).prop_shuffle()) {
        let rules = Rules::default();
        let found = |order: &[usize]| {
            let mut session = Session::new(key());
            let mut patterns = Vec::new();
            for round in 0..4 {
                let mut events = Vec::new();
                for call in 0..4 {
                    let called = ToolCalled::new(Some(format!("{round}-{call}")), None, "Bash", &json!({"command": format!("make part{call}")}));
                    let mut event = Event::new(format!("c{round}-{call}"), key(), Source::Hook, Timestamp::UNKNOWN, Body::ToolCalled(called));
                    event.batch = Some(format!("b{round}"));
                    events.push(event);
                }
                for call in order {
                    let returned = ToolReturned::new(Some(format!("{round}-{call}")), Some(CallStatus::Error), Some(2), "make: *** No rule");
                    events.push(Event::new(format!("r{round}-{call}"), key(), Source::Hook, Timestamp::UNKNOWN, Body::ToolReturned(returned)));
                }
                for effect in run(&mut session, &events, &rules) {
                    if let Effect::Intervened(step) = effect {
                        patterns.push((round, step.level));
                    }
                }
            }
            // Notices depend on which of several equal findings was first.
            patterns.retain(|(_, level)| *level >= belay_core::InterventionLevel::Nudge);
            patterns.sort();
            patterns.dedup();
            patterns
        };
        prop_assert_eq!(found(&order), found(&[0, 1, 2, 3]));
    }
}

/// The worst case: every field at its maximum and full of characters that need escaping.
#[test]
fn a_session_stays_small_at_the_bound() {
    let rules = Rules::default();
    let mut session = Session::new(SessionKey::new("a".repeat(512), "b".repeat(512)));
    let nasty = "\"\\\u{1}\u{fffd}".repeat(120);
    let start = SessionStarted {
        project: Some("\"".repeat(9_000)),
        branch: Some("\"".repeat(9_000)),
        task: Some("\"".repeat(9_000)),
        transcript: Some("\"".repeat(9_000)),
        agent_version: Some("\"".repeat(9_000)),
        ..SessionStarted::default()
    };
    session.apply(
        &Event::new("start", session.key.clone(), Source::Hook, Timestamp::UNKNOWN, Body::SessionStarted(start)),
        &rules,
    );
    for n in 0..1_200u64 {
        let at = Timestamp::from_millis(1_767_225_600_000 + i64::try_from(n).unwrap() * 1_000);
        let key = session.key.clone();
        let event = |id: &str, body| {
            let mut event = Event::new(format!("{id}{n}"), key.clone(), Source::Hook, at, body);
            event.cwd = Some("/".repeat(512));
            event.batch = Some(format!("{nasty}{n}"));
            event
        };
        let id = format!("{:0>40}", n);
        // Every third call repeats, so that findings and nudges accumulate.
        let input = json!({"command": format!("{nasty}{}", n / 3), "file_path": nasty});
        let name = ["Bash", "Edit", "mcp__a__b"][(n / 3 % 3) as usize];
        let usage = Usage {
            input: u64::MAX / 8_000,
            output: u64::MAX / 8_000,
            cache_read: u64::MAX / 8_000,
            cache_write: u64::MAX / 8_000,
            ..Usage::default()
        };
        for event in [
            event("c", Body::ToolCalled(ToolCalled::new(Some(id.clone()), None, name, &input))),
            event(
                "r",
                Body::ToolReturned(ToolReturned::new(
                    Some(id.clone()),
                    Some(CallStatus::Error),
                    Some(1),
                    &format!("error: {nasty} {}", n / 3),
                )),
            ),
            event(
                "s",
                Body::ModelAnswered(ModelAnswered {
                    text: Excerpt::new(&format!("{nasty} {n}")),
                    usage: Some(usage),
                    model: Some(format!("model-{n}-{}", "x".repeat(400))),
                    ..ModelAnswered::default()
                }),
            ),
            event(
                "f",
                Body::FileChanged(FileChanged {
                    path: nasty.clone(),
                    change: ChangeKind::Modified,
                    before: None,
                    after: Some(Digest(n % 7)),
                    added: None,
                    removed: None,
                    call: Some(id.clone()),
                }),
            ),
            event(
                "a",
                Body::ModelAsked(ModelAsked {
                    tail: Some(TextFingerprint::from_text(&nasty)),
                    ..ModelAsked::default()
                }),
            ),
        ] {
            session.apply(&event, &rules);
        }
        if n % 200 == 0 || n == 1_199 {
            let bytes = serde_json::to_vec(&session).unwrap().len();
            assert!(bytes <= MAX_SESSION_BYTES, "{bytes} bytes after {n} calls");
        }
    }
}

#[test]
fn an_alert_about_an_agents_decision_says_what_it_did() {
    let rules = Rules::default();
    let resume = OperatorDecision::RESUME;
    for (decision, done) in [
        (OperatorDecision::Pause, "A process of an agent (claude, pid 7) paused this session."),
        (OperatorDecision::Archive, "A process of an agent (claude, pid 7) archived this session."),
        (resume, "A process of an agent (claude, pid 7) resumed this session, confirmed with --as-operator."),
        (OperatorDecision::Note, "the note itself"),
    ] {
        let mut session = Session::new(SessionKey::new("claude-code", "s"));
        let caller = Caller { agent: Some("claude, pid 7".into()), processes: Excerpt::default() };
        let operator = Operator { decision, note: "the note itself".into(), by: None, caller: Some(Box::new(caller)) };
        let at = Timestamp::from_millis(1_000);
        let event = Event::new("e".to_owned(), session.key.clone(), Source::Operator, at, Body::Operator(operator));
        let alerts = session.apply(&event, &rules).into_iter().filter_map(|effect| match effect {
            Effect::NotifyOperator { sentence, .. } => Some(sentence),
            _ => None,
        });
        assert_eq!(alerts.collect::<Vec<_>>(), [done]);
    }
}

/// A response is recorded after its last byte is sent; the agent may have exited by then.
#[test]
fn what_happened_before_the_end_does_not_reopen_a_session() {
    let event = |id: &str, secs: i64, body| {
        let at = Timestamp::from_millis(1_767_225_600_000 + secs * 1000);
        Event::new(id.to_owned(), key(), Source::Proxy, at, body)
    };
    let rules = Rules::default();
    let mut session = Session::new(key());
    session.apply(&event("1", 0, Body::SessionStarted(SessionStarted::default())), &rules);
    session.apply(&event("2", 9, Body::SessionEnded(SessionEnded::default())), &rules);
    session.apply(&event("3", 8, Body::ModelAnswered(ModelAnswered::default())), &rules);
    assert!(matches!(session.state, SessionState::Ended { .. }), "{:?}", session.state);
    session.apply(&event("4", 10, Body::ModelAsked(ModelAsked::default())), &rules);
    assert_eq!(session.state, SessionState::Active);
}
