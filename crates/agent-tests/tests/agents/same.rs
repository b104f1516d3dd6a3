//! Two equal runs must be equal after normalisation, else no comparison with Belay would prove anything.

use belay_agent_tests::compare::NormalizedRun;
use belay_agent_tests::scenarios::thirty_calls;
use belay_agent_tests::{Agent, AgentSetup, Workbench};

use crate::working::play;

fn story(agent: &Agent, bench: &Workbench) -> NormalizedRun {
    bench.reset().expect("a fresh bench");
    let (finished, model) = play(agent, bench, thirty_calls(bench), "Do what is to be done");
    assert!(bench.read("work.txt").expect("work").lines().all(|line| line.starts_with("done")));
    assert_eq!(model.turns().len(), 31);
    NormalizedRun::of(bench, &model.requests(), &finished.transcripts)
}

pub(crate) fn tells_the_same_story_twice(recipe: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let differences = story(&agent, &bench).differences(&story(&agent, &bench));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
