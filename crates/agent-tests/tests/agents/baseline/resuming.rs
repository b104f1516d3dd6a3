//! A session that continues after the CLI has exited.

use belay_agent_tests::compare::{contains, first_seen};
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};

pub(crate) fn resumes_a_session(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let script = Script::new().shell("echo step-one").text("So far so good.").text("And that is all.");
    let model = ScriptedModel::start(script).expect("a model");
    let first = agent.run(&bench, &model.url(), "Take the first step").finish().expect("an end");
    assert_eq!((first.code, model.remaining()), (Some(0), 1), "{}", first.output());
    let session = first.session().unwrap_or_else(|| panic!("no session in {}", first.output()));
    let second = agent.run(&bench, &model.url(), "Now the second").resume(&session).finish().expect("an end");
    assert_eq!((second.code, model.remaining()), (Some(0), 0), "{}", second.output());
    assert_eq!(second.session().as_deref(), Some(session.as_str()));
    assert!(second.output().contains("And that is all."), "{}", second.output());
    let turns = model.turns();
    assert_eq!(first_seen(&turns, "Now the second"), Some(2));
    for text in ["Take the first step", "step-one", "So far so good."] {
        assert!(contains(&turns[2], text), "{text:?} is missing");
    }
}
