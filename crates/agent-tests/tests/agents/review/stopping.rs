//! What a step may not do: spend more than the budget, or wait for a permission that nobody can give.

use belay_agent_tests::compare::contains;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Action, Script, ScriptedModel, Usage};
use serde_json::json;

use super::tasks::{GATE, Reviews, role};

/// Tokens of one request.
const CALL: Usage = Usage { input: 900, cached: 0, output: 100 };
const BUDGET: u64 = 2500;

/// A step that crosses the budget ends before the next request. A person raises it, and the task is done.
pub(crate) fn a_budget_stops_a_step_and_more_of_it_continues(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let mut script = Script::new();
    for step in 1..=6 {
        script = script.shell(format!("echo step-{step}")).usage(CALL);
    }
    let script = script.write("greeting.txt", "hello world\n").usage(CALL).text("The greeting is written.").usage(CALL);
    let model = ScriptedModel::start(script).expect("a model");
    let reviews = Reviews::configure(&bench, &[(&agent, &model)]);
    let budget = format!("{BUDGET}tokens");
    let id = reviews.file(&["--builder", &role(&agent), "--accept", GATE, "--budget", &budget]);
    let watched = reviews.watch(&id);
    let task = &watched.task;
    assert_eq!((task["phase"].as_str(), watched.code), (Some("needs_attention"), Some(5)), "{}", reviews.report(task));
    assert_eq!(task["status"], "The budget is used up.", "{}", reviews.report(task));
    let spent = task["tokens"].as_u64().expect("tokens");
    assert!((BUDGET..=BUDGET + CALL.total()).contains(&spent), "{spent}: {}", reviews.report(task));

    reviews.json(&["resume", &id, "--budget", "1M"]);
    let watched = reviews.watch(&id);
    assert_eq!(
        (watched.task["phase"].as_str(), watched.code),
        (Some("done"), Some(0)),
        "{}",
        reviews.report(&watched.task)
    );
    // Every request is counted once, titles included.
    let tokens = reviews.sessions_of(&agent).iter().filter_map(|session| session["tokens"].as_u64()).sum::<u64>();
    assert_eq!(watched.task["tokens"], tokens, "{}", reviews.report(&watched.task));
    assert!(tokens >= model.turns().len() as u64 * CALL.total(), "{}", reviews.report(&watched.task));
    // The session that the budget has paused is over: nothing keeps the worktree.
    let landed = reviews.json(&["land", &id]);
    assert_eq!(bench.read("greeting.txt").expect("a file"), "hello world\n", "{landed}");
    let dir = watched.task["dir"].as_str().expect("a worktree");
    assert!(!std::path::Path::new(dir).exists(), "{landed}");
}

/// A call that needs a permission which the builder does not have, and what the agent tells its model.
fn forbidden_call(agent: &Agent) -> (Action, &'static str) {
    match agent.setup.name {
        "claude-code" => {
            let fetch = Action::call("WebFetch", json!({ "url": "http://127.0.0.1:9/", "prompt": "Read it" }));
            (fetch, "you haven't granted it")
        }
        "opencode" => (Action::call("read", json!({ "filePath": "/etc/hostname" })), "specified a rule which prevents"),
        _ => (Action::shell("touch ../outside"), "Read-only file system"),
    }
}

/// Nobody can give a permission in a headless run. The agent is refused, told so, and goes on.
pub(crate) fn a_refused_permission_does_not_stop_the_task(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let (call, refusal) = forbidden_call(&agent);
    let script = Script::new().calls([call]).write("greeting.txt", "hello world\n").text("The greeting is written.");
    let model = ScriptedModel::start(script).expect("a model");
    let reviews = Reviews::configure(&bench, &[(&agent, &model)]);
    let id = reviews.file(&["--builder", &role(&agent), "--accept", GATE]);
    let watched = reviews.watch(&id);
    let task = &watched.task;
    assert_eq!((task["phase"].as_str(), watched.code), (Some("done"), Some(0)), "{}", reviews.report(task));
    assert!(contains(&model.turns()[1], refusal), "{:?}", model.turns()[1].tool_results());
}

/// An agent that was refused a permission and says nothing could not do its work: a person is needed.
pub(crate) fn a_refused_permission_without_an_answer_needs_a_person(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let (call, _) = forbidden_call(&agent);
    let model = ScriptedModel::start(Script::new().calls([call]).text("").otherwise("")).expect("a model");
    let reviews = Reviews::configure(&bench, &[(&agent, &model)]);
    let id = reviews.file(&["--builder", &role(&agent), "--accept", GATE]);
    let watched = reviews.watch(&id);
    let task = &watched.task;
    assert_eq!((task["phase"].as_str(), watched.code), (Some("needs_attention"), Some(5)), "{}", reviews.report(task));
    let status = task["status"].as_str().expect("a status");
    assert!(status.contains("cannot run without you: ") && status.contains("needs a permission"), "{status}");
}
