//! Bringing a result into the project.

use std::process::Output;
use std::thread::JoinHandle;

use super::project::{APPROVES, BUILDS, Ended, Project};

/// A project with an accepted change of `notes.txt`.
fn with_result() -> (Project, Ended) {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--title", "Write two"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (project, ended)
}

#[test]
fn a_result_is_merged_and_the_worktree_is_removed() {
    let (project, ended) = with_result();
    let worktree = ended.view["dir"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&worktree).join("notes.txt").exists());
    let landed = project.review(&["land", ended.id()]);
    assert_eq!(landed.code, Some(0), "{landed:?}");
    assert!(landed.out.starts_with("merged as "), "{landed:?}");
    assert_eq!(project.read("notes.txt"), "two\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let message = project.git(&["log", "-1", "--format=%an %s%n%b"]);
    assert_eq!(message.trim(), "Ada Write two\nBuilt by builder, reviewed by reviewer.");
    assert!(!std::path::Path::new(&worktree).exists());
    assert_eq!(project.show(ended.id())["landed"], true);
    let records = project.journal(ended.id(), |_| true);
    assert_eq!(records.last().unwrap()["fact"]["message"], landed.out.trim(), "the journal knows");
    let again = project.review(&["land", ended.id()]);
    assert_eq!((again.code, again.out.trim()), (Some(0), "the project already has the result"));
}

#[test]
fn a_result_is_applied_without_a_commit() {
    let (project, ended) = with_result();
    let before = project.git(&["rev-parse", "HEAD"]);
    project.ok(&["land", ended.id(), "--apply"]);
    assert_eq!((project.read("notes.txt").as_str(), project.git(&["rev-parse", "HEAD"])), ("two\n", before));
}

#[test]
fn uncommitted_changes_in_the_way_are_named_and_kept() {
    let (project, ended) = with_result();
    project.write("notes.txt", "mine\n");
    let before = project.git(&["rev-parse", "HEAD"]);
    let refused = project.review(&["land", ended.id()]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("files with uncommitted changes are in the way: notes.txt"), "{refused:?}");
    assert!(refused.err.contains("commit or stash them"), "{refused:?}");
    assert_eq!((project.read("notes.txt").as_str(), project.git(&["rev-parse", "HEAD"])), ("mine\n", before));
    project.git(&["stash", "--quiet"]);
    project.ok(&["land", ended.id()]);
    assert_eq!(project.read("notes.txt"), "two\n");
}

#[test]
fn a_conflict_is_explained_and_nothing_is_lost() {
    let (project, ended) = with_result();
    project.write("notes.txt", "three\n");
    project.commit("three");
    let before = project.git(&["rev-parse", "HEAD"]);
    let refused = project.review(&["land", ended.id()]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("the work conflicts with main in notes.txt"), "{refused:?}");
    assert_eq!(project.git(&["rev-parse", "HEAD"]), before);
    assert_eq!((project.read("notes.txt").as_str(), project.git(&["status", "--porcelain"]).as_str()), ("three\n", ""));
    // The way out that the hint names.
    assert!(refused.err.contains("archive"), "{refused:?}");
    let archived = project.review(&["archive", ended.id()]);
    assert_eq!(archived.code, Some(0), "{archived:?}");
    let branch = format!("belay/{}", ended.id());
    assert_eq!(project.git(&["show", &format!("{branch}:notes.txt")]), "two\n");
}

