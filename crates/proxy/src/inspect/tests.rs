//! One session, seen by hooks, by its session file and by its requests, is judged alike. Hooks and session files are those
//! of `belay-agents`; requests are read as the relay reads them.

mod claude_code;
mod codex;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belay_agents::hook::HookInput;
use belay_agents::wire::RequestHead;
use belay_core::event::LateFact;
use belay_core::{Body, Effect, Event, InterventionLevel, Rules, Session, SessionKey, Source, Timestamp, Verdict};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

use crate::inspect::{Inspector, RequestMeta};
use crate::supervisor::{BoxFuture, HoldState, Supervisor};

const SESSION: &str = "972c35ba-da69-48f7-85ca-69d77b5f74a4";

/// What an agent does next, in a project whose commands only depend on the edits so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A build that fails alike, whatever is edited.
    Build,
    /// Tests whose failure depends on the edits.
    Test,
    /// A look at a file that no edit changes.
    Read,
    /// A look that depends on the edits.
    Status,
    /// An edit that is accepted, each with another text.
    Edit,
    /// An edit that is rejected.
    Misfit,
    /// A command in the background.
    Start,
}

const ACTIONS: [Action; 7] =
    [Action::Build, Action::Test, Action::Read, Action::Status, Action::Edit, Action::Misfit, Action::Start];

#[derive(Clone)]
enum Turn {
    /// A person's prompt.
    Prompt(String),
    /// Calls of one response.
    Calls(Vec<Call>),
}

/// The actions, so that a failure is readable: `[PROMPT, Build, Read+Start]`.
impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Calls(calls) = self else { return f.write_str("PROMPT") };
        let actions: Vec<String> = calls.iter().map(|call| format!("{:?}", call.action)).collect();
        f.write_str(&actions.join("+"))
    }
}

#[derive(Clone)]
struct Call {
    id: String,
    action: Action,
    /// What an edit inserts, or what is started: another number each time.
    number: u32,
    output: String,
    exit_code: i32,
}

/// A session in which these actions are taken; several of one round are parallel calls.
fn session(rounds: &[Vec<Action>], prompts: &[usize]) -> Vec<Turn> {
    let mut turns = vec![Turn::Prompt("Fix the build".to_owned())];
    let (mut edits, mut number) = (0, 0);
    for (at, round) in rounds.iter().enumerate() {
        if prompts.contains(&at) {
            turns.push(Turn::Prompt(format!("Now look at part {at} of the report")));
        }
        let mut calls = Vec::new();
        for action in round {
            number += 1;
            let (output, exit_code) = match action {
                Action::Build => ("error: cannot find -lfoo\nmake: *** [all] Error 1".to_owned(), 2),
                Action::Test => (format!("test parse_{edits} ... FAILED\n{edits} symbols are missing"), 1),
                Action::Read => ("The server listens on the address of its configuration. ".repeat(4), 0),
                Action::Status => (format!("On branch main, {edits} files are modified"), 0),
                Action::Edit => ("The file has been updated".to_owned(), 0),
                Action::Misfit => ("String to replace not found in file.".to_owned(), 1),
                Action::Start => (format!("Command running in background with ID: b{number}"), 0),
            };
            edits += u32::from(*action == Action::Edit);
            calls.push(Call { id: format!("call_{number:04}"), action: *action, number, output, exit_code });
        }
        turns.push(Turn::Calls(calls));
    }
    turns
}

/// How one agent reports a session.
trait Recording {
    const AGENT: &'static str;

    /// The payloads of its hooks, in order, and lines of its session file that tell exit codes.
    fn hooks(turns: &[Turn]) -> Vec<HookOrLine>;

    /// The name and the text of its session file.
    fn transcript(turns: &[Turn]) -> (String, String);

    /// The bodies of its requests.
    fn requests(turns: &[Turn]) -> Vec<Value>;

    fn path() -> &'static str;

    fn header(name: &str) -> Option<&'static str>;
}

enum HookOrLine {
    Hook(Value),
    Line(String),
}

/// The first call that leads to a nudge or a pause. Its pattern may differ: what is judged when it is made cannot have a
/// pattern that knows the result. So may later calls, because a nudge covers the calls that were known when it was made.
fn judged(events: &[Event]) -> Option<u64> {
    let mut rules = Rules::default();
    rules.dry_run = true;
    let key = &events.first().expect("an event").session;
    let mut session = Session::new(key.clone());
    let mut effects = Vec::new();
    for event in events.iter().filter(|event| event.session == *key) {
        effects.extend(session.apply(event, &rules));
    }
    effects.extend(session.settle_unanswered(&rules));
    let steps = effects.into_iter().filter_map(|effect| match effect {
        Effect::Intervened(step) if step.level > InterventionLevel::Notice => Some(step.finding),
        _ => None,
    });
    steps.map(|finding| finding.call).min()
}

