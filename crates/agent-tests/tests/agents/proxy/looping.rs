//! A loop: one request is refused, the output shows the reason, and a resume continues the same conversation.

use belay_agent_tests::compare::first_seen;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use super::belay::{Belay, number};
use super::request_recorder::RequestRecorder;

pub(crate) fn a_loop_ends_in_one_refused_request_and_a_resume_continues_the_conversation(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::configure(&agent, &bench);
    let recorder = RequestRecorder::start(belay.proxy());
    let agent = recorder.redirected(&agent, &bench);
    let looping = ScriptedModel::start(Script::new().shell("cat no-such-file").repeat(30)).expect("a model");
    let run = agent.run(&bench, &looping.url(), "Show me the file");
    let finished = belay.proxied(run).finish().expect("an end");
    let session = belay.session();
    assert_eq!(session["state"], "paused", "{}", belay.report(&finished));
    // The verdict came with the last result the proxy saw; the request after it did not reach the model.
    let asked = looping.turns().len() as u64;
    assert!((asked - 1..=asked).contains(&number(&session, "calls")), "{asked} {session}");
    assert!(asked <= 8, "{asked} requests: it did not stop\n{}", belay.report(&finished));
    assert!(finished.output().contains("belay resume"), "the output shows how to resume: {}", finished.output());
    // All but one request reached the model: the refused one was not retried.
    let sent = recorder.sent().len();
    assert_eq!(sent, looping.requests().len() + 1, "{}", belay.report(&finished));
    // A paused session does not reach the model.
    let id = finished.session().expect("a session");
    let silent = ScriptedModel::start(Script::new().seed(2).shell("echo no")).expect("a model");
    let held = belay.proxied(agent.run(&bench, &silent.url(), "Go on").resume(&id)).finish().expect("an end");
    assert_eq!(silent.turns().len(), 0, "a paused session sends no request: {}", belay.report(&held));
    assert_eq!(recorder.sent().len(), sent + 1, "{}", belay.report(&held));
    // A person resumes it.
    let lifted = belay.json(&["resume", &belay.name()]);
    assert_eq!(lifted["session"]["state"], "active", "{lifted}");
    let script = Script::new().seed(3).shell("echo on-the-way-again").text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = belay.proxied(agent.run(&bench, &model.url(), "Go on").resume(&id)).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", belay.report(&finished));
    let turns = model.turns();
    assert_eq!(first_seen(&turns, "on-the-way-again"), Some(1));
    assert_eq!(first_seen(&turns, "Show me the file"), Some(0), "the conversation is the same");
    assert_eq!(belay.session()["state"], "ended", "{}", belay.session());
}
