use super::*;
use crate::event::{
    Author, Body, Event, ModelAnswered, ModelAsked, ModelFailed, Operator, OperatorDecision, PermissionAnswer,
    PermissionAnswered, PermissionRequested, PermissionSubject, Prompt, SessionEnded, SessionStarted, StartKind,
    TurnEnded, UsageLimitHit,
};
use crate::excerpt::Excerpt;
use crate::key::SessionKey;
use crate::rules::Rules;
use crate::session::Session;

const START: i64 = 1_700_000_000_000;

/// A session that is fed events at given seconds.
struct Scene {
    session: Session,
    rules: Rules,
    events: u32,
    at: i64,
}

impl Scene {
    fn new() -> Self {
        Self {
            session: Session::new(SessionKey::new("claude-code", "s")),
            rules: Rules::default(),
            events: 0,
            at: START,
        }
    }

    fn then(mut self, body: Body) -> Self {
        self.events += 1;
        self.at += 1_000;
        let id = format!("e{}", self.events);
        let event = Event::new(id, self.session.key.clone(), Source::Hook, Timestamp::from_millis(self.at), body);
        self.session.apply(&event, &self.rules);
        self
    }

    fn json(self, body: serde_json::Value) -> Self {
        let body = serde_json::from_value(body).expect("an event");
        self.then(body)
    }

    fn after(&self, seconds: i64, process: ProcessState) -> Status {
        self.seen(seconds, process, None)
    }

    fn seen(&self, seconds: i64, process: ProcessState, seen_at: Option<i64>) -> Status {
        self.with_sub_agent(seconds, process, seen_at, None)
    }

    fn with_sub_agent(
        &self,
        seconds: i64,
        process: ProcessState,
        seen_at: Option<i64>,
        sub_agent: Option<&Status>,
    ) -> Status {
        let session = &self.session;
        let input = StatusInput {
            state: &session.state,
            incident: session.incident.as_ref().map(|incident| incident.sentence.as_str()),
            phase: &session.phase,
            waiting: session.waiting.as_ref(),
            last_at: session.facts.last_at,
            ended_at: session.facts.ended_at,
        };
        let now = Timestamp::from_millis(self.at + seconds * 1_000);
        let seen_at = seen_at.map(|seconds| Timestamp::from_millis(self.at + seconds * 1_000));
        derive(&input, &Observation { now, process, child_since: None, seen_at, sub_agent })
    }
}

fn prompt() -> Body {
    Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new("Fix it") })
}

fn bash(call: &str) -> serde_json::Value {
    serde_json::json!({"kind": "tool_called", "call": call, "tool": {"kind": "shell", "name": "Bash"},
        "input": {"command": "cargo test"}})
}

fn turn_ended(text: &str) -> Body {
    Body::TurnEnded(TurnEnded { text: Excerpt::new(text), ..TurnEnded::default() })
}

fn permission(subject: PermissionSubject) -> Body {
    let what = Excerpt::new("Bash: rm -rf build");
    Body::PermissionAsked(PermissionRequested { call: None, what, subject })
}

fn value(scene: &Scene) -> (StatusValue, Option<WaitingFor>) {
    let status = scene.after(1, ProcessState::Unknown);
    (status.value, status.waiting_for)
}

#[test]
fn a_turn_from_start_to_end() {
    let started = Scene::new().then(Body::SessionStarted(SessionStarted::default()));
    assert_eq!(value(&started).0, StatusValue::Idle);
    let prompted = started.then(prompt());
    assert_eq!(value(&prompted).0, StatusValue::Working);
    let running = prompted.json(bash("1"));
    let status = running.after(1, ProcessState::Unknown);
    assert_eq!((status.value, status.why.as_str()), (StatusValue::Working, "Runs: cargo test"));
    let ended = running.then(turn_ended("Fixed the parser.\n\nAll tests pass."));
    let status = ended.after(1, ProcessState::Unknown);
    assert_eq!((status.value, status.why.as_str()), (StatusValue::Finished, "Fixed the parser."));
    assert_eq!(status.evidence, "turn_ended");
    assert_eq!(ended.seen(60, ProcessState::Alive, Some(30)).value, StatusValue::Idle);
    assert_eq!(ended.seen(60, ProcessState::Alive, Some(-30)).value, StatusValue::Finished, "seen before it finished");
}

