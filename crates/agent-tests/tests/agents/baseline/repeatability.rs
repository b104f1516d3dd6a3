//! Two equal runs are equal after normalization. Otherwise a comparison with Belay would prove nothing.

use belay_agent_tests::compare::NormalizedRun;
use belay_agent_tests::scenarios::thirty_calls;
use belay_agent_tests::{Agent, AgentSetup, Workbench};

use super::single_session::play;

fn run(agent: &Agent, bench: &Workbench) -> NormalizedRun {
    bench.reset().expect("a fresh workbench");
    let (finished, model) = play(agent, bench, thirty_calls(bench), "Do what is to be done");
    assert!(bench.read("work.txt").expect("work").lines().all(|line| line.starts_with("done")));
    assert_eq!(model.turns().len(), 31);
    NormalizedRun::from_records(bench, &model.requests(), &finished.transcripts)
}

pub(crate) fn two_equal_runs_are_equal(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let differences = run(&agent, &bench).differences(&run(&agent, &bench));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
