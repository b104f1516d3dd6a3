//! Cancelling a task in the middle of a step.

use super::project::{APPROVES, BUILDS, HANGS, Project, processes_with};

/// A builder whose first run edits a file and leaves nothing undone to survive: it ignores requests to exit, and so does
/// a child that left its process group, its session and its parent. Both have `marker` among their arguments.
fn stubborn(marker: &str) -> String {
    format!(
        r#"[ $n = 1 ] || {{ {BUILDS}; exit; }}
trap '' TERM HUP INT
echo half > notes.txt
echo half > half.txt
setsid sh -c "sh -c 'trap \"\" TERM HUP INT; echo ready >> \"$OUT/log\"; tail -f /dev/null > /dev/null' {marker} &"
OUT="$OUT" sh -c 'trap "" TERM HUP INT; echo in place >> "$OUT/log"; tail -f /dev/null > /dev/null' {marker}"#
    )
}

#[test]
fn cancelling_a_build_leaves_no_process_and_a_usable_tree() {
    let project = Project::new();
    let marker = project.world.path("marker").display().to_string();
    let builder = project.program("builder", &stubborn(&marker));
    let reviewer = project.program("reviewer", APPROVES);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer]);
    project.logged("ready");
    project.logged("in place");
    assert!(processes_with(&marker).len() >= 2);
    let cancelled = project.review(&["cancel", &id]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    let ended = project.watch(&id);
    assert_eq!((ended.code, ended.status()), (Some(6), "Cancelled by ada."), "{ended:?}");
    // Work that is retried waits for the end of everything that was cancelled.
    project.ok(&["retry", &id]);
    project.journal(&id, |records| records.iter().filter(|record| record["record"] == "started").count() > 2);
    assert_eq!(processes_with(&marker), [0; 0]);
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let diff = project.review(&["diff", &id]).out;
    assert!(diff.contains("+two") && !diff.contains("half"), "the half-made edits are undone: {diff}");
}

#[test]
fn cancelling_a_gate_or_a_review_leaves_no_process() {
    let project = Project::new();
    let marker = project.world.path("marker").display().to_string();
    let builder = project.program("builder", BUILDS);
    let reviewer = project.program("reviewer", &format!("sh -c 'tail -f /dev/null > /dev/null; :' {marker}"));
    let log = project.out().join("log").display().to_string();
    let gate = format!("echo 'gate start' >> '{log}'; sh -c 'tail -f /dev/null > /dev/null; :' {marker}");
    for (started, options) in [("gate start", ["--accept", &gate]), ("reviewer start", ["--reviewer", &reviewer])] {
        let id = project.file(&[&["--builder", &builder][..], &options].concat());
        project.logged(started);
        project.ok(&["cancel", &id]);
        assert_eq!(project.watch(&id).code, Some(6));
        // The next step of the queue begins when the cancelled one is over.
        let after = project.start(&["--builder", &builder, "--accept", "true"]);
        assert_eq!(after.code, Some(0), "{after:?}");
        assert_eq!(processes_with(&marker), [0; 0], "{started}");
    }
}

#[test]
fn a_cancelled_build_in_place_keeps_its_edits_and_names_them() {
    let project = Project::new();
    let builder = project.program("builder", &format!("[ $n = 1 ] || exit 0; echo half > notes.txt; {HANGS}"));
    let id = project.file(&["--builder", &builder, "--accept", "true", "--in-place"]);
    super::project::wait_for_file(&project.dir().join("notes.txt"), "half\n");
    project.ok(&["cancel", &id]);
    assert_eq!(project.watch(&id).code, Some(6));
    assert_eq!(project.read("notes.txt"), "half\n");
    project.ok(&["retry", &id]);
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.read("notes.txt"), "half\n");
    assert!(project.prompt("builder", 2).contains("stopped half-way"), "{}", project.prompt("builder", 2));
}

#[test]
fn a_queued_task_is_cancelled_at_once() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    project.ok(&["queue", "pause"]);
    let id = project.file(&["--builder", &builder, "--accept", "true"]);
    project.ok(&["cancel", &id]);
    assert_eq!(project.watch(&id).code, Some(6));
    let again = project.review(&["cancel", &id]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.err.contains("the task has ended"), "{again:?}");
    assert_eq!(project.runs("builder"), 0);
}
