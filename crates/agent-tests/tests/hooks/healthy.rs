//! Honest work: nothing is said, nothing is changed, nothing is seen of us.

use belay_agent_tests::compare::Story;
use belay_agent_tests::stories::thirty_calls;
use belay_agent_tests::{Agent, Recipe, Workbench};
use belay_scripted_model::ScriptedModel;

use crate::rope::{Rope, number};

fn play(agent: &Agent, bench: &Workbench) -> Story {
    let model = ScriptedModel::start(thirty_calls(bench)).expect("a model");
    let finished = agent.run(bench, &model.url(), "Do what is to be done").finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.tail());
    Story::of(bench, &model.requests(), &finished.transcripts)
}

pub(crate) fn healthy_work_is_left_alone(recipe: &'static Recipe) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let without = play(&agent, &bench);
    bench.reset().expect("a fresh bench");
    let rope = Rope::tie(&agent, &bench);
    let with = play(&agent, &bench);
    let differences = without.differences(&with);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let session = rope.session();
    assert_eq!(number(&session, "calls"), 30, "{session}");
    assert_eq!((number(&session, "nudges"), number(&session, "pauses")), (0, 0), "{session}");
    assert_eq!(rope.belay(&["incidents", "--all", "--json"])["incidents"].as_array().map(Vec::len), Some(0));
    assert_eq!(rope.faults(), "");
}
