//! A loop: the nudge comes at the right call, and the model reads the reason.

use belay_agent_tests::compare::first_seen;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use super::belay::{Belay, number};

/// The beginning of the nudge; agents may wrap it.
const NUDGE: &str = "Belay: The same call was made 3 times in a row and led to the same result each time: \
                     `cat no-such-file`.";

pub(crate) fn a_loop_is_nudged_at_the_right_call_and_the_model_reads_why(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::install(&agent, &bench);
    let script = Script::new().shell("cat no-such-file").repeat(4).shell("ls").text("I see.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = agent.run(&bench, &model.url(), "Show me the file").finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}\n{}", finished.tail(), belay.faults());
    let turns = model.turns();
    // Three calls had the same result; the fourth got the nudge, which the next request carries.
    assert_eq!(first_seen(&turns, NUDGE), Some(4), "{}", belay.session());
    let results = turns[4].tool_results();
    let refused: Vec<&String> = results.iter().map(|result| &result.text).filter(|text| text.contains(NUDGE)).collect();
    assert_eq!(refused.len(), 1, "{results:?}");
    assert!(refused[0].contains("No such file or directory") && refused[0].contains("Try instead:"), "{}", refused[0]);
    // The next call is a different one and runs.
    assert!(turns[5].tool_results().last().is_some_and(|result| result.text.contains("README.md")));
    let session = belay.session();
    assert_eq!((number(&session, "calls"), number(&session, "nudges"), number(&session, "pauses")), (5, 1, 0));
    assert_eq!(belay.faults(), "");
}