#[test]
fn a_question_in_prose_waits_for_a_person() {
    let asked = Scene::new().then(prompt()).then(turn_ended("Two ways are possible.\n\nWhich one do you prefer?"));
    assert_eq!(value(&asked), (StatusValue::Waiting, Some(WaitingFor::Question)));
    assert_eq!(asked.after(1, ProcessState::Alive).why, "\u{201c}Which one do you prefer?\u{201d}");
}

#[test]
fn open_prompts_wait_for_what_they_ask() {
    for (subject, waiting_for) in [
        (PermissionSubject::Tool, WaitingFor::Permission),
        (PermissionSubject::Question, WaitingFor::Question),
        (PermissionSubject::Plan, WaitingFor::PlanApproval),
        (PermissionSubject::Dialog, WaitingFor::Dialog),
    ] {
        let asked = Scene::new().then(prompt()).json(bash("1")).then(permission(subject));
        assert_eq!(value(&asked), (StatusValue::Waiting, Some(waiting_for)));
        // However long it takes: an open prompt is neither work nor silence.
        assert_eq!(asked.after(36_000, ProcessState::Alive).value, StatusValue::Waiting);
        // Answered elsewhere: the next event ends the wait.
        let returned = serde_json::json!({"kind": "tool_returned", "call": "1", "status": "ok", "output": "done"});
        assert_eq!(value(&asked.json(returned)).0, StatusValue::Working);
    }
}

#[test]
fn silence_without_evidence_is_unknown_and_never_working() {
    let asked = Scene::new().then(prompt()).then(Body::ModelAsked(ModelAsked::default()));
    assert_eq!(asked.after(60, ProcessState::Unknown).value, StatusValue::Working);
    assert_eq!(asked.after(600, ProcessState::Unknown).value, StatusValue::Unknown);
    assert_eq!(asked.after(60, ProcessState::Alive).value, StatusValue::Working);
    let stalled = asked.after(3_600, ProcessState::Alive);
    assert_eq!((stalled.value, stalled.evidence.as_str()), (StatusValue::Stalled, "silence"));
    assert_eq!(asked.after(1, ProcessState::Gone).value, StatusValue::Failed);
}

#[test]
fn a_long_tool_is_work_while_the_process_lives() {
    let running = Scene::new().then(prompt()).json(bash("1"));
    assert_eq!(running.after(600, ProcessState::Unknown).value, StatusValue::Working);
    assert_eq!(running.after(7_200, ProcessState::Unknown).value, StatusValue::Unknown);
    assert_eq!(running.after(7_200, ProcessState::Alive).value, StatusValue::Working);
    let killed = running.after(1, ProcessState::Gone);
    assert_eq!((killed.value, killed.source), (StatusValue::Failed, StatusSource::Process));
}

#[test]
fn a_running_sub_agent_is_work() {
    let child = serde_json::json!({"kind": "sub_agent_started", "child": {"agent": "claude-code", "id": "child"}});
    let parent = Scene::new().then(prompt()).json(child);
    let status = parent.after(60, ProcessState::Alive);
    assert_eq!((status.value, status.why.as_str()), (StatusValue::Working, "Waits for 1 sub-agent."));
}

#[test]
fn limits_failures_and_ends() {
    let until = Timestamp::from_millis(START + 3_600_000);
    let hit = UsageLimitHit { what: Excerpt::new("5 hours"), resets_at: Some(until) };
    let limited = Scene::new().then(prompt()).then(Body::LimitHit(hit)).then(turn_ended(""));
    let status = limited.after(1, ProcessState::Alive);
    assert_eq!((status.value, status.until), (StatusValue::Limited, Some(until)));
    assert_eq!(limited.after(7_200, ProcessState::Alive).value, StatusValue::Idle, "after the reset");

    let overloaded = ModelFailed { status: Some(529), ..ModelFailed::default() };
    let retrying = Scene::new().then(prompt()).then(Body::ModelFailed(overloaded));
    assert_eq!(value(&retrying).0, StatusValue::Working, "the agent retries");
    let failed = retrying.then(Body::TurnEnded(TurnEnded { failed: true, ..TurnEnded::default() }));
    assert_eq!(value(&failed).0, StatusValue::Failed);

    let over = Scene::new().then(prompt()).then(turn_ended("Done.")).then(Body::SessionEnded(SessionEnded::default()));
    assert_eq!(value(&over).0, StatusValue::Ended);
    let closed = Scene::new().then(prompt()).then(turn_ended("Done."));
    assert_eq!(closed.after(1, ProcessState::Gone).value, StatusValue::Ended);
}

