//! Who does not listen is stopped, and stays stopped until a person decides.

use belay_agent_tests::compare::{contains, first_seen};
use belay_agent_tests::{Agent, AgentSetup, Finished, Workbench};
use belay_scripted_model::{Recorded, Script, ScriptedModel};

use crate::rope::{Rope, number};

/// Takes the session up again with a model that would call one command, and tells what the model was asked.
fn again(agent: &Agent, bench: &Workbench, id: &str, seed: u64) -> (Finished, Vec<Recorded>) {
    let script = Script::new().seed(seed).shell("echo on-the-way-again").text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = agent.run(bench, &model.url(), "Go on").resume(id).finish().expect("an end");
    (finished, model.turns())
}

pub(crate) fn ignored_nudges_end_in_a_pause_that_a_person_lifts_and_a_kill_that_nobody_lifts(
    recipe: &'static AgentSetup,
) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);

    // Three calls lead to the same, two are answered by a nudge, the sixth is held.
    let stubborn = ScriptedModel::start(Script::new().shell("cat no-such-file").repeat(30)).expect("a model");
    let finished = agent.run(&bench, &stubborn.url(), "Show me the file").finish().expect("an end");
    let session = rope.session();
    assert_eq!(session["state"], "paused", "{session}\n{}", finished.tail());
    assert_eq!(stubborn.turns().len(), 6, "a paused agent asks no more: {session}\n{}", finished.tail());
    let counted = ["calls", "nudges", "pauses"].map(|counter| number(&session, counter));
    assert_eq!(counted, [6, 2, 1], "{session}");
    let id = finished.session().expect("a session");
    let way_out = format!("belay resume {}:{id}", recipe.name);
    assert!(finished.output().contains(&way_out), "the person reads how to go on: {}", finished.tail());

    // Held, it does not even ask the model, and says why.
    let (finished, asked) = again(&agent, &bench, &id, 2);
    assert_eq!(asked.len(), 0, "a paused session asks for nothing: {}", finished.tail());
    let told = finished.output().contains(&way_out);
    assert_eq!(told, recipe.tells_refused_prompts, "the person reads how to go on: {}", finished.tail());
    assert_eq!(rope.session()["state"], "paused");

    // A person lets it go on: the same conversation, with all that was said.
    let lifted = rope.belay(&["resume", &id, "--json"]);
    assert_eq!(lifted["session"]["state"], "active", "{lifted}");
    let (finished, asked) = again(&agent, &bench, &id, 3);
    assert_eq!((finished.code, asked.len()), (Some(0), 2), "{}", finished.tail());
    assert!(contains(&asked[0], "Show me the file"), "it begins anew");
    assert_eq!(first_seen(&asked, "on-the-way-again"), Some(1));
    assert_eq!(finished.session().as_ref(), Some(&id));

    // Killed is killed: a resume does not lift it.
    rope.belay(&["kill", &id, "--json"]);
    let refused = rope.belay(&["resume", &id, "--json"]);
    assert_eq!(refused["session"]["state"], "killed", "{refused}");
    let (finished, asked) = again(&agent, &bench, &id, 4);
    assert_eq!(asked.len(), 0, "a killed session asks for nothing: {}", finished.tail());
    let told = finished.output().contains("A person stopped this session for good.");
    assert_eq!(told, recipe.tells_refused_prompts, "{}", finished.tail());
    assert_eq!(rope.faults(), "");
}
