//! Making worktrees.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_worktree_is_at_head_on_a_branch_of_its_own() {
    let project = Project::new();
    let before = project.state();
    let workspace = project.create(WorkspaceMode::Worktree);
    assert_eq!(files(workspace.dir()), files(&project.project_dir));
    assert_eq!(project.git_in(workspace.dir(), &["branch", "--show-current"]), "belay/t1\n");
    assert_eq!(project.git_in(workspace.dir(), &["status", "--porcelain"]), "");
    assert_eq!(project.state(), before);
    let json = serde_json::to_string(&workspace).expect("JSON");
    assert!(!json.contains("HOME"), "an environment may hold secrets: {json}");
    let read: Workspace = serde_json::from_str(&json).expect("a workspace");
    assert_eq!(as_json(&read), as_json(&workspace));
}

#[test]
fn a_dirty_tree_is_refused_with_its_files_and_what_to_do() {
    let project = Project::new();
    project.write("a.txt", "changed\n");
    project.write("new file.txt", "new\n");
    project.write("debug.log", "ignored\n");
    let error = create(&project.spec(WorkspaceMode::Worktree)).expect_err("a refusal");
    assert!(matches!(&error, WorkspaceError::Dirty { files, count: 2, .. } if files == &["a.txt", "new file.txt"]));
    let hint = error.hint().expect("a hint");
    assert!(hint.contains("--with-changes") && hint.contains("--in-place"), "{hint}");
    assert_eq!(project.git(&["branch", "--list", "belay/*"]), "");
}

