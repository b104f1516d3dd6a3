//! `belay exec` with the real CLIs: access, answers, sessions.

use std::process::Command;

use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};
use serde_json::Value;

use crate::proxy::belay::Belay;

belay_agent_tests::for_each_agent! {
    scenarios::a_run_works_answers_and_is_continued,
    scenarios::a_reader_changes_nothing,
}

belay_agent_tests::for_each_agent! {
    qwen QWEN: scenarios::a_run_works_answers_and_is_continued, scenarios::a_reader_changes_nothing
}

/// One run: its events, the last of which is its result.
struct Ran {
    code: Option<i32>,
    events: Vec<Value>,
    stderr: String,
}

impl Ran {
    fn result(&self) -> &Value {
        &self.events.last().unwrap_or_else(|| panic!("no result: {}", self.stderr))["result"]
    }
}

/// Runs `belay exec` with the model at `url`.
fn exec(belay: &Belay<'_>, bench: &Workbench, agent: &Agent, url: &str, args: &[&str]) -> Ran {
    let mut command: Command = bench.command(&belay.program);
    let setup = agent.setup;
    command.envs(setup.env.iter().map(|(name, value)| (name, value.replace("{url}", url))));
    command.args(["exec", "--json"]).args(args).arg(&agent.program).arg("Fix the tests").arg("--");
    // What the setup says about the model is needed here, too.
    let about_model = setup.start.windows(2).filter(|pair| ["-c", "-m"].contains(&pair[0])).flatten();
    command.args(about_model.map(|arg| arg.replace("{url}", url)));
    let output = command.output().expect("belay runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ran {
        code: output.status.code(),
        events: text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

mod scenarios {
    use super::*;

    pub(super) fn a_run_works_answers_and_is_continued(setup: &'static AgentSetup) {
        let Some(agent) = Agent::or_skip(setup) else { return };
        let bench = Workbench::new().expect("a workbench");
        let belay = Belay::configure(&agent, &bench);
        let script = Script::new().shell("echo made > made.txt").text("All done.").text("Still done.");
        let model = ScriptedModel::start(script).expect("a model");
        let ran = exec(&belay, &bench, &agent, &model.url(), &["--access", "workspace"]);
        let result = ran.result();
        assert_eq!((result["result"].as_str(), ran.code), (Some("finished"), Some(0)), "{result} {}", ran.stderr);
        assert_eq!(result["answer"], "All done.", "{result}");
        assert_eq!(bench.read("made.txt").expect("a file"), "made\n");
        let calls = ran.events.iter().filter(|event| event["type"] == "tool_call");
        assert!(calls.clone().any(|call| call["input"].as_str().is_some_and(|input| input.contains("made.txt"))));
        let session = result["session"].as_str().expect("a session").to_owned();
        assert_eq!(belay.name(), session, "the run is a supervised session");
        let id = session.split_once(':').expect("an id").1;
        let again = exec(&belay, &bench, &agent, &model.url(), &["--resume", id]);
        assert_eq!(again.result()["answer"], "Still done.", "{} {}", again.result(), again.stderr);
        assert_eq!(belay.name(), session, "the same session");
    }

    pub(super) fn a_reader_changes_nothing(setup: &'static AgentSetup) {
        let Some(agent) = Agent::or_skip(setup) else { return };
        let bench = Workbench::new().expect("a workbench");
        let belay = Belay::configure(&agent, &bench);
        let script = Script::new().shell("echo made > made.txt").text("I could not.");
        let model = ScriptedModel::start(script).expect("a model");
        let ran = exec(&belay, &bench, &agent, &model.url(), &["--access", "read-only"]);
        // Some agents refuse the call; others do not offer the tool, and the scripted model says so.
        let (answer, last) = (ran.result()["answer"].to_string(), ran.result()["last_output"].to_string());
        let has_no_tool =
            [&answer, &last].iter().any(|text| text.contains("cannot run a command with the tools offered"));
        assert!(answer.contains("I could not.") || has_no_tool, "{} {}", ran.result(), ran.stderr);
        assert!(bench.read("made.txt").is_err(), "{:?}", ran.events);
    }
}
