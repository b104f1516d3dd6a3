//! One plugin directory for two agents. Codex loads it too, but skips its hooks.

use std::path::Path;

use belay_agent_tests::agent_setups::{CLAUDE_CODE, COPILOT};
use belay_agent_tests::{Agent, AgentSetup, Workbench, belay_program};
use belay_scripted_model::{Script, ScriptedModel};
use serde_json::Value;

/// Installs the plugin by the agent's own commands and runs a loop.
fn installs_and_fires(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    bench.configure(&agent).expect("a configuration");
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").canonicalize().expect("plugins");
    let run = |args: &[&str]| {
        let output = bench.command(&agent.program).args(args).output().expect("it runs");
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    run(&["plugin", "marketplace", "add", dir.to_str().expect("text")]);
    run(&["plugin", "install", "belay@belay"]);
    let belay = belay_program().expect("belay");
    let script = Script::new().shell("cat no-such-file").repeat(4).text("I see.");
    let model = ScriptedModel::start(script).expect("a model");
    let run = agent.run(&bench, &model.url(), "Show me the file").prepend_path(belay.parent().expect("a directory"));
    let finished = run.finish().expect("an end");
    let listed = bench.command(&belay).args(["sessions", "--json"]).output().expect("belay runs");
    let _ = bench.command(&belay).args(["stop"]).output();
    let sessions: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let session = &sessions["sessions"][0];
    assert_eq!(session["agent"], setup.name, "{sessions} {}", finished.tail());
    assert_eq!(session["nudges"], 1, "{sessions} {}", finished.tail());
}

#[test]
fn claude_code_takes_the_plugin() {
    installs_and_fires(&CLAUDE_CODE);
}

#[test]
fn copilot_takes_the_plugin() {
    installs_and_fires(&COPILOT);
}
