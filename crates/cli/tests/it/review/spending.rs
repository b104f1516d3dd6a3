//! What a task costs, and what stops it.

use belay_scripted_model::{Script, ScriptedModel};

use super::project::{APPROVES_LATER, Project};
use crate::run::ASK;

#[test]
fn a_model_without_a_price_counts_against_a_budget_in_dollars() {
    let model = ScriptedModel::start(Script::new().without_tools().text("One.").text("Two.").text("Three.")).unwrap();
    let project = Project::with_var("OPENAI_BASE_URL", &format!("{}/v1", model.url()));
    // The model has no price.
    let ask = project.world.write("ask", ASK).display().to_string();
    let builder = project.program("builder", &format!("bash '{ask}'; echo \"round $n\" >> notes.txt"));
    let reviewer = project.program("reviewer", APPROVES_LATER);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--budget", "0.01usd"]);
    assert_eq!((ended.code, ended.status()), (Some(5), "The budget is used up."), "{ended:?}");
    assert!(ended.view["cost_micros"].as_u64() >= Some(10_000), "{}", ended.view["cost_micros"]);
    assert_eq!((model.turns().len(), project.runs("builder")), (1, 1));
    // With more money it goes on.
    project.ok(&["resume", ended.id(), "--budget", "1usd"]);
    let ended = project.watch(ended.id());
    assert_eq!((ended.code, ended.status()), (Some(0), "Approved by reviewer after 2 rounds."), "{ended:?}");
}