fn by_hooks<R: Recording>(turns: &[Turn]) -> Vec<Event> {
    let mut events = Vec::new();
    for (at, report) in R::hooks(turns).into_iter().enumerate() {
        let at_time = Timestamp::from_millis(1_794_765_370_000 + 1000 * i64::try_from(at).expect("few"));
        let id = format!("h{at}");
        match report {
            HookOrLine::Hook(payload) => {
                let payload = payload.to_string().into_bytes();
                let protocol = belay_agents::hook::protocol(R::AGENT, &payload).expect("a protocol");
                let hook = HookInput { id: &id, event: None, payload: &payload, at: at_time, exit_code: None };
                events.extend(protocol.parse(&hook).expect("a known payload").events);
            }
            // The hook of a result looks for the exit code in the session file.
            HookOrLine::Line(line) => {
                let protocol = belay_agents::hook::protocol(R::AGENT, b"{}").expect("a protocol");
                let (call, code) = protocol.exit_code(&line).expect("an exit code");
                let fact = LateFact { call: Some(call), exit_code: Some(code), ..LateFact::default() };
                let key = SessionKey::new(R::AGENT, SESSION);
                events.push(Event::new(id, key, Source::Transcript, at_time, Body::Learned(fact)));
            }
        }
    }
    events
}

fn by_session_file<R: Recording>(turns: &[Turn]) -> Vec<Event> {
    let (name, text) = R::transcript(turns);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join(name);
    std::fs::write(&path, text).expect("a file");
    let format = belay_agents::detect_format(&path).expect("readable").expect("a known format");
    let mut events = Vec::new();
    format.read(&path, &mut |event| events.push(event)).expect("readable");
    events
}

fn by_requests<R: Recording>(turns: &[Turn]) -> Vec<Event> {
    let observed = Arc::new(Observed::default());
    let inspector = Arc::new(Inspector::new(Arc::<Observed>::clone(&observed), None).expect("a thread"));
    for body in R::requests(turns) {
        let meta = RequestMeta::parse("POST", &Head::<R>(std::marker::PhantomData), None).expect("a turn");
        inspector.start(meta, None).read_request(Some(body.to_string().as_bytes()));
    }
    inspector.flush(Duration::from_secs(300));
    std::mem::take(&mut *observed.0.lock().expect("no panic"))
}

struct Head<R>(std::marker::PhantomData<R>);

impl<R: Recording> RequestHead for Head<R> {
    fn header(&self, name: &str) -> Option<&str> {
        R::header(name)
    }

    fn path(&self) -> &str {
        R::path()
    }
}

/// Keeps the events of the requests.
#[derive(Default)]
struct Observed(Mutex<Vec<Event>>);

impl Supervisor for Observed {
    fn hold_state(&self, _: &SessionKey) -> HoldState {
        HoldState::Free
    }

    fn observe(&self, events: Vec<Event>) -> Vec<Verdict> {
        let verdicts = events.iter().map(|_| Verdict::Go).collect();
        self.0.lock().expect("no panic").extend(events);
        verdicts
    }

    fn hold_state_changed(&self) -> BoxFuture<()> {
        Box::pin(std::future::pending())
    }
}

fn assert_alike<R: Recording>(turns: &[Turn]) {
    let by_file = judged(&by_session_file::<R>(turns));
    assert_eq!(judged(&by_hooks::<R>(turns)), by_file, "hooks and the session file differ: {turns:?}");
    assert_eq!(judged(&by_requests::<R>(turns)), by_file, "requests and the session file differ: {turns:?}");
}

/// Sessions of up to sixteen rounds, mostly of few different actions, so that loops are frequent. Parallel calls are equal:
/// among different ones, sensors differ in order (a hook reports a rejected edit after the rest of its batch) and in what is
/// known (a request has the results of the whole batch, a session file and a hook judge a call before), so that the same round
/// may be found by another pattern.
fn sessions() -> impl Strategy<Value = Vec<Turn>> {
    let alphabet = proptest::sample::subsequence(ACTIONS.to_vec(), 1..=4);
    alphabet.prop_flat_map(|actions| {
        let round = (proptest::sample::select(actions), 1..=2_usize).prop_map(|(action, times)| vec![action; times]);
        let rounds = proptest::collection::vec(round, 1..=16);
        (rounds, proptest::collection::vec(0..16_usize, 0..=2)).prop_map(|(rounds, prompts)| session(&rounds, &prompts))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, rng_seed: RngSeed::Fixed(32), ..ProptestConfig::default() })]

    #[test]
    fn claude_code_is_judged_alike_by_every_sensor(turns in sessions()) {
        assert_alike::<claude_code::ClaudeCode>(&turns);
    }

    #[test]
    fn codex_is_judged_alike_by_every_sensor(turns in sessions()) {
        assert_alike::<codex::Codex>(&turns);
    }
}

#[test]
fn a_plain_loop_is_found_by_every_sensor() {
    let turns = session(&vec![vec![Action::Build]; 5], &[]);
    let found = judged(&by_session_file::<claude_code::ClaudeCode>(&turns));
    assert_eq!(found, Some(2));
    assert_alike::<claude_code::ClaudeCode>(&turns);
    assert_alike::<codex::Codex>(&turns);
}
