//! Going in circles: a nudge at the right call, then a pause, then a person's decision.

use belay_agent_tests::compare::first_heard;
use belay_agent_tests::{Agent, Recipe, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use crate::rope::{Rope, number};

/// How every nudge begins.
const NUDGE: &str = "Belay held this call back.";

pub(crate) fn a_loop_is_nudged_at_the_right_call_and_the_model_reads_why(recipe: &'static Recipe) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let script = Script::new().shell("cat no-such-file").repeat(4).shell("ls").text("I see.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = agent.run(&bench, &model.url(), "Show me the file").finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}\n{}", finished.output(), rope.faults());
    let turns = model.turns();
    // Three calls ran and led to the same; the fourth was answered by us, and the model read it in its next request.
    assert_eq!(first_heard(&turns, NUDGE), Some(4), "{}", rope.session());
    let results = turns[4].tool_results();
    let refused: Vec<&String> = results.iter().map(|result| &result.text).filter(|text| text.contains(NUDGE)).collect();
    assert_eq!(refused.len(), 1, "{results:?}");
    assert!(refused[0].contains("cat no-such-file") && refused[0].contains("Try instead"), "{}", refused[0]);
    let session = rope.session();
    assert_eq!((number(&session, "calls"), number(&session, "nudges"), number(&session, "pauses")), (5, 1, 0));
}

pub(crate) fn ignoring_nudges_ends_in_a_pause_that_stops_it_and_a_resume_lets_it_go_on(recipe: &'static Recipe) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let stubborn = ScriptedModel::start(Script::new().shell("cat no-such-file").repeat(30)).expect("a model");
    let finished = agent.run(&bench, &stubborn.url(), "Show me the file").finish().expect("an end");
    let session = rope.session();
    let (asked, calls) = (stubborn.turns().len(), number(&session, "calls"));
    assert_eq!(session["state"], "paused", "{session}\n{}", finished.output());
    assert!((6..=8).contains(&asked), "{asked} requests for {calls} calls: it did not stop\n{}", finished.output());
    assert!(finished.output().contains("belay resume"), "the person reads how to go on: {}", finished.output());
    // Held, it does not even ask the model.
    let id = finished.session().expect("a session");
    let silent = ScriptedModel::start(Script::new().seed(2).shell("echo no")).expect("a model");
    agent.run(&bench, &silent.url(), "Go on").resume(&id).finish().expect("an end");
    assert_eq!(silent.turns().len(), 0, "a paused session asks for nothing");
    assert_eq!(rope.session()["state"], "paused");
    // A person lets it go on.
    let lifted = rope.belay(&["resume", &id, "--json"]);
    assert_eq!(lifted["session"]["state"], "active", "{lifted}");
    let script = Script::new().seed(3).shell("echo on-the-way-again").text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = agent.run(&bench, &model.url(), "Go on").resume(&id).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.output());
    assert_eq!(first_heard(&model.turns(), "on-the-way-again"), Some(1));
}