#[test]
fn a_hold_outranks_everything() {
    let decision = serde_json::json!({"kind": "operator", "decision": "pause", "note": ""});
    let paused = Scene::new().then(prompt()).json(bash("1")).json(decision);
    let status = paused.after(1, ProcessState::Gone);
    assert_eq!((status.value, status.evidence.as_str()), (StatusValue::Held, "hold"));
    assert!(status.needs_person());
}

#[test]
fn a_declared_wait_ends_by_itself() {
    let until = Timestamp::from_millis(START + 600_000);
    let wait = serde_json::json!({"kind": "waiting", "until": until, "what": "the build"});
    let waiting = Scene::new().then(prompt()).json(wait);
    let status = waiting.after(1, ProcessState::Alive);
    assert_eq!((status.waiting_for, status.until), (Some(WaitingFor::Declared), Some(until)));
    assert!(!status.needs_person());
    assert_ne!(waiting.after(3_600, ProcessState::Alive).waiting_for, Some(WaitingFor::Declared));
}

#[test]
fn auxiliary_requests_change_nothing() {
    let done = Scene::new().then(prompt()).then(turn_ended("Done."));
    let title = ModelAsked { auxiliary: true, ..ModelAsked::default() };
    let answer = ModelAnswered { auxiliary: true, tool_calls: Some(0), ..ModelAnswered::default() };
    let after = done.then(Body::ModelAsked(title)).then(Body::ModelAnswered(answer));
    assert_eq!(value(&after).0, StatusValue::Finished);
}

fn at(scene: &Scene, millis: i64, source: Source, body: Body) -> Event {
    let at = Timestamp::from_millis(scene.at + millis);
    Event::new(format!("late-{millis}"), scene.session.key.clone(), source, at, body)
}

fn answered(tool_calls: u32, text: &str) -> Body {
    let text = Excerpt::new(text);
    Body::ModelAnswered(ModelAnswered { tool_calls: Some(tool_calls), text, ..ModelAnswered::default() })
}

fn interrupted() -> Body {
    Body::TurnEnded(TurnEnded { interrupted: true, ..TurnEnded::default() })
}

#[test]
fn a_late_response_does_not_end_an_open_permission() {
    let mut asked = Scene::new().then(prompt()).json(bash("1")).then(permission(PermissionSubject::Tool));
    for (millis, calls) in [(-500, 1), (500, 1), (600, 0)] {
        let late = at(&asked, millis, Source::Transcript, answered(calls, ""));
        asked.session.apply(&late, &asked.rules);
        assert_eq!(value(&asked).1, Some(WaitingFor::Permission), "{millis}");
    }
}

#[test]
fn parallel_calls_do_not_end_an_open_permission() {
    let asked = Scene::new().then(prompt()).json(bash("1")).json(bash("2")).then(permission(PermissionSubject::Tool));
    let other = asked.json(serde_json::json!({"kind": "tool_returned", "call": "2", "status": "ok", "output": "ok"}));
    assert_eq!(value(&other).1, Some(WaitingFor::Permission));
    let own = other.json(serde_json::json!({"kind": "tool_returned", "call": "1", "status": "ok", "output": "ok"}));
    assert_eq!(value(&own).0, StatusValue::Working);
}

