//! Degenerate output: the answer is ended while it streams, the model is told to stop, and the agent goes on.

use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{ContentEncoding, ExchangeEnd, Script, ScriptedModel};

use crate::rope::Rope;

/// Far more than anybody would wait for.
const TIMES: u64 = 10_000_000;

/// Model APIs compress their answers where agents say that they can read that. Codex does not say so.
fn packing(recipe: &AgentSetup) -> Option<ContentEncoding> {
    match recipe.name {
        "codex" => None,
        "claude-code" => Some(ContentEncoding::Brotli),
        "copilot" => Some(ContentEncoding::Zstd),
        _ => Some(ContentEncoding::Gzip),
    }
}

pub(crate) fn chanting_is_cut_off_and_the_agent_goes_on(recipe: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let script = Script::new().shell("echo first").repeat_text("I will fix it now. ", TIMES);
    let script = match packing(recipe) {
        Some(packing) => script.packed(packing),
        None => script,
    };
    let model = ScriptedModel::start(script.text("Back to work.")).expect("a model");
    let finished = rope.proxied(agent.run(&bench, &model.url(), "Fix it")).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 1), "{}", rope.story(&finished));
    assert!(finished.output().contains("Belay ended this answer here"), "{}", finished.output());
    assert!(finished.output().len() < 1_000_000, "the agent heard too much of it");
    let chant = model.turns().pop().expect("a turn");
    if let Some(packing) = packing(recipe) {
        assert!(chant.header("accept-encoding").is_some_and(|accepts| accepts.contains(packing.name())), "{chant:?}");
    }
    assert!(matches!(chant.fate, ExchangeEnd::ClientGone { .. }), "the model was told to stop: {:?}", chant.fate);
    let id = finished.session().expect("a session");
    let finished = rope.proxied(agent.run(&bench, &model.url(), "Go on").resume(&id)).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", rope.story(&finished));
    assert!(finished.output().contains("Back to work."), "{}", finished.output());
}

/// The input of a call that never ends: the call is not run, the person reads why, and nobody asks for it again and
/// again. Some agents end their turn there; others tell the model that its call was invalid and go on.
pub(crate) fn a_call_that_chants_is_cut_off_and_not_run(recipe: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let endless = format!("touch half-a-call; {}", "echo hello && ".repeat(100_000));
    let script = Script::new().shell("echo first").shell(endless).text("Back to work.").text("Too much.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = rope.proxied(agent.run(&bench, &model.url(), "Fix it")).finish().expect("an end");
    assert_eq!(finished.code, Some(0), "{}", rope.story(&finished));
    assert!(finished.output().contains("Belay ended this answer here"), "{}", finished.tail());
    assert!(bench.read("half-a-call").is_err(), "half a call was run: {}", finished.tail());
    let turns = model.turns();
    assert!(matches!(turns[1].fate, ExchangeEnd::ClientGone { .. }), "the model was told to stop: {:?}", turns[1].fate);
    if model.remaining() == 2 {
        let id = finished.session().expect("a session");
        let finished = rope.proxied(agent.run(&bench, &model.url(), "Go on").resume(&id)).finish().expect("an end");
        assert_eq!(finished.code, Some(0), "{}", rope.story(&finished));
        assert!(finished.output().contains("Back to work."), "{}", finished.tail());
    } else {
        assert!(finished.output().contains("Back to work."), "{}", finished.tail());
    }
    assert_eq!(model.remaining(), 1, "it was asked once more, and not again: {}", rope.story(&finished));
}