#[test]
fn a_result_that_nobody_approved_does_not_land_by_accident() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    let reviewer =
        project.program("reviewer", "echo 'STATUS: ISSUES_FOUND'; echo '- [major] notes.txt:1: it is wrong'");
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--rounds", "1"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let before = project.git(&["rev-parse", "HEAD"]);
    for how in [&[][..], &["--apply"], &["--keep-commits"]] {
        let refused = project.review(&[&["land", ended.id()], how].concat());
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.err.contains("the result is not approved: issues are open after the only round"),
            "{refused:?}"
        );
        assert!(refused.err.contains("I-1 [major] notes.txt:1: it is wrong"), "{refused:?}");
        assert!(refused.err.contains("reviewer has not approved it"), "{refused:?}");
        assert!(refused.err.contains("--unapproved") && refused.err.contains("answer ID --done"), "{refused:?}");
    }
    assert_eq!((project.read("notes.txt"), project.git(&["rev-parse", "HEAD"])), ("one\n".into(), before));
    project.ok(&["land", ended.id(), "--unapproved"]);
    assert_eq!(project.read("notes.txt"), "two\n");
    let message = project.git(&["log", "-1", "--format=%b"]);
    assert!(!message.contains("reviewed"), "{message}");
}

#[test]
fn a_cancelled_task_does_not_land_by_accident() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    let reviewer = project.program("reviewer", super::project::HANGS);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer]);
    project.logged("reviewer start");
    project.ok(&["cancel", &id]);
    let refused = project.review(&["land", &id]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("the result is not approved: cancelled by"), "{refused:?}");
    assert_eq!(project.read("notes.txt"), "one\n");
}

#[test]
fn the_builder_s_commits_land_only_if_the_person_asks() {
    let builds = "echo secret > key.txt; git add .; git commit -qm step-1; rm key.txt; echo two > notes.txt; git add .; git commit -qm step-2";
    for (option, subjects) in [(None, "Write two"), (Some("--keep-commits"), "step-2 step-1")] {
        let project = Project::new();
        let builder = project.program("builder", builds);
        let reviewer = project.program("reviewer", APPROVES);
        let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--title", "Write two"]);
        let args: Vec<&str> = ["land", ended.id()].into_iter().chain(option).collect();
        project.ok(&args);
        let log = project.git(&["log", "--format=%s", "HEAD"]);
        assert_eq!(log.trim().replace('\n', " "), format!("{subjects} start"));
        assert_eq!(project.read("notes.txt"), "two\n");
    }
}

#[test]
fn what_the_gates_and_the_reviewer_saw_is_what_lands() {
    // A file that is in the index only, a blob that is replaced, and a diff without lines.
    let builds = r#"evil=$(echo evil | git hash-object -w --stdin); good=$(echo good | git hash-object -w --stdin)
git update-index --add --cacheinfo "100644,$evil,hidden.txt"; git update-index --skip-worktree hidden.txt
git replace "$evil" "$good"; echo evil > notes.txt; echo '* -diff' > .gitattributes"#;
    let project = Project::new();
    let builder = project.program("builder", builds);
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--accept", "test ! -e hidden.txt"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let prompt = project.prompt("reviewer", 1);
    assert!(prompt.contains("+evil") && !prompt.contains("GIT binary patch"), "{prompt}");
    project.ok(&["land", ended.id()]);
    assert_eq!((project.read("notes.txt").as_str(), project.read("hidden.txt").as_str()), ("evil\n", ""));
}

#[test]
fn a_builder_s_merge_does_not_undo_what_the_person_committed_meanwhile() {
    let project = Project::new();
    project.write("other.txt", "one\n");
    project.commit("other");
    let fifo = project.out().join("go");
    assert!(project.world.program("mkfifo").arg(&fifo).status().unwrap().success());
    let builder = project.program(
        "builder",
        &format!(
            "read -r line < \"$OUT/go\"; {BUILDS}; git add .; git commit -qm work; git merge -q -s ours -m merge main"
        ),
    );
    let reviewer = project.program("reviewer", APPROVES);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer]);
    project.logged("builder start");
    project.write("other.txt", "fixed\n");
    project.commit("fix");
    std::fs::write(&fifo, "go\n").unwrap();
    assert_eq!(project.watch(&id).code, Some(0));
    project.ok(&["land", &id]);
    assert_eq!((project.read("notes.txt").as_str(), project.read("other.txt").as_str()), ("two\n", "fixed\n"));
}

