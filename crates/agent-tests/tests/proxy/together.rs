//! Hooks and proxy at once, as `belay run` does it unless told otherwise: one session, everything counted once, and
//! nothing of the user's configuration touched.

use std::collections::BTreeSet;

use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

use crate::rope::{Rope, number};

pub(crate) fn hooks_and_proxy_are_one_session(recipe: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let script = Script::new().shell("echo one").shell("echo two").text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let run = agent.run(&bench, &model.url(), "Take two steps").via_proxy(&rope.belay, &["run"]);
    let finished = run.finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", rope.story(&finished));
    let session = rope.session();
    assert_eq!((number(&session, "calls"), number(&session, "human_turns")), (2, 1), "{}", rope.story(&finished));
    let told = rope.told();
    let sources: BTreeSet<&str> = told.iter().filter_map(|event| event["source"].as_str()).collect();
    assert!(sources.contains("hook") && sources.contains("proxy"), "{sources:?}\n{}", rope.story(&finished));
    for (file, content) in recipe.files {
        let now = std::fs::read_to_string(bench.home().join(file)).expect("a file");
        // Agents write to their own files; what the user wrote is still in it.
        assert!(now.contains(content.trim_end()) || !now.contains("belay"), "{file} was changed: {now}");
    }
    let left: Vec<_> = std::fs::read_dir(bench.home().join(".local/state/belay/runs")).expect("a folder").collect();
    assert!(left.is_empty(), "the run left something behind: {left:?}");
}
