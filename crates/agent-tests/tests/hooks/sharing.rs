//! Two conversations in one folder, four calls in one turn: each call is recorded once, where it belongs.

use belay_agent_tests::scenarios::{ParallelSession, side_by_side};
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Action, Script};

use crate::rope::{Rope, number};

pub(crate) fn two_sessions_and_four_calls_at_once_do_not_mix(recipe: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let script = |word: &str| {
        let four = (0..4).map(|number| Action::shell(format!("echo {word} {number}")));
        Script::new().calls(four).hold_after(0).shell(format!("echo {word} once more")).text("Done.")
    };
    let sides = side_by_side(&agent, &bench, script).expect("an end");
    assert_eq!(rope.sessions().len(), 2);
    for ParallelSession { word, model, finished } in &sides {
        assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.tail());
        let id = finished.session().expect("a session");
        let sessions = rope.sessions();
        let session = sessions.iter().find(|session| session["id"] == *id).expect("it is known");
        let counted = ["calls", "nudges", "pauses"].map(|counter| number(session, counter));
        assert_eq!(counted, [5, 0, 0], "{session}");
        let events = rope.events(&id);
        let told = |kind: &str| events.iter().filter(|event| event["kind"] == kind).cloned().collect::<Vec<_>>();
        let (called, returned) = (told("tool_called"), told("tool_returned"));
        assert_eq!((called.len(), returned.len()), (5, 5), "{events:?}");
        for what in ["0", "1", "2", "3", "once more"] {
            let words = format!("{word} {what}");
            let times =
                |events: &[serde_json::Value]| events.iter().filter(|event| event.to_string().contains(&words)).count();
            assert_eq!((times(&called), times(&returned)), (1, 1), "{words}: {events:?}");
        }
    }
    assert_eq!(rope.faults(), "");
}
