//! Repetitive output: the response is cut while it streams, the upstream connection is closed, and the agent continues.

use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{ContentEncoding, ExchangeEnd, Script, ScriptedModel};

use super::belay::Belay;

/// Practically endless.
const REPETITIONS: u64 = 10_000_000;

/// Model APIs compress responses for agents that accept it. Codex does not.
fn encoding(setup: &AgentSetup) -> Option<ContentEncoding> {
    match setup.name {
        "codex" => None,
        "claude-code" => Some(ContentEncoding::Brotli),
        "copilot" => Some(ContentEncoding::Zstd),
        _ => Some(ContentEncoding::Gzip),
    }
}

pub(crate) fn repetitive_output_is_cut_and_the_agent_continues(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::configure(&agent, &bench);
    let script = Script::new().shell("echo first").repeat_text("I will fix it now. ", REPETITIONS);
    let script = match encoding(setup) {
        Some(encoding) => script.packed(encoding),
        None => script,
    };
    let model = ScriptedModel::start(script.text("Back to work.")).expect("a model");
    let finished = belay.proxied(agent.run(&bench, &model.url(), "Fix it")).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 1), "{}", belay.report(&finished));
    assert!(finished.output().contains("Belay ended this response here"), "{}", finished.output());
    assert!(finished.output().len() < 1_000_000, "the agent received too much of it");
    let cut = model.turns().pop().expect("a turn");
    if let Some(encoding) = encoding(setup) {
        assert!(cut.header("accept-encoding").is_some_and(|accepts| accepts.contains(encoding.name())), "{cut:?}");
    }
    assert!(matches!(cut.fate, ExchangeEnd::ClientGone { .. }), "the upstream connection was closed: {:?}", cut.fate);
    let id = finished.session().expect("a session");
    let finished = belay.proxied(agent.run(&bench, &model.url(), "Go on").resume(&id)).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", belay.report(&finished));
    assert!(finished.output().contains("Back to work."), "{}", finished.output());
}

/// A call with endless input: the call does not run, the output shows the reason, and the agent does not keep retrying.
/// Some agents end their turn there; others report an invalid call to the model and continue.
pub(crate) fn a_repetitive_call_is_cut_and_not_run(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::configure(&agent, &bench);
    let endless = format!("touch half-a-call; {}", "echo hello && ".repeat(100_000));
    let script = Script::new().shell("echo first").shell(endless).text("Back to work.").text("Too much.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = belay.proxied(agent.run(&bench, &model.url(), "Fix it")).finish().expect("an end");
    assert_eq!(finished.code, Some(0), "{}", belay.report(&finished));
    assert!(finished.output().contains("Belay ended this response here"), "{}", finished.tail());
    assert!(bench.read("half-a-call").is_err(), "a partial call was run: {}", finished.tail());
    let turns = model.turns();
    assert!(
        matches!(turns[1].fate, ExchangeEnd::ClientGone { .. }),
        "the upstream connection was closed: {:?}",
        turns[1].fate
    );
    if model.remaining() == 2 {
        let id = finished.session().expect("a session");
        let finished = belay.proxied(agent.run(&bench, &model.url(), "Go on").resume(&id)).finish().expect("an end");
        assert_eq!(finished.code, Some(0), "{}", belay.report(&finished));
        assert!(finished.output().contains("Back to work."), "{}", finished.tail());
    } else {
        assert!(finished.output().contains("Back to work."), "{}", finished.tail());
    }
    assert_eq!(model.remaining(), 1, "one more request, and no other: {}", belay.report(&finished));
}
