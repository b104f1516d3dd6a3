//! Where the builder works: a worktree of its own, one with the person's changes, or the directory itself.

use super::project::{APPROVES, BUILDS, Project};

/// Accepts whatever is built.
const ANY: &[&str] = &["--accept", "true"];

fn start(project: &Project, options: &[&str]) -> super::project::Ended {
    let builder = project.program("builder", BUILDS);
    project.start(&[&["--builder", &builder], ANY, options].concat())
}

#[test]
fn uncommitted_changes_are_refused_with_a_way_out() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    project.write("mine.txt", "not committed\n");
    let refused = project.review(&["start", "Go", "--detach", "--builder", &builder, "--accept", "true"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("mine.txt") && refused.err.contains("--with-changes"), "{refused:?}");
    assert!(refused.err.contains("--in-place"), "{refused:?}");
    assert_eq!(project.review(&["list", "--json"]).json()["total"], 0);
}

#[test]
fn a_worktree_can_begin_with_uncommitted_changes() {
    let project = Project::new();
    project.write("mine.txt", "not committed\n");
    let builder = project.program("builder", "cp mine.txt \"$OUT/seen\"; echo two > notes.txt");
    let ended = project.start(&["--builder", &builder, "--accept", "true", "--with-changes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(std::fs::read_to_string(project.out().join("seen")).unwrap(), "not committed\n");
    assert!(
        !project.review(&["diff", ended.id()]).out.contains("mine.txt"),
        "the person's change is not the builder's"
    );
    project.ok(&["land", ended.id()]);
    assert_eq!((project.read("notes.txt").as_str(), project.read("mine.txt").as_str()), ("two\n", "not committed\n"));
    assert_eq!(project.git(&["status", "--porcelain"]), "?? mine.txt\n");
}

#[test]
fn in_place_the_builder_works_beside_the_person() {
    let project = Project::new();
    project.write("mine.txt", "not committed\n");
    let ended = start(&project, &["--in-place"]);
    assert_eq!((ended.code, ended.view["landed"].as_bool()), (Some(0), Some(true)), "{ended:?}");
    assert_eq!((project.read("notes.txt").as_str(), project.read("mine.txt").as_str()), ("two\n", "not committed\n"));
    let diff = project.review(&["diff", ended.id()]).out;
    assert!(diff.contains("+two") && !diff.contains("mine.txt"), "{diff}");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_task_that_is_resumed_waits_for_the_directory_and_holds_up_nobody() {
    let project = Project::with_config("[review]\nworkers = 2\n");
    let fifo = project.out().join("go");
    assert!(project.world.program("mkfifo").arg(&fifo).status().unwrap().success());
    let builder = project.program("builder", "[ $n = 2 ] && read -r line < \"$OUT/go\"; echo $n > notes.txt");
    let accept = "[ \"$(cat notes.txt)\" != 1 ]";
    let options = ["--builder", &builder, "--accept", accept, "--in-place"];
    let first = project.start(&[&options[..], &["--rounds", "1"]].concat());
    assert_eq!(first.code, Some(5), "{first:?}");
    let second = project.file(&options);
    project.logged("builder start");
    project.journal(&second, |records| records.iter().any(|record| record["step"]["step"] == "build"));
    project.ok(&["resume", first.id(), "--rounds", "2"]);
    project.journal(first.id(), |records| records.iter().any(|record| record["record"] == "waits"));
    std::fs::write(&fifo, "go\n").unwrap();
    assert_eq!((project.watch(&second).code, project.watch(first.id()).code), (Some(0), Some(0)));
}

#[test]
fn two_tasks_in_place_wait_for_each_other() {
    let project = Project::with_config("[review]\nworkers = 2\n");
    let fifo = project.out().join("go");
    assert!(project.world.program("mkfifo").arg(&fifo).status().unwrap().success());
    let builder = project.program("builder", "[ $n = 1 ] && read -r line < \"$OUT/go\"; echo two > notes.txt");
    let options = &["--builder", &builder, "--accept", "true", "--in-place"];
    let first = project.file(options);
    project.logged("builder start");
    let second = project.file(options);
    project.journal(&second, |records| records.iter().any(|record| record["record"] == "waits"));
    let view = project.show(&second);
    assert_eq!((view["waiting"]["for"].as_str(), view["waiting"]["holder"].as_str()), (Some("lock"), Some(&*first)));
    assert_eq!(project.runs("builder"), 1);
    std::fs::write(&fifo, "go\n").unwrap();
    assert_eq!((project.watch(&first).code, project.watch(&second).code), (Some(0), Some(0)));
    assert_eq!(project.log(), ["builder start", "builder end", "builder start", "builder end"]);
}

#[test]
fn tasks_in_place_in_one_repository_wait_for_each_other() {
    let project = Project::with_config("[review]\nworkers = 2\n[drive]\nruns_per_account = 4\n");
    project.write("sub/notes.txt", "one\n");
    project.commit("sub");
    assert!(project.world.program("mkfifo").arg(project.out().join("go")).status().unwrap().success());
    let builder = project.program("builder", "read -r line < \"$OUT/go\"; echo two > notes.txt");
    let options = ["--builder", &builder, "--accept", "true", "--in-place"];
    let first = project.file(&options);
    project.logged("builder start");
    let sub = project.dir().join("sub").display().to_string();
    let second = project.file(&[&options[..], &["--dir", &sub]].concat());
    project.journal(&second, |records| records.iter().any(|record| record["record"] == "waits"));
    let view = project.show(&second);
    assert_eq!((view["waiting"]["for"].as_str(), view["waiting"]["holder"].as_str()), (Some("lock"), Some(&*first)));
    for id in [&first, &second] {
        std::fs::write(project.out().join("go"), "go\n").unwrap();
        assert_eq!(project.watch(id).code, Some(0));
    }
    assert_eq!((project.read("notes.txt"), project.read("sub/notes.txt")), ("two\n".into(), "two\n".into()));
}

#[test]
fn what_a_gate_leaves_behind_in_place_does_not_fail_the_next_gate() {
    let project = Project::new();
    let builder = project.program("builder", super::project::BUILDS);
    let gates = ["--accept", "echo cache > cache.txt", "--accept", "test -f cache.txt"];
    let ended = project.start(&[&["--builder", &builder, "--in-place"], &gates[..]].concat());
    assert_eq!((ended.code, ended.status()), (Some(0), "All gates passed after 1 round."), "{ended:?}");
}

#[test]
fn no_git_at_all_works_in_place() {
    let project = Project::without_git("");
    project.write("notes.txt", "one\n");
    let builder = project.program("builder", BUILDS);
    let refused = project.review(&["start", "Go", "--detach", "--builder", &builder, "--accept", "true"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("--in-place") && refused.err.contains("git init"), "{refused:?}");
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--in-place"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.read("notes.txt"), "two\n");
    assert_eq!(ended.view["rounds"][0]["built"]["changed"], true);
    assert!(project.prompt("reviewer", 1).contains("I changed notes.txt."), "there is no diff to show");
}

#[test]
fn a_detached_head_has_no_branch_to_merge_into() {
    let project = Project::new();
    project.git(&["checkout", "--quiet", "--detach"]);
    let ended = start(&project, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let refused = project.review(&["land", ended.id()]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("HEAD is detached") && refused.err.contains("check out a branch"), "{refused:?}");
    assert_eq!(project.read("notes.txt"), "one\n");
    project.git(&["checkout", "--quiet", "main"]);
    project.ok(&["land", ended.id()]);
    assert_eq!(project.read("notes.txt"), "two\n");
}

#[test]
fn a_task_in_a_subdirectory_works_in_that_subdirectory() {
    let project = Project::new();
    project.write("part/notes.txt", "one\n");
    project.commit("part");
    let part = project.dir().join("part").display().to_string();
    let ended = start(&project, &["--dir", &part]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.view["dir"].as_str().unwrap().ends_with("/part"), "{}", ended.view["dir"]);
    assert!(project.review(&["diff", ended.id()]).out.contains("part/notes.txt"));
    project.ok(&["land", ended.id()]);
    assert_eq!((project.read("part/notes.txt").as_str(), project.read("notes.txt").as_str()), ("two\n", "one\n"));
}

#[test]
fn submodules_are_there_in_the_worktree() {
    let project = Project::new();
    let library = project.world.path("library");
    std::fs::create_dir(&library).unwrap();
    std::fs::write(library.join("lib.txt"), "a library\n").unwrap();
    let dir = library.to_str().unwrap();
    project.git(&["init", "--quiet", dir]);
    project.git(&["-C", dir, "add", "--all"]);
    project.git(&["-C", dir, "commit", "--quiet", "--message", "library"]);
    project.git(&["submodule", "--quiet", "add", dir, "vendor/library"]);
    project.commit("submodule");
    let builder = project.program("builder", "cp vendor/library/lib.txt notes.txt");
    let ended = project.start(&["--builder", &builder, "--accept", "test -f vendor/library/lib.txt"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let landed = project.review(&["land", ended.id()]);
    assert_eq!(landed.code, Some(0), "{landed:?}");
    assert_eq!(
        (project.read("notes.txt").as_str(), project.git(&["status", "--porcelain"]).as_str()),
        ("a library\n", "")
    );
    assert_eq!(project.read("vendor/library/lib.txt"), "a library\n");
}
