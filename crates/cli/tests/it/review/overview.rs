//! Tasks that need a person, in the overview of `belay top`.

use serde_json::Value;

use super::project::{APPROVES_LATER, BUILDS, Project};

/// The tasks of the overview: id, phase and, if it needs attention, why.
fn listed(project: &Project) -> Vec<(String, String, Option<String>)> {
    let text = |task: &Value, key: &str| task[key].as_str().map(str::to_owned);
    let overview = project.world.run(&["top", "--json"]).json();
    let tasks = overview["reviews"].as_array().unwrap().iter();
    tasks.map(|task| (text(task, "id").unwrap(), text(task, "phase").unwrap(), text(task, "attention"))).collect()
}

/// The overview with the resident process and without it.
fn in_both_ways(project: &Project) -> Vec<(String, String, Option<String>)> {
    let tasks = listed(project);
    let frame = project.world.run(&["top", "--once"]).out;
    assert_eq!(project.world.run(&["stop"]).code, Some(0));
    assert_eq!(listed(project), tasks, "without a resident process");
    for (id, ..) in &tasks {
        assert!(frame.contains(&format!("belay review show {id}")), "{frame}");
        assert!(project.world.run(&["top", "--once"]).out.contains(&format!("belay review show {id}")));
    }
    tasks
}

#[test]
fn a_task_is_listed_until_its_result_is_archived() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    let reviewer = project.program("reviewer", APPROVES_LATER);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--rounds", "1"]);
    let id = ended.id().to_owned();
    let attention = (id.clone(), "needs_attention".to_owned(), Some("rounds_used".to_owned()));
    assert_eq!(in_both_ways(&project), [attention]);
    project.ok(&["answer", &id, "--done"]);
    assert_eq!(in_both_ways(&project), [(id.clone(), "done".to_owned(), None)]);
    project.ok(&["archive", &id]);
    assert_eq!(in_both_ways(&project), []);
    let view = project.show(&id);
    assert_eq!(
        (&view["archived"], &view["decided"]["kind"], &view["decided"]["by"]),
        (&Value::Bool(true), &Value::from("archived"), &Value::from("ada"))
    );
}

#[test]
fn a_person_gives_up_on_a_task_that_has_nothing_to_archive() {
    let project = Project::new();
    let builder = project.program("builder", "exit 1");
    let reviewer = project.program("reviewer", APPROVES_LATER);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(listed(&project), [(ended.id().to_owned(), "failed".to_owned(), None)]);
    assert_eq!(project.review(&["archive", ended.id()]).code, Some(1), "nothing was built");
    project.ok(&["cancel", ended.id()]);
    assert_eq!(listed(&project), []);
    let again = project.review(&["cancel", ended.id()]);
    assert!(again.code == Some(1) && again.err.contains("the task has ended"), "{again:?}");
}