#[test]
fn of_several_prompts_each_one_is_waited_for() {
    let asks = |call: &str| {
        let what = Excerpt::new("Bash: rm -rf build");
        let call = Some(call.to_owned());
        Body::PermissionAsked(PermissionRequested { call, what, subject: PermissionSubject::Tool })
    };
    let two = || Scene::new().then(prompt()).json(bash("1")).json(bash("2")).then(asks("1")).then(asks("2"));
    // opencode and Copilot CLI do not say which one it was, and neither does an answer that was given in Belay.
    let unnamed = || Body::PermissionAnswered(PermissionAnswered { call: None, allowed: true });
    let in_belay = || {
        let (approval, answer, hash) = ("apr-1".to_owned(), PermissionAnswer::Allow, "x".to_owned());
        let decision = OperatorDecision::Answer { approval, answer, hash };
        Body::Operator(Operator { decision, note: Excerpt::default(), by: None, caller: None })
    };
    let named =
        |call: &str| Body::PermissionAnswered(PermissionAnswered { call: Some(call.to_owned()), allowed: true });
    for [first, second] in [[unnamed(), unnamed()], [in_belay(), in_belay()], [named("2"), named("1")]] {
        let one_left = two().then(first);
        assert_eq!(value(&one_left).1, Some(WaitingFor::Permission));
        assert_eq!(value(&one_left.then(second)).0, StatusValue::Working);
    }
    let returned = |call| serde_json::json!({"kind": "tool_returned", "call": call, "status": "ok", "output": "ok"});
    let one_left = two().json(returned("2"));
    assert_eq!(value(&one_left).1, Some(WaitingFor::Permission));
    assert_eq!(value(&one_left.json(returned("1"))).0, StatusValue::Working);
}

#[test]
fn an_answer_in_the_terminal_ends_the_waiting() {
    let asked = || Scene::new().then(prompt()).json(bash("1")).then(permission(PermissionSubject::Tool));
    let answered = |allowed| Body::PermissionAnswered(PermissionAnswered { call: None, allowed });
    let allowed = asked().then(answered(true)).after(1, ProcessState::Alive);
    assert_eq!((allowed.value, allowed.why.as_str()), (StatusValue::Working, "Runs: cargo test"));
    assert_eq!(value(&asked().then(answered(false))).0, StatusValue::Working, "the model reads the denial");
    let stopped = asked().then(answered(false)).then(turn_ended(""));
    assert_eq!(value(&stopped).0, StatusValue::Idle, "the agent stopped because of the denial");
    let returned = || serde_json::json!({"kind": "tool_returned", "call": "1", "status": "refused", "output": "no"});
    let reordered = asked().json(returned()).then(answered(false)).then(turn_ended(""));
    assert_eq!(value(&reordered).0, StatusValue::Idle, "in any order");
    assert_eq!(value(&asked().then(interrupted())).0, StatusValue::Idle);
}

#[test]
fn the_remains_of_an_interrupted_turn_change_nothing() {
    let stopped = Scene::new().then(prompt()).json(bash("1")).then(interrupted());
    let late = stopped
        .json(serde_json::json!({"kind": "tool_returned", "call": "1", "status": "ok", "output": "cancelled"}))
        .then(answered(1, ""))
        .then(turn_ended(""));
    assert_eq!(value(&late).0, StatusValue::Idle);
    assert_eq!(value(&late.then(prompt())).0, StatusValue::Working);
}

#[test]
fn a_child_process_shows_that_a_command_was_allowed() {
    let asked = Scene::new().then(prompt()).json(bash("1")).then(permission(PermissionSubject::Tool));
    let status = |child: i64, seconds: i64| {
        let session = &asked.session;
        let input = StatusInput {
            state: &session.state,
            incident: None,
            phase: &session.phase,
            waiting: None,
            last_at: session.facts.last_at,
            ended_at: None,
        };
        let time = |seconds: i64| Timestamp::from_millis(asked.at + seconds * 1_000);
        let (now, child_since) = (time(seconds), Some(time(child)));
        derive(&input, &Observation { now, process: ProcessState::Alive, child_since, seen_at: None, sub_agent: None })
    };
    let runs = status(5, 7);
    assert_eq!((runs.value, runs.evidence.as_str()), (StatusValue::Working, "child_process"));
    assert_eq!(status(5, 5).value, StatusValue::Waiting, "a helper such as `git status` ends at once");
    assert_eq!(status(-5, 7).value, StatusValue::Waiting, "it ran before");
}

