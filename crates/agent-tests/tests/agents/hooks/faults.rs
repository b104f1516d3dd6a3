//! Belay breaks: the agent is not affected.

use std::os::unix::fs::PermissionsExt;

use belay_agent_tests::scenarios::SCENARIO_TIMEOUT;
use belay_agent_tests::{Agent, AgentSetup, Workbench, belay_program};
use belay_scripted_model::{Script, ScriptedModel};
use rustix::process::{Pid, Signal, kill_process};

use super::belay::{Belay, number};

/// The resident process is killed during a run; no event is lost.
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

/// The hooks stay installed, but the program is gone, cannot be executed, or is killed.
pub(crate) fn an_agent_continues_without_a_working_belay(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    for broken in ["missing", "not executable", "killed"] {
        let bench = Workbench::new().expect("a workbench");
        let program = bench.root().join("bin/belay");
        std::fs::create_dir_all(program.parent().expect("a directory")).expect("a directory");
        std::fs::copy(belay_program().expect("belay"), &program).expect("a copy");
        let belay = Belay::install_program(&agent, &bench, program.clone());
        drop(belay);
        std::fs::remove_file(&program).expect("a file");
        if broken != "missing" {
            std::fs::write(&program, "#!/bin/sh\nkill -9 $$\n").expect("a file");
            let mode = if broken == "killed" { 0o755 } else { 0o644 };
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).expect("permissions");
        }
        let script = Script::new().shell("echo one > notes.txt").shell("cat notes.txt").text("Done.");
        let model = ScriptedModel::start(script).expect("a model");
        let finished = agent.run(&bench, &model.url(), "Take a note").finish().expect("an end");
        assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{broken}: {}", finished.tail());
        assert_eq!(bench.read("notes.txt").expect("a file"), "one\n", "{broken}: {}", finished.tail());
    }
}
