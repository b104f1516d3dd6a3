//! Healthy work: Belay changes nothing, and nothing of it is visible.

use belay_agent_tests::compare::NormalizedRun;
use belay_agent_tests::scenarios::thirty_calls;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::ScriptedModel;

use super::belay::{Belay, number};

/// The tokens that the scripted model reports for its 31 turns by default.
const SPENT: u64 = 79_050;

fn play(agent: &Agent, bench: &Workbench) -> NormalizedRun {
    let model = ScriptedModel::start(thirty_calls(bench)).expect("a model");
    let finished = agent.run(bench, &model.url(), "Do what is to be done").finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.tail());
    NormalizedRun::from_records(bench, &model.requests(), &finished.transcripts)
}

pub(crate) fn healthy_work_is_not_disturbed(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let without = play(&agent, &bench);
    bench.reset().expect("a fresh workbench");
    let belay = Belay::install(&agent, &bench);
    let with = play(&agent, &bench);
    let differences = without.differences(&with);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let session = belay.session();
    // Two files were written and six edits made; the tests failed six times; the model reported the tokens of each turn.
    let counted = ["calls", "edits", "errors", "nudges", "pauses"].map(|counter| number(&session, counter));
    assert_eq!(counted, [30, 8, 6, 0, 0], "{session}");
    let tokens = number(&session, "tokens");
    assert!(if setup.writes_at_once { tokens == SPENT } else { (SPENT / 2..=SPENT).contains(&tokens) }, "{session}");
    assert_eq!(belay.json(&["incidents", "--all", "--json"])["incidents"].as_array().map(Vec::len), Some(0));
    assert_eq!(belay.faults(), "");
}
