//! Going in circles: one request is refused, the person reads why, and a resume goes on in the same conversation.

use belay_agent_tests::compare::first_seen;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use crate::rope::{Rope, number};
use crate::wiretap::Wiretap;

pub(crate) fn a_loop_ends_in_one_refused_request_and_a_resume_goes_on_in_the_same_conversation(
    recipe: &'static AgentSetup,
) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let tap = Wiretap::start(rope.proxy());
    let agent = tap.bugged(&agent, &bench);
    let stubborn = ScriptedModel::start(Script::new().shell("cat no-such-file").repeat(30)).expect("a model");
    let run = agent.run(&bench, &stubborn.url(), "Show me the file");
    let finished = rope.proxied(run).finish().expect("an end");
    let session = rope.session();
    assert_eq!(session["state"], "paused", "{}", rope.story(&finished));
    // The verdict came with the last result the proxy saw; the request after it did not reach the model.
    let asked = stubborn.turns().len() as u64;
    assert!((asked - 1..=asked).contains(&number(&session, "calls")), "{asked} {session}");
    assert!(asked <= 8, "{asked} requests: it did not stop\n{}", rope.story(&finished));
    assert!(finished.output().contains("belay resume"), "the person reads how to go on: {}", finished.output());
    // Everything it sent reached the model but for one request: it did not try that again, nor anything else.
    let sent = tap.sent().len();
    assert_eq!(sent, stubborn.requests().len() + 1, "{}", rope.story(&finished));
    // Held, it does not reach the model.
    let id = finished.session().expect("a session");
    let silent = ScriptedModel::start(Script::new().seed(2).shell("echo no")).expect("a model");
    let held = rope.proxied(agent.run(&bench, &silent.url(), "Go on").resume(&id)).finish().expect("an end");
    assert_eq!(silent.turns().len(), 0, "a paused session asks for nothing: {}", rope.story(&held));
    assert_eq!(tap.sent().len(), sent + 1, "{}", rope.story(&held));
    // A person lets it go on.
    let lifted = rope.belay(&["resume", &rope.name()]);
    assert_eq!(lifted["session"]["state"], "active", "{lifted}");
    let script = Script::new().seed(3).shell("echo on-the-way-again").text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = rope.proxied(agent.run(&bench, &model.url(), "Go on").resume(&id)).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", rope.story(&finished));
    let turns = model.turns();
    assert_eq!(first_seen(&turns, "on-the-way-again"), Some(1));
    assert_eq!(first_seen(&turns, "Show me the file"), Some(0), "the conversation is the same");
    assert_eq!(rope.session()["state"], "ended", "{}", rope.session());
}