#[test]
fn a_pipe_as_index_does_not_stop_the_queue() {
    let project = Project::new();
    let builder = project.program(
        "builder",
        &format!("{BUILDS}; index=$(git rev-parse --git-path index); rm \"$index\"; mkfifo \"$index\""),
    );
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--accept", "true"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    project.ok(&["land", ended.id()]);
    assert_eq!(project.read("notes.txt"), "two\n");
}

/// A project with an accepted change of `notes.txt`, and a filter of the person through which git passes that file. While
/// `$OUT/hold` exists, the filter waits for a line in `$OUT/go`.
fn with_slow_filter(which: &str) -> (Project, Ended) {
    let project = Project::new();
    let filter = format!(
        "if [ -e '{0}/hold' ]; then echo waiting >> '{0}/log'; read -r line < '{0}/go'; fi; cat",
        project.out().display()
    );
    project.git(&["config", &format!("filter.slow.{which}"), &filter]);
    project.write(".gitattributes", "notes.txt filter=slow\n");
    project.commit("filter");
    assert!(project.world.program("mkfifo").arg(project.out().join("go")).status().unwrap().success());
    let builder = project.program("builder", BUILDS);
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (project, ended)
}

/// Starts a command that the filter stops half-way.
fn hold(project: &Project, args: &[&str]) -> JoinHandle<Output> {
    std::fs::write(project.out().join("hold"), "").unwrap();
    let mut command = project.world.command([&["review"], args].concat());
    let held = std::thread::spawn(move || command.output().unwrap());
    project.logged("waiting");
    held
}

fn release(project: &Project) {
    std::fs::remove_file(project.out().join("hold")).unwrap();
    std::fs::write(project.out().join("go"), "go\n").unwrap();
}

#[test]
fn a_task_is_not_continued_while_it_lands() {
    let (project, ended) = with_slow_filter("smudge");
    let landing = hold(&project, &["land", ended.id()]);
    for args in [&["answer", ended.id(), "--fix", "Write three."][..], &["land", ended.id()], &["archive", ended.id()]]
    {
        let refused = project.review(args);
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(refused.err.contains("the result of the task is being landed or archived"), "{args:?}: {refused:?}");
    }
    release(&project);
    let landed = landing.join().unwrap();
    assert!(landed.status.success(), "{landed:?}");
    assert_eq!(project.read("notes.txt"), "two\n");
    project.ok(&["answer", ended.id(), "--fix", "Write three."]);
}

#[test]
fn a_landing_survives_a_kill() {
    let (project, ended) = with_slow_filter("smudge");
    let landing = hold(&project, &["land", ended.id()]);
    project.kill_resident();
    assert!(!landing.join().unwrap().status.success());
    release(&project);
    project.start_resident();
    // Git may still be at work for a moment, and holds its lock.
    let landed = (0..1000).map(|_| project.review(&["land", ended.id()])).find(|output| output.code == Some(0));
    let landed = landed.unwrap_or_else(|| panic!("{:?}", project.review(&["land", ended.id()])));
    assert!(landed.out.starts_with("merged as "), "{landed:?}");
    assert_eq!((project.read("notes.txt"), project.git(&["status", "--porcelain"])), ("two\n".into(), String::new()));
    assert_eq!(project.show(ended.id())["landed"], true);
}

#[test]
fn an_archiving_survives_a_kill() {
    let (project, ended) = with_slow_filter("clean");
    // Git asks the filter about a file whose times have changed.
    let worktree = std::path::PathBuf::from(ended.view["dir"].as_str().unwrap());
    std::fs::write(worktree.join("notes.txt"), "two\n").unwrap();
    let archiving = hold(&project, &["archive", ended.id()]);
    project.kill_resident();
    assert!(!archiving.join().unwrap().status.success());
    release(&project);
    project.start_resident();
    project.ok(&["archive", ended.id()]);
    assert!(!worktree.exists());
    assert_eq!(project.git(&["show", &format!("belay/{}:notes.txt", ended.id())]), "two\n");
}
