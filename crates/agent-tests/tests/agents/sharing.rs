//! Several conversations at once: two sessions in one folder, and an agent with a sub-agent.

use std::time::Duration;

use belay_agent_tests::compare::says;
use belay_agent_tests::recipe::{CLAUDE_CODE, CODEX};
use belay_agent_tests::{Agent, Recipe, Workbench};
use belay_scripted_model::{Action, Script, ScriptedModel};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) fn two_sessions_share_a_folder(recipe: &'static Recipe) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let work = [("left", 1), ("right", 2)].map(|(word, seed)| {
        // Neither ends before both have begun.
        let script = Script::new().seed(seed).shell(format!("echo {word}")).hold_after(0).text("Done.");
        (word, ScriptedModel::start(script).expect("a model"))
    });
    let running = work
        .each_ref()
        .map(|(word, model)| agent.run(&bench, &model.url(), &format!("Say {word}")).start().expect("a start"));
    for (_, model) in &work {
        model.wait_for_turns(1, PATIENCE).expect("a turn");
    }
    work.iter().for_each(|(_, model)| model.release());
    let finished = running.map(|running| running.finish().expect("an end"));
    for ((word, model), finished) in work.iter().zip(&finished) {
        assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.output());
        let results = model.turns()[1].tool_results();
        assert!(results.len() == 1 && results[0].text.contains(word), "{results:?}");
    }
    assert_ne!(finished[0].session(), finished[1].session());
}

/// Plays the parent until it has a child, then the child to its end, then the parent's last word.
fn with_a_child(recipe: &'static Recipe, spawn: Action, child_header: &str) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let child = Script::new().shell("echo from-the-child").text("The child is done.");
    let script = Script::new().calls([spawn]).text("The parent is done.").hold_after(0).branch(child_header, child);
    let model = ScriptedModel::start(script).expect("a model");
    let running = agent.run(&bench, &model.url(), "Let somebody else do it").start().expect("a start");
    let turns = model.wait_for_turns(4, PATIENCE).expect("two turns of the parent, two of the child");
    model.release();
    let finished = running.finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.output());
    let (children, parents): (Vec<_>, Vec<_>) = turns.iter().partition(|turn| turn.header(child_header).is_some());
    assert_eq!((parents.len(), children.len()), (2, 2));
    assert!(says(children[1], "from-the-child"));
    assert!(!says(parents[1], "from-the-child"));
    assert_eq!(finished.transcripts.len(), 2);
}

#[test]
fn claude_code_has_a_sub_agent() {
    let spawn = json!({"description": "A task", "prompt": "Do it for me", "run_in_background": false});
    with_a_child(&CLAUDE_CODE, Action::call("Agent", spawn), "x-claude-code-agent-id");
}

/// Codex offers the tool only to those who search for it, but takes a call that names its group.
#[test]
fn codex_has_a_sub_agent() {
    let spawn = Action::Call {
        name: "spawn_agent".into(),
        args: json!({"message": "Do it for me"}),
        namespace: Some("multi_agent_v1".into()),
    };
    with_a_child(&CODEX, spawn, "x-openai-subagent");
}
