//! A used-up budget stops the agent before the next request, and a person can raise it.

use belay_agent_tests::compare::first_seen;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel, Usage};

use super::belay::{Belay, number};

pub(crate) fn a_budget_stops_it_before_the_next_request(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let belay = Belay::configure(&agent, &bench);
    let mut script = Script::new();
    for step in 1..=6 {
        script = script.shell(format!("echo step-{step}")).usage(Usage { input: 900, output: 100, ..Usage::default() });
    }
    let model = ScriptedModel::start(script.text("Done.")).expect("a model");
    let run = agent.run(&bench, &model.url(), "Take six steps");
    let run = run.via_proxy(&belay.program, &["run", "--no-hooks", "--budget", "3k"]);
    let finished = run.finish().expect("an end");
    let session = belay.session();
    assert_eq!(session["state"], "paused", "{}", belay.report(&finished));
    assert_eq!(session["budget"]["tokens"], 3000, "{session}");
    // No request after the one that used it up; some agents also request a title.
    assert!((3000..4000).contains(&number(&session, "tokens")), "{}", belay.report(&finished));
    let asked = model.turns().len();
    assert!((2..=3).contains(&asked), "{asked}: {}", belay.report(&finished));
    assert!(finished.output().contains("budget"), "the output shows the reason: {}", finished.output());
    assert_ne!(finished.code, Some(0));
    // A person raises it, and the session continues.
    let raised = belay.json(&["budget", &belay.name(), "1M", "--resume"]);
    assert_eq!(raised["sessions"][0]["budget"]["tokens"], 1_000_000, "{raised}");
    assert_eq!(raised["sessions"][0]["state"], "active", "{raised}");
    let id = finished.session().expect("a session");
    let finished = belay.proxied(agent.run(&bench, &model.url(), "Go on").resume(&id)).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", belay.report(&finished));
    assert_eq!(first_seen(&model.turns()[asked..], "step-1"), Some(0), "the conversation is the same");
    assert!(number(&belay.session(), "tokens") >= 6000);
}
