//! Many tasks: workers, the depth of the queue, and its pause.

use std::collections::BTreeSet;

use std::time::Duration;

use serde_json::json;

use super::project::{BUILDS, Project};
use crate::world::file_says;

/// A builder and a gate of the first task that wait for a line in `$OUT/go`.
fn waiting_builder(project: &Project) -> String {
    assert!(project.world.program("mkfifo").arg(project.out().join("go")).status().unwrap().success());
    project.program("builder", &format!("[ $n = 1 ] && read -r line < \"$OUT/go\"; {BUILDS}"))
}

fn go(project: &Project) {
    std::fs::write(project.out().join("go"), "go\n").unwrap();
}

#[test]
fn eight_tasks_share_three_workers() {
    let project = Project::with_config("[review]\nworkers = 3\nqueue_depth = 8\n[drive]\nruns_per_account = 8\n");
    // The first three wait for each other: without three workers nothing would ever end.
    let meets = r#"tail -n +1 -f "$OUT/steps" | head -n 3 > /dev/null"#;
    let step = |name: &str, body: &str| {
        let start = "echo \"+$(basename \"$PWD\")\" >> \"$OUT/steps\"";
        let end = "echo \"-$(basename \"$PWD\")\" >> \"$OUT/steps\"";
        project.program(name, &format!("{start}\n{body}\n{end}"))
    };
    let builder = step("builder", &format!("{meets}\n{BUILDS}"));
    let reviewer = step("reviewer", super::project::APPROVES);
    let gate = step("gate", "true") + " < /dev/null";
    let options = ["--builder", &builder, "--reviewer", &reviewer, "--accept", &gate];
    let ids: Vec<String> = (0..8).map(|_| project.file(&options)).collect();
    for id in &ids {
        let ended = project.watch(id);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let steps = std::fs::read_to_string(project.out().join("steps")).unwrap();
    let (mut running, mut most) = (BTreeSet::new(), 0);
    for line in steps.lines() {
        match line.split_at(1) {
            ("+", task) => assert!(running.insert(task), "two steps of {task} at once: {steps}"),
            (_, task) => assert!(running.remove(task), "{steps}"),
        }
        most = most.max(running.len());
    }
    assert_eq!((most, steps.lines().count()), (3, 8 * 3 * 2), "{steps}");
}

#[test]
fn a_full_queue_refuses_more() {
    let project = Project::with_config("[review]\nqueue_depth = 2\n");
    let builder = waiting_builder(&project);
    let options = ["--builder", &builder, "--accept", "true"];
    let first = project.file(&options);
    project.logged("builder start");
    let waiting = [project.file(&options), project.file(&options)];
    let refused = project.review(&[&["start", "One too many", "--detach"], &options[..]].concat());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("the queue is full: 2 tasks are waiting"), "{refused:?}");
    assert!(refused.err.contains("review.queue_depth") && refused.err.contains("belay review cancel"), "{refused:?}");
    project.ok(&["cancel", &waiting[0]]);
    let last = project.file(&options);
    go(&project);
    for id in [&first, &waiting[1], &last] {
        assert_eq!(project.watch(id).code, Some(0));
    }
    assert_eq!(project.review(&["list", "--json"]).json()["total"], 4);
}

#[test]
fn a_paused_queue_finishes_its_step_and_starts_nothing() {
    let project = Project::new();
    let builder = waiting_builder(&project);
    let id = project.file(&["--builder", &builder, "--accept", "true"]);
    project.logged("builder start");
    let paused = project.review(&["queue", "pause"]);
    assert!(paused.code == Some(0) && paused.out.starts_with("The queue is paused"), "{paused:?}");
    go(&project);
    let records =
        project.journal(&id, |records| records.last().is_some_and(|last| last["outcome"]["outcome"] == "built"));
    assert!(project.review(&["list"]).err.contains("queue resume"), "the list says so");
    // It stays paused in the next process.
    project.kill_resident();
    project.start_resident();
    let second = project.file(&["--builder", &builder, "--accept", "true"]);
    assert_eq!(project.journal(&id, |_| true), records);
    assert_eq!(project.journal(&second, |_| true), [serde_json::Value::Null; 0]);
    let resumed = project.review(&["queue", "resume"]);
    assert!(resumed.code == Some(0) && resumed.out.starts_with("The queue runs"), "{resumed:?}");
    assert_eq!((project.watch(&id).code, project.watch(&second).code), (Some(0), Some(0)));
}

/// Posts an event of a session of the builder.
fn post(project: &Project, builder: &str, id: &str, age: u64, event: serde_json::Value) {
    let at = belay_clock::now() - Duration::from_secs(age);
    let mut posted = json!({ "id": id, "session": { "agent": builder, "id": "s1" }, "at": at });
    posted.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
    let posted = project.world.run_with(&["events", "post"], posted.to_string().as_bytes());
    assert_eq!(posted.code, Some(0), "{posted:?}");
}

#[test]
fn a_limit_that_was_hit_without_a_resident_process_holds_in_the_next_one() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    project.start_resident();
    project.kill_resident();
    // As a hook records it that decides by itself.
    let until = belay_clock::now() + Duration::from_secs(3_600);
    post(&project, &builder, "e1", 600, json!({ "kind": "limit_hit", "what": "weekly limit", "resets_at": until }));
    post(&project, "other", "e2", 600, json!({ "kind": "limit_hit", "what": "monthly limit", "resets_at": until }));
    post(&project, "other", "e3", 0, json!({ "kind": "model_answered" }));
    assert_eq!(project.resident(), None);
    project.start_resident();
    let id = project.file(&["--builder", &builder, "--accept", "true"]);
    project.journal(&id, |records| records.iter().any(|record| record["waiting"]["for"] == "limit"));
    assert_eq!(project.runs("builder"), 0);
    let known = std::fs::read_to_string(project.world.state().join("limits.json")).unwrap();
    assert!(known.contains("weekly limit") && !known.contains("monthly limit"), "{known}");
}

/// A person's own session runs into the weekly limit, which a review of the same account then does not try again.
#[test]
fn a_limit_of_a_session_holds_for_the_reviews_of_its_account() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    project.start_resident();
    let now = belay_clock::now();
    let post = |id: &str, age: u64, event: serde_json::Value| post(&project, &builder, id, age, event);
    let until = now + Duration::from_secs(3_600);
    post("e1", 120, json!({ "kind": "limit_hit", "what": "weekly limit", "resets_at": until }));
    let limits = project.world.state().join("limits.json");
    file_says(&limits, |text| text.contains("weekly limit"));
    let id = project.file(&["--builder", &builder, "--accept", "true"]);
    project.journal(&id, |records| records.iter().any(|record| record["waiting"]["for"] == "limit"));
    let task = project.show(&id);
    assert_eq!((&task["waiting"]["account"], &task["waiting"]["until"]), (&json!(builder), &json!(until)), "{task:#}");
    assert_eq!(project.runs("builder"), 0);
    // The provider has lifted the limit early.
    post("e2", 0, json!({ "kind": "model_answered" }));
    file_says(&limits, |text| !text.is_empty() && !text.contains("weekly limit"));
    project.ok(&["queue", "resume"]);
    assert_eq!(project.watch(&id).code, Some(0));
    assert_eq!(project.runs("builder"), 1);
}
