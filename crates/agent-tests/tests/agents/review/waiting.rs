//! A task that has to wait: for a usage limit, or for a person who resumes a paused session.

use std::time::Duration;

use belay_agent_tests::compare::contains;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_core::Timestamp;
use belay_scripted_model::{Script, ScriptedModel};

use super::tasks::{GATE, Reviews, TASK, role};

/// Time until the limit resets.
const RESET: Duration = Duration::from_secs(600);

/// The account of one agent has reached its limit. With a single worker, the task of another one is done meanwhile.
pub(crate) fn a_limit_is_waited_for_without_a_worker(limited: &'static AgentSetup, other: &'static AgentSetup) {
    let (Some(limited), Some(other)) = (Agent::or_skip(limited), Agent::or_skip(other)) else { return };
    let bench = Workbench::new().expect("a workbench");
    let refused = Script::new()
        .error(429, "This request would exceed your account's rate limit.")
        .header("retry-after", RESET.as_secs().to_string())
        .repeat(50);
    let refused = ScriptedModel::start(refused).expect("a model");
    let script = Script::new().seed(1).write("greeting.txt", "hello world\n").text("The greeting is written.");
    let answered = ScriptedModel::start(script).expect("a model");
    let reviews = Reviews::configure(&bench, &[(&limited, &refused), (&other, &answered)]);

    let waits = reviews.file(&["--builder", &role(&limited), "--accept", GATE]);
    let task = reviews.until(&waits, |task| task["waiting"]["for"] == "limit");
    assert_eq!(task["waiting"]["account"], limited.setup.name, "{task:#}");
    let until = task["waiting"]["until"].as_str().expect("a time");
    assert!(task["status"].as_str().is_some_and(|status| status.contains(until)), "{task:#}");
    let until: Timestamp = serde_json::from_value(until.into()).expect("a time");
    let left = until.saturating_since(belay_clock::now());
    assert!((RESET / 2..=RESET).contains(&left), "{left:?}: {task:#}");
    assert_eq!(task["running"], serde_json::Value::Null, "{task:#}");
    let asked = refused.requests().len();

    let works = reviews.file(&["--builder", &role(&other), "--accept", GATE]);
    let watched = reviews.watch(&works);
    assert_eq!(
        (watched.task["phase"].as_str(), watched.code),
        (Some("done"), Some(0)),
        "{}",
        reviews.report(&watched.task)
    );
    let task = reviews.json(&["show", &waits]);
    assert_eq!(task["waiting"]["for"], "limit", "{}", reviews.report(&task));
    assert_eq!(refused.requests().len(), asked, "nothing is asked before the limit resets");

    assert_eq!(reviews.json(&["cancel", &waits])["phase"], "cancelled");
    assert_eq!(reviews.watch(&waits).code, Some(6));
}

/// The builder repeats a call until Belay pauses its session. A person resumes it, and the same session finishes.
pub(crate) fn a_paused_step_waits_and_continues_in_its_session(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let script = Script::new()
        .shell("cat no-such-file")
        .repeat(30)
        .write("greeting.txt", "hello world\n")
        .text("The greeting is written.");
    let model = ScriptedModel::start(script).expect("a model");
    let reviews = Reviews::configure(&bench, &[(&agent, &model)]);
    let id = reviews.file(&["--builder", &role(&agent), "--accept", GATE]);
    let task = reviews.until(&id, |task| task["waiting"]["for"] == "pause");
    let asked = model.turns().len();
    assert!(asked <= 8 && task["phase"] == "building", "{asked} requests: {}", reviews.report(&task));
    let reason = task["waiting"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("cat no-such-file"), "{task:#}");
    let session = task["waiting"]["session"].as_str().expect("a session").to_owned();

    model.end_repetition();
    let lifted = reviews.belay.json(&["resume", &session]);
    assert_eq!(lifted["session"]["state"], "active", "{lifted}");
    let watched = reviews.watch(&id);
    assert_eq!(
        (watched.task["phase"].as_str(), watched.code),
        (Some("done"), Some(0)),
        "{}",
        reviews.report(&watched.task)
    );
    let names: Vec<_> = reviews.sessions_of(&agent).iter().map(|session| session["session"].clone()).collect();
    assert_eq!(names, [session.as_str()], "the step continues in its session");
    assert!(contains(&model.turns()[asked], TASK), "the conversation is the same");
    // A session that is continued is not counted twice.
    let tokens = reviews.sessions_of(&agent)[0]["tokens"].clone();
    assert_eq!(watched.task["tokens"], tokens, "{}", reviews.report(&watched.task));
}
