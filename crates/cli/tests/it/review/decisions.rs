//! What a person decides about a task, and that only a person can.

use super::project::{APPROVES, APPROVES_LATER, Ended, Project, run_to_end};

/// A task that has used its only round, with one open issue.
fn with_open_issue() -> (Project, Ended) {
    let project = Project::new();
    let builder = project.program("builder", "echo \"round $n\" >> notes.txt");
    let reviewer = project.program("reviewer", APPROVES_LATER);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--rounds", "1"]);
    assert_eq!((ended.code, ended.status()), (Some(5), "Issues are open after the only round."), "{ended:?}");
    (project, ended)
}

/// The decisions of a task: who, and what.
fn decisions(ended: &Ended) -> Vec<(String, String)> {
    let decisions = ended.view["decisions"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    decisions.map(|decision| (text(&decision["by"]), text(&decision["what"]))).collect()
}

fn by_ada(what: &str) -> Vec<(String, String)> {
    vec![("ada".to_owned(), what.to_owned())]
}

#[test]
fn a_person_accepts_the_work() {
    let (project, ended) = with_open_issue();
    let answered = project.review(&["answer", ended.id(), "--done"]);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    let ended = project.watch(ended.id());
    assert_eq!((ended.code, ended.status()), (Some(0), "Accepted by ada after 1 round."));
    assert_eq!(decisions(&ended), by_ada("accepted the work"));
    project.ok(&["land", ended.id()]);
}

#[test]
fn a_person_asks_for_a_fix() {
    let (project, ended) = with_open_issue();
    project.ok(&["answer", ended.id(), "--fix", "Use a third line."]);
    let ended = project.watch(ended.id());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(decisions(&ended), by_ada("asked for a fix: Use a third line."));
    assert!(project.prompt("builder", 2).contains("Use a third line."));
    assert!(project.prompt("reviewer", 2).contains("Use a third line."), "the reviewers check it");
    assert!(ended.text.contains("ada"), "{}", ended.text);
}

#[test]
fn a_waived_issue_is_not_raised_again() {
    let (project, ended) = with_open_issue();
    let unknown = project.review(&["waive", ended.id(), "I-9", "--why", "later"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("I-9"), "{unknown:?}");
    let waived = project.review(&["waive", ended.id(), "I-1", "--why", "one line is enough"]);
    assert_eq!(waived.code, Some(0), "{waived:?}");
    project.ok(&["resume", ended.id()]);
    let ended = project.watch(ended.id());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.view["issues"][0]["state"], "waived");
    assert_eq!(ended.view["issues"][0]["state_reason"], "by ada: one line is enough");
    assert_eq!(decisions(&ended)[0].1, "waived I-1: one line is enough");
    assert_eq!(project.runs("builder"), 1, "nothing is left to build");
    assert!(ended.text.contains("one line is enough"), "{}", ended.text);
}

#[test]
fn more_rounds_continue_a_task() {
    let (project, ended) = with_open_issue();
    project.ok(&["resume", ended.id(), "--rounds", "3"]);
    let ended = project.watch(ended.id());
    assert_eq!((ended.code, ended.status()), (Some(0), "Approved by reviewer after 2 rounds."), "{ended:?}");
    assert_eq!(decisions(&ended), by_ada("resumed with 3 rounds"));
    let done = project.review(&["resume", ended.id()]);
    assert!(done.code == Some(1) && done.err.contains("the task has ended"), "{done:?}");
}

#[test]
fn an_agent_decides_nothing() {
    let (project, ended) = with_open_issue();
    let id = ended.id();
    for args in [
        &["answer", id, "--done"][..],
        &["answer", id, "--fix", "Nothing"],
        &["waive", id, "I-1", "--why", "fine"],
        &["resume", id, "--rounds", "9"],
        &["retry", id],
        &["cancel", id],
        &["land", id],
        &["archive", id],
        &["queue", "pause"],
    ] {
        let mut command = project.world.command([&["review"], args].concat());
        command.env("CLAUDE_CODE_SESSION_ID", "0190aaaa-0000-7000-8000-000000000000");
        let refused = run_to_end(command);
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        let expected = format!("called by an agent (CLAUDE_CODE_SESSION_ID is set): belay review {}", args[0]);
        assert!(refused.err.contains(&expected), "{args:?}: {refused:?}");
    }
    let after = project.show(id);
    assert_eq!((&after["status"], &after["decisions"]), (&ended.view["status"], &ended.view["decisions"]));
    assert_eq!(project.read("notes.txt"), "one\n");
}

#[test]
fn the_builder_itself_decides_nothing() {
    // Under the name of a known agent, and under any other.
    for (name, refusal) in
        [("claude", "called by an agent"), ("builder", "called by an agent (a program that Belay runs")]
    {
        builder_accepts_its_own_work(name, refusal);
    }
}

fn builder_accepts_its_own_work(name: &str, refusal: &str) {
    let project = Project::new();
    let belay = env!("CARGO_BIN_EXE_belay");
    // It finds its own task and accepts its own work.
    let builder = project.program(
        name,
        &format!("echo two > notes.txt; for id in $(ls ~/.local/state/belay/reviews); do sh -c \"{belay} review answer $id --done\"; done > \"$OUT/said\" 2>&1; true"),
    );
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    let shown = std::fs::read_to_string(project.out().join("said")).unwrap();
    assert!(shown.contains(refusal), "{shown}");
    assert_eq!(
        (ended.status(), ended.view["decisions"].as_array().unwrap().len()),
        ("Approved by reviewer after 1 round.", 0)
    );
}

/// A gate runs what the builder wrote: a test, a build script.
#[test]
fn a_gate_decides_nothing() {
    let project = Project::new();
    let belay = env!("CARGO_BIN_EXE_belay");
    let builder = project.program("builder", "echo two > notes.txt");
    let reviewer = project.program("reviewer", APPROVES_LATER);
    let output = project.out().join("said");
    let gate = format!(
        "for id in $(ls ~/.local/state/belay/reviews); do {belay} review answer $id --done; done > '{}' 2>&1; true",
        output.display()
    );
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--rounds", "1", "--accept", &gate]);
    let shown = std::fs::read_to_string(output).unwrap();
    assert!(shown.contains("called by an agent (a program that Belay runs"), "{shown}");
    assert_eq!((ended.code, ended.status()), (Some(5), "Issues are open after the only round."), "{ended:?}");
}

#[test]
fn an_empty_text_does_not_accept_the_work() {
    let (project, ended) = with_open_issue();
    let refused = project.review(&["answer", ended.id(), "--fix", "  "]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("say either that the work is done, or what to fix"), "{refused:?}");
    assert_eq!(project.show(ended.id())["phase"], "needs_attention");
}