#[test]
fn a_parent_does_not_work_while_its_sub_agent_waits_for_a_person() {
    let started = serde_json::json!({"kind": "sub_agent_started", "child": {"agent": "claude-code", "id": "s/a"}});
    let parent = Scene::new().then(prompt()).json(bash("1")).json(started);
    let child = |body: Body| {
        let child = Scene { at: parent.at, ..Scene::new() }.then(body);
        child.after(5, ProcessState::Alive)
    };
    let with = |parent: &Scene, child: &Status| parent.with_sub_agent(5, ProcessState::Alive, None, Some(child));
    let asks = child(permission(PermissionSubject::Tool));
    assert!(asks.blocks_parent());
    let status = with(&parent, &asks);
    assert_eq!((status.value, status.waiting_for), (StatusValue::Waiting, Some(WaitingFor::Permission)));
    assert_eq!((status.since, status.evidence.as_str()), (asks.since, SUB_AGENT));
    assert!(status.why.starts_with("Sub-agent: "), "{}", status.why);
    // Its parent's parent waits, too.
    assert!(status.blocks_parent());
    assert!(child(permission(PermissionSubject::Question)).blocks_parent());
    assert!(!child(turn_ended("Which one?")).blocks_parent(), "its result, which the parent reads");
    assert!(!child(prompt()).blocks_parent());
    // In the background, beside a turn that is over.
    let over = Scene { session: parent.session.clone(), ..Scene::new() };
    let over = Scene { at: parent.at, ..over }.then(turn_ended("It runs in the background."));
    assert_eq!(with(&over, &asks).waiting_for, Some(WaitingFor::Permission));
    // A person has left the prompt with Esc, and the sub-agent with it.
    let stopped = Scene { at: parent.at + 5_000, ..parent }.then(interrupted());
    assert_eq!(with(&stopped, &asks).value, StatusValue::Idle);
    let mut again = stopped.then(prompt());
    assert_eq!(with(&again, &asks).value, StatusValue::Working);
    // The transcript reports an earlier interruption only now.
    let late = at(&again, -30_000, Source::Transcript, interrupted());
    again.session.apply(&late, &again.rules);
    assert_eq!(with(&again, &asks).value, StatusValue::Working, "it is still settled");
}

#[test]
fn a_program_that_belay_started_is_unknown_until_the_agent_reports() {
    let launched = || Body::SessionStarted(SessionStarted { how: StartKind::Launched, ..SessionStarted::default() });
    let starting = Scene::new().then(launched());
    assert_eq!(value(&starting).0, StatusValue::Unknown);
    assert_eq!(starting.after(1, ProcessState::Gone).value, StatusValue::Ended);
    let dialog = starting.then(permission(PermissionSubject::Dialog));
    assert_eq!(value(&dialog).1, Some(WaitingFor::Dialog));
    let ready = dialog.then(Body::SessionStarted(SessionStarted::default()));
    assert_eq!(value(&ready).0, StatusValue::Idle);
    assert_eq!(value(&ready.then(prompt()).then(launched())).0, StatusValue::Working, "what the agent said counts");
}

#[test]
fn a_compaction_on_request_ends_idle() {
    let compacting = |automatic| Scene::new().json(serde_json::json!({"kind": "compacted", "automatic": automatic}));
    let restarted = || Body::SessionStarted(SessionStarted { how: StartKind::Compacted, ..SessionStarted::default() });
    assert_eq!(value(&compacting(false)).0, StatusValue::Working);
    let ended = serde_json::json!({"kind": "sub_agent_ended", "child": {"agent": "claude-code", "id": "s/compact"}});
    let ended = compacting(false).json(ended);
    assert_eq!(value(&ended.then(restarted())).0, StatusValue::Idle);
    assert_eq!(value(&compacting(true).then(restarted())).0, StatusValue::Working);
    assert_eq!(value(&compacting(true).then(restarted()).then(turn_ended(""))).0, StatusValue::Idle);
}

#[test]
fn a_refused_request_fails_the_turn() {
    let refused = |status: u16| {
        let failed = ModelFailed { status: Some(status), message: Excerpt::new("Not possible."), retry_at: None };
        Scene::new().then(prompt()).then(Body::ModelFailed(failed))
    };
    assert_eq!(value(&refused(400)).0, StatusValue::Failed);
    assert_eq!(value(&refused(529)).0, StatusValue::Working, "the agent retries");
    let given_up = refused(529).then(turn_ended("")).after(1, ProcessState::Alive);
    assert_eq!((given_up.value, given_up.why.as_str()), (StatusValue::Failed, "Not possible."));
}

#[test]
fn a_response_after_the_end_of_the_turn_may_be_a_question() {
    let mut over = Scene::new().then(prompt()).then(turn_ended(""));
    let late = at(&over, -300, Source::Transcript, answered(0, "Which one?"));
    over.session.apply(&late, &over.rules);
    assert_eq!(value(&over).1, Some(WaitingFor::Question));
}
