//! How a task ends, and the exit status that tells it.

use super::project::{APPROVES, APPROVES_LATER, BUILDS, HANGS, Project};

#[test]
fn a_task_is_done_when_gate_and_reviewer_agree() {
    let project = Project::new();
    let builder = project.program("builder", "[ $n = 1 ] || echo two > notes.txt; echo $n >> notes.txt");
    let reviewer = project.program("reviewer", APPROVES_LATER);
    let gate = "grep -q two notes.txt";
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--accept", gate]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.view["phase"], "done");
    assert_eq!(ended.status(), "Approved by reviewer after 3 rounds.");
    // The first round does not pass its gate, so that nobody reviews it. The last approval is of the whole change.
    assert_eq!(ended.answers(), [&[][..], &["issues_found"], &["done", "done"]]);
    assert_eq!(ended.view["rounds"][0]["gates"][0]["passed"], false);
    assert_eq!(ended.view["rounds"][2]["gates"][0]["passed"], true);
    assert_eq!(ended.view["issues"][0]["state"], "fixed");
    assert!(project.prompt("builder", 2).contains(gate), "the builder is told which check fails");
    assert!(project.prompt("builder", 3).contains("the second line is missing"));
    assert!(ended.text.contains("Round 3"), "{}", ended.text);
    assert_eq!(project.read("notes.txt"), "one\n", "the project is as it was until the result lands");
}

#[test]
fn a_gate_alone_can_end_a_task() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    let ended = project.start(&["--builder", &builder, "--accept", "grep -q two notes.txt"]);
    assert_eq!((ended.code, ended.status()), (Some(0), "All gates passed after 1 round."), "{ended:?}");
}

#[test]
fn a_builder_that_changes_nothing_is_a_dispute() {
    let project = Project::new();
    let builder = project.program("builder", "echo 'It is fine as it is.'; echo 'REJECTED I-1: there is no bug'");
    let reviewer = project.program("reviewer", "echo 'STATUS: ISSUES_FOUND'; echo '- notes.txt:1: it still says one'");
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert_eq!(ended.status(), "The builder no longer changes anything, and issues are open.");
    let page = ended.view["dispute"].as_str().unwrap();
    assert!(page.contains("it still says one") && page.contains("/programs/builder: there is no bug"), "{page}");
    assert!(project.prompt("reviewer", 1).contains("It is fine as it is."), "there is no diff to show");
    assert!(project.runs("builder") < 5, "{:?}", project.log());
}

#[test]
fn a_builder_that_crashes_twice_fails_the_task() {
    let project = Project::new();
    let builder = project.program("builder", "echo half > notes.txt; echo 'out of memory' >&2; exit 3");
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!((ended.code, ended.view["phase"].as_str()), (Some(1), Some("failed")), "{ended:?}");
    assert!(ended.status().contains("failed with status 3: out of memory"), "{}", ended.status());
    assert_eq!((project.runs("builder"), project.runs("reviewer")), (2, 0));
}

#[test]
fn a_round_that_hangs_is_tried_once_more_and_fails() {
    let project = Project::new();
    let builder = project.program("builder", HANGS);
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--timeout", "1s"]);
    assert_eq!((ended.code, ended.status()), (Some(1), "Failed in the build of round 1: timed out."), "{ended:?}");
    assert_eq!(project.log(), ["builder start", "builder start"]);
}

#[test]
fn a_reviewer_that_crashes_gave_no_verdict() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    // What it says before it crashes does not count.
    let reviewer = project.program("reviewer", "echo 'STATUS: DONE'; [ -e \"$OUT/works\" ] || exit 1");
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!((ended.code, ended.view["phase"].as_str()), (Some(5), Some("needs_attention")), "{ended:?}");
    assert!(ended.status().starts_with("Reviewer gave no verdict: "), "{}", ended.status());
    assert_eq!((project.runs("builder"), project.runs("reviewer")), (1, 2));
    std::fs::write(project.out().join("works"), "").unwrap();
    project.ok(&["retry", ended.id()]);
    assert_eq!(project.watch(ended.id()).code, Some(0));
    assert_eq!((project.runs("builder"), project.runs("reviewer")), (1, 3), "the finished build does not run again");
}

#[test]
fn what_only_a_person_can_do_needs_attention() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    let reviewer = project.program("reviewer", "echo 'STATUS: BLOCKED_ON_HUMAN: create the API key'");
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!(ended.code, Some(5));
    assert_eq!(ended.status(), "Reviewer needs a person: create the API key.");
    assert!(ended.text.contains("create the API key"), "{}", ended.text);
    assert_eq!(project.runs("builder"), 1);
}

#[test]
fn an_arbiter_decides_a_dispute() {
    let project = Project::new();
    let builder = project.program("builder", "echo two > notes.txt; echo 'REJECTED I-1: one line was asked for'");
    let found = "echo 'STATUS: ISSUES_FOUND'; echo '- [major] notes.txt:1: the third line is missing'";
    let reviewer = project.program("reviewer", found);
    let arbiter = project.program("arbiter", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--arbiter", &arbiter]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.runs("arbiter"), 1);
    let asked = project.prompt("arbiter", 1);
    assert!(asked.contains("the third line is missing") && asked.contains("one line was asked for"), "{asked}");
    let issue = &ended.view["issues"][0];
    assert_eq!(issue["state"], "rejected", "{issue}");
    assert!(issue["state_reason"].as_str().unwrap().starts_with("dismissed by "), "{issue}");
}

#[test]
fn fixes_that_seed_issues_are_reverted_once() {
    let project = Project::new();
    // Every change of a line raises an issue about that line.
    let builder = project.program("builder", "echo \"attempt $n\" >> notes.txt");
    let reviewer = project.program(
        "reviewer",
        r#"echo 'STATUS: ISSUES_FOUND'
case $n in
1) echo '- [critical] notes.txt:2: overflows on large input' ;;
2) echo '- [critical] notes.txt:3: leaks the file handle' ;;
3) echo '- [critical] notes.txt:4: deadlocks when two callers write' ;;
4) echo '- [critical] notes.txt:4: prints the password' ;;
*) echo '- [critical] notes.txt:5: divides by zero' ;;
esac"#,
    );
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--rounds", "7"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let rounds = ended.view["rounds"].as_array().unwrap();
    let reverted = rounds.iter().filter(|round| round["intervention"].is_string()).count();
    assert_eq!(reverted, 1, "{}", ended.view);
    assert_eq!(ended.status(), "Fixes keep introducing new issues, even after one was reverted.", "{}", ended.view);
    let after = rounds.iter().position(|round| round["intervention"].is_string()).unwrap() + 1;
    assert!(project.prompt("builder", after).contains("has been reverted"), "{after}");
}
