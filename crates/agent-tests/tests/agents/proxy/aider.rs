//! aider has neither tools nor hooks; its requests pass the proxy.

use belay_agent_tests::agent_setups::AIDER;
use belay_agent_tests::{Agent, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use super::belay::Belay;

/// The user's own `OPENAI_API_BASE` becomes the upstream; the path is the one that aider would have requested.
#[test]
fn aider_reaches_its_own_model() {
    let Some(agent) = Agent::or_skip(&AIDER) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::configure(&agent, &bench);
    // aider's requests offer no tools.
    let script = Script { toolless: true, ..Script::new().text("Nothing to change.").repeat(3) };
    let model = ScriptedModel::start(script).expect("a model");
    let finished = belay.proxied(agent.run(&bench, &model.url(), "Say hello")).finish().expect("an end");
    assert_eq!(finished.code, Some(0), "{}", belay.report(&finished));
    assert!(finished.output().contains("Nothing to change."), "{}", belay.report(&finished));
    let paths: Vec<String> = model.requests().iter().map(|request| request.path.clone()).collect();
    assert!(!paths.is_empty() && paths.iter().all(|path| path == "/v1/chat/completions"), "{paths:?}");
    let session = belay.session();
    assert_eq!(session["agent"], "aider", "{session}");
}
