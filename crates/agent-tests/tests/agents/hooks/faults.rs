//! The resident process is killed during a run: the agent is not affected, and no event is lost.

use belay_agent_tests::scenarios::SCENARIO_TIMEOUT;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};
use rustix::process::{Pid, Signal, kill_process};

use super::belay::{Belay, number};

pub(crate) fn killing_the_resident_process_changes_nothing(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::install(&agent, &bench);
    let script = Script::new()
        .shell("cat no-such-file")
        .repeat(2)
        .shell("cat no-such-file")
        .hold_after(0)
        .shell("cat no-such-file")
        .shell("ls")
        .text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let running = agent.run(&bench, &model.url(), "Show me the file").start().expect("a start");
    model.wait_for_turns(3, SCENARIO_TIMEOUT).expect("turns");
    let resident = Pid::from_raw(belay.resident()).expect("a process");
    kill_process(resident, Signal::KILL).expect("a process of ours");
    model.release();
    let finished = running.finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.tail());
    let session = belay.session();
    // Calls before and after belong to one session: the fourth call was nudged.
    assert_eq!((number(&session, "calls"), number(&session, "nudges")), (5, 1), "{session}");
}
