//! Two equal runs must be equal after normalisation, else no comparison with Belay would prove anything.

use belay_agent_tests::compare::Story;
use belay_agent_tests::{Agent, Recipe, Workbench};
use belay_scripted_model::Script;

use crate::working::play;

fn story(agent: &Agent, bench: &Workbench) -> Story {
    bench.reset().expect("a fresh bench");
    let script = Script::new()
        .shell("echo hello")
        .saying("I begin.")
        .write(bench.path("a.txt"), "one\n")
        .shell("cat no-such-file")
        .read(bench.path("a.txt"))
        .text("Done.");
    let (finished, model) = play(agent, bench, script, "Do it");
    Story::of(bench, &model.requests(), &finished.transcripts)
}

pub(crate) fn tells_the_same_story_twice(recipe: &'static Recipe) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let first = story(&agent, &bench);
    let differences = first.differences(&story(&agent, &bench));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
