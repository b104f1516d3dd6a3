//! A budget: used up, it stops the agent before the next request, and a person can raise it.

use belay_agent_tests::compare::first_seen;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel, Usage};

use crate::rope::{Rope, number};

pub(crate) fn a_budget_stops_it_before_the_next_request(recipe: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(recipe) else { return };
    let bench = Workbench::new().expect("a bench");
    let rope = Rope::tie(&agent, &bench);
    let mut script = Script::new();
    for step in 1..=6 {
        script = script.shell(format!("echo step-{step}")).usage(Usage { input: 900, output: 100, ..Usage::default() });
    }
    let model = ScriptedModel::start(script.text("Done.")).expect("a model");
    let run = agent.run(&bench, &model.url(), "Take six steps");
    let run = run.via_proxy(&rope.belay, &["run", "--no-hooks", "--budget", "3k"]);
    let finished = run.finish().expect("an end");
    let session = rope.session();
    assert_eq!(session["state"], "paused", "{}", rope.story(&finished));
    assert_eq!(session["budget"]["tokens"], 3000, "{session}");
    // Not one request more than it took to use it up; some agents also ask for a title.
    assert!((3000..4000).contains(&number(&session, "tokens")), "{}", rope.story(&finished));
    let asked = model.turns().len();
    assert!((2..=3).contains(&asked), "{asked}: {}", rope.story(&finished));
    assert!(finished.output().contains("budget"), "the person reads why: {}", finished.output());
    assert_ne!(finished.code, Some(0));
    // A person raises it, and it goes on where it was.
    let raised = rope.belay(&["budget", &rope.name(), "1M", "--resume"]);
    assert_eq!(raised["sessions"][0]["budget"]["tokens"], 1_000_000, "{raised}");
    assert_eq!(raised["sessions"][0]["state"], "active", "{raised}");
    let id = finished.session().expect("a session");
    let finished = rope.proxied(agent.run(&bench, &model.url(), "Go on").resume(&id)).finish().expect("an end");
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", rope.story(&finished));
    assert_eq!(first_seen(&model.turns()[asked..], "step-1"), Some(0), "the conversation is the same");
    assert!(number(&rope.session(), "tokens") >= 6000);
}
