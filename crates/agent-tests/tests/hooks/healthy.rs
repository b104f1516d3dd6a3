//! Honest work: nothing is said, nothing is changed, nothing is seen of us.

use belay_agent_tests::compare::NormalizedRun;
use belay_agent_tests::scenarios::thirty_calls;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::ScriptedModel;

use crate::rope::{Rope, number};

/// What the scripted model says that its 31 turns cost in tokens, when nobody tells it otherwise.
const SPENT: u64 = 79_050;

fn play(agent: &Agent, bench: &Workbench) -> NormalizedRun {
    let model = ScriptedModel::start(thirty_calls(bench)).expect("a model");
    let finished = agent.run(bench, &model.url(), "Do what is to be done").finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.tail());
    NormalizedRun::of(bench, &model.requests(), &finished.transcripts)
}

pub(crate) fn healthy_work_is_left_alone(recipe: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let without = play(&agent, &bench);
    bench.reset().expect("a fresh bench");
    let rope = Rope::tie(&agent, &bench);
    let with = play(&agent, &bench);
    let differences = without.differences(&with);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let session = rope.session();
    // Two files were written and six edits made; the tests failed six times; the model told what each turn cost.
    let counted = ["calls", "edits", "errors", "nudges", "pauses"].map(|counter| number(&session, counter));
    assert_eq!(counted, [30, 8, 6, 0, 0], "{session}");
    let tokens = number(&session, "tokens");
    assert!(if recipe.writes_at_once { tokens == SPENT } else { (SPENT / 2..=SPENT).contains(&tokens) }, "{session}");
    assert_eq!(rope.belay(&["incidents", "--all", "--json"])["incidents"].as_array().map(Vec::len), Some(0));
    assert_eq!(rope.faults(), "");
}
