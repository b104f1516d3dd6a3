//! Parallel conversations: two sessions in one directory, and an agent with a sub-agent.

use belay_agent_tests::agent_setups::{CLAUDE_CODE, CODEX};
use belay_agent_tests::compare::contains;
use belay_agent_tests::scenarios::{ParallelSession, SCENARIO_TIMEOUT, run_parallel};
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Action, Script, ScriptedModel};
use serde_json::json;

pub(crate) fn two_sessions_share_a_dir(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let script = |name: &str| Script::new().shell(format!("echo {name}")).hold_after(0).text("Done.");
    let sides = run_parallel(&agent, &bench, script).expect("an end");
    for ParallelSession { name, model, finished } in &sides {
        assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.output());
        let results = model.turns()[1].tool_results();
        assert!(results.len() == 1 && results[0].text.contains(name), "{results:?}");
    }
    assert_ne!(sides[0].finished.session(), sides[1].finished.session());
}

/// Runs the parent until it has a child, then the child to its end, then the last turn of the parent.
fn with_a_child(setup: &'static AgentSetup, spawn: Action, child_header: &str) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let child = Script::new().shell("echo from-the-child").text("The child is done.");
    let script = Script::new().calls([spawn]).text("The parent is done.").hold_after(0).branch(child_header, child);
    let model = ScriptedModel::start(script).expect("a model");
    let running = agent.run(&bench, &model.url(), "Delegate it").start().expect("a start");
    let turns = model.wait_for_turns(4, SCENARIO_TIMEOUT).expect("two turns of the parent, two of the child");
    model.release();
    let finished = running.finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.output());
    let (children, parents): (Vec<_>, Vec<_>) = turns.iter().partition(|turn| turn.header(child_header).is_some());
    assert_eq!((parents.len(), children.len()), (2, 2));
    assert!(contains(children[1], "from-the-child"));
    assert!(!contains(parents[1], "from-the-child"));
    assert_eq!(finished.transcripts.len(), 2);
}

#[test]
fn claude_code_has_a_sub_agent() {
    let spawn = json!({"description": "A task", "prompt": "Do it for me", "run_in_background": false});
    with_a_child(&CLAUDE_CODE, Action::call("Agent", spawn), "x-claude-code-agent-id");
}

/// Codex lists the tool only after a search, but accepts a call with its namespace.
#[test]
fn codex_has_a_sub_agent() {
    let spawn = Action::Call {
        name: "spawn_agent".into(),
        args: json!({"message": "Do it for me"}),
        namespace: Some("multi_agent_v1".into()),
    };
    with_a_child(&CODEX, spawn, "x-openai-subagent");
}
