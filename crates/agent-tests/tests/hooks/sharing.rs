//! Two conversations in one folder, four calls in one turn: each call is recorded once, where it belongs.

use belay_agent_tests::{Agent, Recipe, Workbench};
use belay_scripted_model::{Action, Script, ScriptedModel};

use crate::rope::{PATIENCE, Rope, number};

pub(crate) fn two_sessions_and_four_calls_at_once_do_not_mix(recipe: &'static Recipe) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let work = [("left", 1), ("right", 2)].map(|(word, seed)| {
        let four = (0..4).map(|number| Action::shell(format!("echo {word} {number}")));
        // Neither ends before both have made their calls.
        let script =
            Script::new().seed(seed).calls(four).hold_after(0).shell(format!("echo {word} once more")).text("Done.");
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
    for ((_, model), finished) in work.iter().zip(&finished) {
        assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.tail());
    }
    let sessions = rope.sessions();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    for session in &sessions {
        assert_eq!(number(session, "calls"), 5, "{session}");
        let id = session["session"].as_str().expect("a name");
        let told = rope.belay_text(&["events", "tail", id, "-n", "100", "--json"]);
        assert_eq!(told.matches("\"tool_returned\"").count(), 5, "{told}");
        assert_eq!(number(session, "nudges"), 0);
    }
}
