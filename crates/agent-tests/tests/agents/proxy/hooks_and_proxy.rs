//! Hooks and proxy together, the default of `belay run`: one session, each call counted once, and the user's
//! configuration unchanged.

use std::collections::BTreeSet;

use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Kind, Script, ScriptedModel, Usage};

use super::belay::{Belay, number};

pub(crate) fn hooks_and_proxy_are_one_session(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::configure(&agent, &bench);
    let usage = Usage { input: 900, output: 100, ..Usage::default() };
    let script = Script::new().shell("echo one").usage(usage).shell("echo two").usage(usage).text("Done.").usage(usage);
    let model = ScriptedModel::start(script).expect("a model");
    let run = agent.run(&bench, &model.url(), "Take two steps").via_proxy(&belay.program, &["run"]);
    let finished = run.finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", belay.report(&finished));
    let session = belay.session();
    assert_eq!((number(&session, "calls"), number(&session, "human_turns")), (2, 1), "{}", belay.report(&finished));
    // Each response is counted once. Titles and summaries are requests, too, and cost a little more.
    let auxiliary = model.requests().iter().filter(|request| request.kind == Kind::Aside).count() as u64;
    let (tokens, turns) = (number(&session, "tokens"), 3 * usage.total());
    assert!((turns..=turns + auxiliary * 1100).contains(&tokens), "{tokens} tokens: {}", belay.report(&finished));
    let events = belay.events();
    let sources: BTreeSet<&str> = events.iter().filter_map(|event| event["source"].as_str()).collect();
    assert!(sources.contains("hook") && sources.contains("proxy"), "{sources:?}\n{}", belay.report(&finished));
    for (file, content) in setup.files {
        let now = std::fs::read_to_string(bench.home().join(file)).expect("a file");
        // Agents write to their own files; the user's lines are still in them.
        assert!(now.contains(content.trim_end()) || !now.contains("belay"), "{file} was changed: {now}");
    }
    let left: Vec<_> = std::fs::read_dir(bench.home().join(".local/state/belay/runs")).expect("a directory").collect();
    assert!(left.is_empty(), "the run left something behind: {left:?}");
}