#[test]
fn a_worktree_can_start_with_the_uncommitted_changes() {
    let project = Project::new();
    project.write("a.txt", "staged\n");
    project.git(&["add", "a.txt"]);
    project.write("a.txt", "staged and more\n");
    project.write("dir/new file.txt", "new\n");
    project.write(".env", "SECRET=1\n");
    std::fs::remove_file(project.project_dir.join("b.txt")).expect("removed");
    let before = project.state();
    let workspace = project.create(WorkspaceMode::WorktreeWithChanges);
    assert_eq!(project.state(), before, "files, index and branch of the person are untouched");
    assert_eq!(read(workspace.dir().join("a.txt")), "staged and more\n");
    assert_eq!(read(workspace.dir().join("dir/new file.txt")), "new\n");
    assert!(!workspace.dir().join("b.txt").exists() && !workspace.dir().join(".env").exists());
    let status = project.git_in(workspace.dir(), &["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n D b.txt\n?? dir/\n");
    assert_eq!(workspace.snapshot("now").expect("a tree"), *workspace.base());
}

#[test]
fn a_detached_head_is_no_problem() {
    let project = Project::new();
    project.git(&["checkout", "--quiet", "--detach", "HEAD~1"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    assert!(!workspace.dir().join("b.txt").exists());
    assert_eq!(project.git_in(workspace.dir(), &["rev-parse", "HEAD"]), project.git(&["rev-parse", "HEAD"]));
    let state = inspect(&project.project_dir, &project.env()).expect("a state");
    assert!(state.branch.is_none() && state.head.is_some());
}

#[test]
fn without_a_commit_or_without_git_the_dir_itself_can_be_used() {
    let project = Project::without_git();
    let error = create(&project.spec(WorkspaceMode::Worktree)).expect_err("no git");
    assert!(
        matches!(error, WorkspaceError::NoGit { .. }) && error.hint().is_some_and(|hint| hint.contains("--in-place"))
    );
    project.git(&["init", "--quiet"]);
    project.write("a", "a");
    let error = create(&project.spec(WorkspaceMode::Worktree)).expect_err("no commit");
    assert!(matches!(error, WorkspaceError::NoCommit { .. }), "{error}");
    let workspace = project.create(WorkspaceMode::InPlace);
    assert_eq!(workspace.dir(), project.project_dir);
    project.write("a", "b");
    let after = workspace.snapshot("after").expect("a tree");
    assert_eq!(workspace.modified(workspace.base(), &after).expect("files"), ["a"]);
    assert!(project.try_git_in(&project.project_dir, &["rev-parse", "HEAD"]).status.code() != Some(0), "still unborn");
}

#[test]
fn a_subdirectory_is_the_same_subdirectory_in_the_worktree() {
    let project = Project::new();
    std::fs::create_dir(project.project_dir.join("empty")).expect("a directory");
    for name in ["src", "empty"] {
        let spec = WorkspaceSpec {
            id: format!("t-{name}"),
            project_dir: project.project_dir.join(name),
            ..project.spec(WorkspaceMode::Worktree)
        };
        let workspace = create(&spec).expect("a workspace");
        assert!(workspace.dir().ends_with(format!("t-{name}/{name}")) && workspace.dir().is_dir());
    }
}

#[test]
fn submodules_are_checked_out_and_a_failure_says_what_to_do() {
    let project = Project::new();
    let library = Project::new();
    project.git(&["submodule", "--quiet", "add", library.project_dir.to_str().expect("UTF-8"), "lib"]);
    project.commit("submodule");
    assert!(inspect(&project.project_dir, &project.env()).expect("a state").has_submodules);
    let workspace = project.create(WorkspaceMode::Worktree);
    assert_eq!(read(workspace.dir().join("lib/b.txt")), "b\n");
    assert_eq!(workspace.snapshot("now").expect("a tree"), *workspace.base());
    // A submodule with changes of its own cannot be carried over.
    project.write("lib/b.txt", "changed\n");
    let error = create(&WorkspaceSpec { id: "t2".into(), ..project.spec(WorkspaceMode::WorktreeWithChanges) });
    assert!(matches!(&error, Err(WorkspaceError::SubmoduleChanges { files }) if files == &["lib"]), "{error:?}");
    project.git_in(&project.project_dir.join("lib"), &["checkout", "--quiet", "."]);
    std::fs::remove_dir_all(&library.project_dir).expect("removed");
    let spec = WorkspaceSpec { id: "t3".into(), ..project.spec(WorkspaceMode::Worktree) };
    for _ in 0..2 {
        let error = create(&spec).expect_err("the library is gone");
        assert!(matches!(error, WorkspaceError::Submodules { .. }), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("--in-place")));
    }
}

#[test]
fn files_are_copied_and_setup_commands_run_before_the_agent_starts() {
    let project = Project::new();
    project.write(".env", "KEY=1\n");
    project.write("target/conf/dev.toml", "x = 1\n");
    let mut spec = project.spec(WorkspaceMode::Worktree);
    spec.copy = vec![".env".into(), "target/conf/dev.toml".into(), "missing".into()];
    spec.setup = vec!["cat .env > target/seen".into(), "test -z \"$GIT_DIR\" && echo made > made.txt".into()];
    spec.env.as_mut().expect("variables").push(("GIT_DIR".into(), "/nowhere".into()));
    let workspace = create(&spec).expect("a workspace");
    assert_eq!(read(workspace.dir().join("target/seen")), "KEY=1\n");
    assert_eq!(read(workspace.dir().join("target/conf/dev.toml")), "x = 1\n");
    let mode = workspace.dir().join(".env").metadata().expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let now = workspace.snapshot("now").expect("a tree");
    assert_eq!(now, *workspace.base(), "what setup commands made is not the agent's work");
}

#[test]
fn a_setup_command_that_fails_is_shown_with_its_output() {
    let project = Project::new();
    let mut spec = project.spec(WorkspaceMode::Worktree);
    spec.setup = vec!["echo no such toolchain >&2; exit 7".into()];
    let error = create(&spec).expect_err("a failure");
    assert_eq!(
        error.to_string(),
        "the setup command `echo no such toolchain >&2; exit 7` failed (exit status 7): no such toolchain"
    );
    spec.setup = Vec::new();
    create(&spec).expect("the half-made worktree is replaced");
}

#[test]
fn copied_files_follow_no_link_and_stay_inside() {
    let project = Project::new();
    let secret = project.temp.path().join("secret");
    write(&secret, "key");
    symlink(&secret, project.project_dir.join("link.log")).expect("a link");
    symlink(project.temp.path(), project.project_dir.join("dir.log")).expect("a link");
    for path in ["link.log", "dir.log/secret", "../secret", "/etc/passwd", "src", "", ".", "src/.."] {
        let spec = WorkspaceSpec { copy: vec![path.to_owned()], ..project.spec(WorkspaceMode::Worktree) };
        let error = create(&spec).expect_err(path);
        assert!(matches!(error, WorkspaceError::Copy { .. }), "{path}: {error}");
    }
    // A link of the repository in the worktree is not followed either.
    std::fs::create_dir(project.temp.path().join("outside")).expect("a directory");
    symlink(project.temp.path().join("outside"), project.project_dir.join("conf")).expect("a link");
    project.commit("link");
    std::fs::remove_file(project.project_dir.join("conf")).expect("removed");
    project.write("conf/dev.log", "x");
    let spec = WorkspaceSpec { copy: vec!["conf/dev.log".into()], ..project.spec(WorkspaceMode::WorktreeWithChanges) };
    project.git(&["update-index", "--assume-unchanged", "conf"]);
    let _ = create(&spec);
    assert!(!project.temp.path().join("outside/dev.log").exists());
}

#[test]
fn ids_that_leave_the_directory_are_refused() {
    let project = Project::new();
    for id in ["", "..", "../x", "a/b", "-x", ".x", "a b", "x.lock", "x.creating", "a..b", "x."] {
        let spec = WorkspaceSpec { id: id.to_owned(), ..project.spec(WorkspaceMode::Worktree) };
        assert!(matches!(create(&spec), Err(WorkspaceError::BadName { .. })), "{id:?}");
    }
}

#[test]
fn half_made_worktrees_are_made_again() {
    let project = Project::new();
    let spec = project.spec(WorkspaceMode::Worktree);
    let root = spec.parent.join("t1");
    let marker = spec.parent.join("t1.creating");
    let worktree_add = ["worktree", "add", "--quiet", "-b", "belay/t1", root.to_str().expect("UTF-8")];
    let half_states: [&dyn Fn(); 6] = [
        &|| {},
        // Killed before git wrote the `.git` file: registered, locked, without a link.
        &|| {
            project.git(&worktree_add);
            std::fs::remove_file(root.join(".git")).expect("removed");
            write(&project.project_dir.join(".git/worktrees/t1/locked"), "initializing");
        },
        // Killed during the checkout.
        &|| {
            project.git(&worktree_add);
            std::fs::remove_file(root.join("a.txt")).expect("removed");
            write(&project.project_dir.join(".git/worktrees/t1/index.lock"), "");
        },
        // The directory is gone, its registration is not.
        &|| {
            project.git(&worktree_add);
            std::fs::remove_dir_all(&root).expect("removed");
        },
        // Only the branch.
        &|| drop(project.git(&["branch", "belay/t1", "HEAD~1"])),
        // Files without git.
        &|| write(&root.join("x/y"), "half"),
    ];
    for (index, half_state) in half_states.iter().enumerate() {
        write(&marker, "");
        half_state();
        let workspace = create(&spec).unwrap_or_else(|error| panic!("state {index}: {error}"));
        assert_eq!(files(workspace.dir()), files(&project.project_dir), "state {index}");
        assert_eq!(project.git_in(workspace.dir(), &["status", "--porcelain"]), "");
        assert!(!marker.exists());
        project.git(&["worktree", "remove", "--force", root.to_str().expect("UTF-8")]);
        project.git(&["branch", "--quiet", "-D", "belay/t1"]);
    }
}

#[test]
fn a_complete_worktree_is_replaced_only_while_nothing_happened_in_it() {
    let project = Project::new();
    let spec = project.spec(WorkspaceMode::Worktree);
    let first = create(&spec).expect("a workspace");
    // The caller crashed before it stored the workspace.
    assert_eq!(as_json(&create(&spec).expect("again")), as_json(&first));
    write(&first.dir().join("work.txt"), "work");
    let has_work = |result| matches!(result, Err(WorkspaceError::HasWork { .. }));
    assert!(has_work(create(&spec)));
    commit(&project, first.dir(), "work");
    assert!(has_work(create(&spec)));
    std::fs::remove_file(first.dir().join(".git")).expect("removed");
    assert!(has_work(create(&spec)));
    std::fs::remove_dir_all(first.dir()).expect("removed");
    assert!(has_work(create(&spec)), "the branch holds the work");
    write(&spec.parent.join("t2/file"), "someone's");
    let occupied = create(&WorkspaceSpec { id: "t2".into(), ..spec.clone() });
    assert!(matches!(occupied, Err(WorkspaceError::Occupied { .. })));
    assert_eq!(read(spec.parent.join("t2/file")), "someone's");
}

fn as_json(workspace: &Workspace) -> serde_json::Value {
    serde_json::to_value(workspace).expect("JSON")
}
