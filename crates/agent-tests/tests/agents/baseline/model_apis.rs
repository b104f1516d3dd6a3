//! The other model APIs of these CLIs.

use belay_agent_tests::agent_setups::{CODEX_BUILT_IN, COPILOT_CHAT, COPILOT_RESPONSES};
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Api, Kind, Recorded, Script};

use super::single_session::play;

fn requests(setup: &'static AgentSetup) -> Option<Vec<Recorded>> {
    let agent = Agent::or_skip(setup)?;
    let bench = Workbench::new().expect("a workbench");
    let script = Script::new().write(bench.path("a.txt"), "it's\n").read(bench.path("a.txt")).text("Done.");
    let (_, model) = play(&agent, &bench, script, "Write it");
    assert_eq!(bench.read("a.txt").expect("a file"), "it's\n");
    Some(model.requests())
}

#[test]
fn codex_tries_a_web_socket_and_falls_back() {
    let Some(requests) = requests(&CODEX_BUILT_IN) else { return };
    assert_eq!(requests[0].kind, Kind::WebSocket);
    assert!(requests.iter().filter(|request| matches!(request.kind, Kind::Turn(_))).count() == 3);
}

#[test]
fn copilot_speaks_chat_completions() {
    let Some(requests) = requests(&COPILOT_CHAT) else { return };
    assert!(requests.iter().all(|request| request.api == Some(Api::Chat)));
}

#[test]
fn copilot_speaks_responses() {
    let Some(requests) = requests(&COPILOT_RESPONSES) else { return };
    assert!(requests.iter().all(|request| request.api == Some(Api::Responses)));
}
