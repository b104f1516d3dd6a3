//! Two conversations in one directory, four calls in one turn: each call is recorded once, in its own session.

use belay_agent_tests::scenarios::{ParallelSession, run_parallel};
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Action, Script};

use super::belay::{Belay, number};

pub(crate) fn parallel_sessions_and_calls_do_not_mix(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::install(&agent, &bench);
    let script = |name: &str| {
        let four = (0..4).map(|number| Action::shell(format!("echo {name} {number}")));
        Script::new().calls(four).hold_after(0).shell(format!("echo {name} once more")).text("Done.")
    };
    let sides = run_parallel(&agent, &bench, script).expect("an end");
    assert_eq!(belay.sessions().len(), 2);
    for ParallelSession { name, model, finished } in &sides {
        assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.tail());
        let id = finished.session().expect("a session");
        let sessions = belay.sessions();
        let session = sessions.iter().find(|session| session["id"] == *id).expect("it is known");
        let counted = ["calls", "nudges", "pauses"].map(|counter| number(session, counter));
        assert_eq!(counted, [5, 0, 0], "{session}");
        let events = belay.events(&id);
        let reported = |kind: &str| events.iter().filter(|event| event["kind"] == kind).cloned().collect::<Vec<_>>();
        let (called, returned) = (reported("tool_called"), reported("tool_returned"));
        assert_eq!((called.len(), returned.len()), (5, 5), "{events:?}");
        for what in ["0", "1", "2", "3", "once more"] {
            let words = format!("{name} {what}");
            let times =
                |events: &[serde_json::Value]| events.iter().filter(|event| event.to_string().contains(&words)).count();
            assert_eq!((times(&called), times(&returned)), (1, 1), "{words}: {events:?}");
        }
    }
    assert_eq!(belay.faults(), "");
}
