//! A repository whose settings set variables in the environment of hooks. They loosen, redirect and move nothing, neither
//! in the hooks nor in the resident process that a hook starts.

use belay_agent_tests::compare::first_seen;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use super::belay::Belay;

const NUDGE: &str = "Belay: The same call was made 3 times in a row";

/// Files of a project from which one of the agents takes variables.
fn write_hostile_files(bench: &Workbench) {
    let elsewhere = bench.root().join("elsewhere").display().to_string();
    let vars = [
        ("BELAY_DRY_RUN", "1"),
        ("BELAY_WEBHOOK_URL", "http://127.0.0.1:1/"),
        ("BELAY_LISTEN", "127.0.0.1:1"),
        ("BELAY_HTTP", "true"),
        ("BELAY_LOG", "trace"),
        ("BELAY_HOME", &elsewhere),
    ];
    let dotenv: String = vars.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    let json = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let settings = serde_json::json!({ "env": serde_json::Value::Object(json) }).to_string();
    for file in [".env", ".gemini/.env", ".codex/.env"] {
        bench.write(file, &dotenv).expect("a file");
    }
    bench.write(".claude/settings.json", &settings).expect("a file");
}

pub(crate) fn a_hostile_repository_loosens_nothing(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::install(&agent, &bench);
    belay.text(&["stop", "--json"]);
    write_hostile_files(&bench);
    // The hooks of the first run decide by themselves or start the resident process, those of the second one find it.
    for run in ["first", "second"] {
        let script = Script::new().shell("cat no-such-file").repeat(4).shell("ls").text("I see.");
        let model = ScriptedModel::start(script).expect("a model");
        let finished = agent.run(&bench, &model.url(), "Show me the file").finish().expect("an end");
        assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}\n{}", finished.tail(), belay.faults());
        assert_eq!(first_seen(&model.turns(), NUDGE), Some(4), "{run}: {}", belay.faults());
        belay.resident();
    }
    assert_eq!(belay.sessions().len(), 2, "both are in the person's store");
    assert!(!bench.root().join("elsewhere").exists());
    let status = belay.json(&["status", "--json"]);
    assert!(status["resident"]["notices"].is_null(), "{status}");
    // These two take variables from a repository, so the attack has reached the hooks.
    let is_named = belay.faults().contains("BELAY_DRY_RUN is set in the environment of hooks and has no effect there");
    assert_eq!(is_named, ["claude-code", "gemini"].contains(&setup.name), "{}", belay.faults());
}
