//! A task from its first build to the merge.

use belay_agent_tests::compare::contains;
use belay_agent_tests::{Agent, AgentSetup, Workbench};
use belay_scripted_model::{Script, ScriptedModel};
use serde_json::Value;

use super::tasks::{GATE, Reviews, TASK, Verdict, forbidden_edit, role};

const CLAIM: &str = "the README does not mention the greeting";

/// Round 1 fails its gate, round 2 passes it and leaves a defect for the reviewer, round 3 fixes that.
pub(crate) fn a_gate_and_a_reviewer_are_satisfied_after_three_rounds(
    builder: &'static AgentSetup,
    reviewer: &'static AgentSetup,
) {
    let (Some(builder), Some(reviewer)) = (Agent::or_skip(builder), Agent::or_skip(reviewer)) else { return };
    let bench = Workbench::new().expect("a workbench");
    let built = Script::new()
        .write("greeting.txt", "hello\n")
        .text("The greeting is written.")
        .read("greeting.txt")
        .edit("greeting.txt", "hello", "hello world")
        .text("The greeting is complete.")
        .shell("echo 'See greeting.txt.' >> README.md")
        .text("The README mentions it.");
    let built = ScriptedModel::start(built).expect("a model");
    let (issue, done) = (Verdict { issue: Some(CLAIM) }, Verdict { issue: None });
    let script = Script::new().seed(1).read("greeting.txt").calls([forbidden_edit(&reviewer, "greeting.txt")]);
    let script = issue.script(&reviewer, script);
    let script = done.script(&reviewer, script);
    let script = done.script(&reviewer, script);
    let reviewed = ScriptedModel::start(script).expect("a model");
    let reviews = Reviews::configure(&bench, &[(&builder, &built), (&reviewer, &reviewed)]);

    let id = reviews.file(&["--builder", &role(&builder), "--reviewer", &role(&reviewer), "--accept", GATE]);
    let watched = reviews.watch(&id);
    let task = &watched.task;
    assert_eq!((task["phase"].as_str(), watched.code), (Some("done"), Some(0)), "{}", reviews.report(task));
    let status = task["status"].as_str().expect("a status");
    assert!(status.starts_with("Approved by ") && status.ends_with(" after 3 rounds."), "{status}");
    let rounds = task["rounds"].as_array().expect("rounds");
    let gates: Vec<&Value> = rounds.iter().map(|round| &round["gates"][0]["passed"]).collect();
    assert_eq!(gates, [false, true, true], "{task:#}");
    let reviews_in = |round: usize| rounds[round]["reviews"].as_array().map_or(0, Vec::len);
    assert_eq!([0, 1, 2].map(reviews_in), [0, 1, 2], "a red gate is not reviewed; the last review is of everything");
    let issue = &task["issues"][0];
    assert_eq!((issue["claim"].as_str(), issue["state"].as_str()), (Some(CLAIM), Some("fixed")), "{task:#}");

    // The builder was told what failed and what the reviewer said; the reviewer was shown the change.
    assert_eq!((built.remaining(), reviewed.remaining()), (0, 0), "{}", reviews.report(task));
    assert_eq!((built.complaints(), reviewed.complaints()), (vec![], vec![]), "every tool was offered");
    let turns = built.turns();
    assert!(contains(&turns[0], TASK) && contains(&turns[2], "greeting: hello"), "the gate's output is missing");
    assert!(contains(&turns[5], CLAIM), "the issue is missing");
    assert!(contains(&reviewed.turns()[0], "+hello world"), "the diff is missing");

    // The reviewer changed nothing, and the result is what the builder made.
    let dir = task["dir"].as_str().expect("a worktree");
    let read = |file: &str| std::fs::read_to_string(format!("{dir}/{file}")).expect("a file");
    assert_eq!(read("greeting.txt"), "hello world\n");
    assert_eq!(read("README.md"), "# A project\nSee greeting.txt.\n");
    assert!(bench.read("greeting.txt").is_err(), "the project itself is unchanged until the result lands");

    // Both roles are supervised sessions with their costs.
    for (agent, name) in [(&builder, "builder"), (&reviewer, "reviewer")] {
        let sessions = reviews.sessions_of(agent);
        assert_eq!(sessions.len(), 3, "one session per run: {sessions:#?}");
        let role = format!("{name} {}", agent.setup.name);
        let spend = task["roles"].as_array().expect("roles").iter().find(|spend| spend["role"] == *role);
        let spend = spend.unwrap_or_else(|| panic!("no {role}: {task:#}"));
        assert!(spend["runs"] == 3 && spend["tokens"].as_u64() > Some(0), "{spend}");
        // opencode's model has no price.
        assert!(agent.setup.name == "opencode" || spend["cost_micros"].as_u64() > Some(0), "{spend}");
    }

    let landed = reviews.json(&["land", &id]);
    assert_eq!(bench.read("greeting.txt").expect("a file"), "hello world\n", "{landed}");
    assert_eq!(bench.read("README.md").expect("a file"), "# A project\nSee greeting.txt.\n");
}
