//! A session that ignores its nudges is paused, and stays paused until a person decides.

use belay_agent_tests::compare::{contains, first_seen};
use belay_agent_tests::{Agent, AgentSetup, Finished, Workbench};
use belay_scripted_model::{Recorded, Script, ScriptedModel};

use super::belay::{Belay, number};

/// Resumes the session with a model that calls one command, and returns the requests that reached the model.
fn resume(agent: &Agent, bench: &Workbench, id: &str, seed: u64) -> (Finished, Vec<Recorded>) {
    let script = Script::new().seed(seed).shell("echo on-the-way-again").text("Done.");
    let model = ScriptedModel::start(script).expect("a model");
    let finished = agent.run(bench, &model.url(), "Go on").resume(id).finish().expect("an end");
    (finished, model.turns())
}

pub(crate) fn ignored_nudges_end_in_a_pause_that_a_resume_lifts_and_a_kill_that_it_does_not(
    setup: &'static AgentSetup,
) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::install(&agent, &bench);

    // Three calls have the same result, two get a nudge, the sixth is held.
    let looping = ScriptedModel::start(Script::new().shell("cat no-such-file").repeat(30)).expect("a model");
    let finished = agent.run(&bench, &looping.url(), "Show me the file").finish().expect("an end");
    let session = belay.session();
    assert_eq!(session["state"], "paused", "{session}\n{}", finished.tail());
    assert_eq!(looping.turns().len(), 6, "a paused agent sends no request: {session}\n{}", finished.tail());
    let counted = ["calls", "nudges", "pauses"].map(|counter| number(&session, counter));
    assert_eq!(counted, [6, 2, 1], "{session}");
    let id = finished.session().expect("a session");
    // A UUID is shortened; other ids are shown with their agent.
    let ways_out = [format!("belay resume {}", &id[..8]), format!("belay resume {}:{id}", setup.name)];
    let shows_way_out = |finished: &Finished| ways_out.iter().any(|way_out| finished.output().contains(way_out));
    assert!(shows_way_out(&finished), "the output shows how to resume: {}", finished.tail());

    // A paused session sends nothing to the model and shows the reason.
    let (finished, asked) = resume(&agent, &bench, &id, 2);
    assert_eq!(asked.len(), 0, "a paused session sends no request: {}", finished.tail());
    let shown = shows_way_out(&finished);
    assert_eq!(shown, setup.tells_refused_prompts, "the output shows how to resume: {}", finished.tail());
    assert_eq!(belay.session()["state"], "paused");

    // A person resumes it: the same conversation with its full history.
    let lifted = belay.json(&["resume", &id, "--json"]);
    assert_eq!(lifted["session"]["state"], "active", "{lifted}");
    let (finished, asked) = resume(&agent, &bench, &id, 3);
    assert_eq!((finished.code, asked.len()), (Some(0), 2), "{}", finished.tail());
    assert!(contains(&asked[0], "Show me the file"), "the history is missing");
    assert_eq!(first_seen(&asked, "on-the-way-again"), Some(1));
    assert_eq!(finished.session().as_ref(), Some(&id));

    // A resume does not lift a kill.
    belay.json(&["kill", &id, "--json"]);
    let refused = belay.refused(&["resume", &id]);
    assert!(refused.contains("is killed and cannot be resumed"), "{refused}");
    assert_eq!(belay.session()["state"], "killed");
    let (finished, asked) = resume(&agent, &bench, &id, 4);
    assert_eq!(asked.len(), 0, "a killed session sends no request: {}", finished.tail());
    let shown = finished.output().contains("A person killed this session. Start a new one");
    assert_eq!(shown, setup.tells_refused_prompts, "{}", finished.tail());
    assert_eq!(belay.faults(), "");
}
