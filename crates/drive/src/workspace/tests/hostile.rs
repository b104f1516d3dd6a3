//! Repositories and agents that interfere.

use super::*;

/// A program that leaves a trace when it runs.
fn trap(project: &Project, path: &Path) {
    let trace = project.temp.path().join("trace");
    write(path, format!("#!/bin/sh\necho \"$0\" >> '{}'\n", trace.display()));
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("a mode");
}

fn no_trace(project: &Project) {
    let trace = project.temp.path().join("trace");
    assert!(!trace.exists(), "{}", std::fs::read_to_string(trace).unwrap_or_default());
}

#[test]
fn hooks_and_monitors_of_the_repository_do_not_run() {
    let project = Project::new();
    for hook in
        ["post-checkout", "post-commit", "pre-commit", "post-merge", "reference-transaction", "post-index-change"]
    {
        trap(&project, &project.project_dir.join(".git/hooks").join(hook));
    }
    let monitor = project.temp.path().join("monitor");
    trap(&project, &monitor);
    project.git(&["config", "core.fsmonitor", monitor.to_str().expect("UTF-8")]);
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("c.txt"), "c\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    workspace.restore(&tree).expect("restored");
    workspace.land(&tree, Land::Merge, "c").expect("landed");
    workspace.archive(&tree).expect("archived");
    workspace.remove(&tree, false).expect("removed");
    no_trace(&project);
}

/// What git runs for every file, on the way in and on the way out.
fn set_filter(project: &Project, dir: &Path, program: &Path) {
    for (name, value) in [("clean", "clean"), ("smudge", "smudge"), ("process", "process")] {
        let name = format!("filter.x.{name}");
        project.git_in(dir, &["config", &name, &format!("{} {value}", program.display())]);
    }
}

#[test]
fn programs_that_an_agent_configures_do_not_run() {
    for mode in [WorkspaceMode::Worktree, WorkspaceMode::InPlace] {
        let project = Project::new();
        let program = project.temp.path().join("program");
        trap(&project, &program);
        let workspace = project.create(mode);
        write(&workspace.dir().join("c.txt"), "c\n");
        let tree = workspace.snapshot("round-1").expect("a tree");
        set_filter(&project, workspace.dir(), &program);
        project.git_in(workspace.dir(), &["config", "merge.x.driver", program.to_str().expect("UTF-8")]);
        write(&workspace.dir().join(".gitattributes"), "* filter=x merge=x\n");
        write(&workspace.dir().join("a.txt"), "changed\n");
        let person = project.state();
        let mut results = vec![workspace.snapshot("round-2").map(drop)];
        if mode == WorkspaceMode::Worktree {
            results.push(workspace.restore(&tree));
            results.push(workspace.archive(&tree).and_then(|_| workspace.remove(&tree, false)).map(drop));
            results.push(match workspace.land(&tree, Land::Merge, "c") {
                Err(LandError::Workspace(error)) => Err(error),
                other => panic!("{other:?}"),
            });
        }
        for result in results {
            let error = result.expect_err("refused");
            let WorkspaceError::Programs { settings, .. } = &error else { panic!("{error}") };
            assert!(settings.iter().any(|setting| setting == "filter.x.clean"), "{settings:?}");
            assert!(error.hint().is_some_and(|hint| hint.contains("config --unset-all")), "{error}");
        }
        no_trace(&project);
        assert_eq!(project.state(), person);
        // As the hint says.
        for name in ["filter.x", "merge.x"] {
            project.git(&["config", "--remove-section", name]);
        }
        workspace.snapshot("round-2").expect("a tree");
    }
}

#[test]
fn programs_in_included_files_do_not_run_either() {
    let project = Project::new();
    let program = project.temp.path().join("program");
    trap(&project, &program);
    let included = project.project_dir.join(".git/more");
    write(&included, "");
    project.git(&["config", "include.path", "more"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&included, format!("[filter \"x\"]\nclean = {}\n", program.display()));
    write(&workspace.dir().join(".gitattributes"), "* filter=x\n");
    write(&workspace.dir().join("a.txt"), "changed\n");
    let error = workspace.snapshot("round-1").expect_err("refused");
    assert!(matches!(error, WorkspaceError::Programs { .. }), "{error}");
    no_trace(&project);
}

#[test]
fn programs_of_the_person_at_the_start_run() {
    let project = Project::new();
    project.git(&["config", "filter.x.clean", "tr a b"]);
    project.git(&["config", "--global", "filter.y.clean", "tr a c"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    // As `git lfs install` does, for the person and for the repository.
    project.git(&["config", "filter.y.clean", "tr a c"]);
    // Set later: it may be the agent who writes there.
    project.git(&["config", "--global", "filter.z.clean", "tr a d"]);
    write(&workspace.dir().join(".gitattributes"), "*.x filter=x\n*.y filter=y\n*.z filter=z\n");
    write(&workspace.dir().join("a.x"), "a\n");
    write(&workspace.dir().join("a.y"), "a\n");
    write(&workspace.dir().join("a.z"), "a\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let content = |name: &str| project.git(&["show", &format!("{tree}:{name}")]);
    assert_eq!([content("a.x"), content("a.y"), content("a.z")], ["b\n", "c\n", "a\n"]);
}

#[test]
fn programs_of_a_submodule_do_not_run() {
    let (library, project) = (Project::new(), Project::new());
    project.git(&["submodule", "--quiet", "add", library.project_dir.to_str().expect("UTF-8"), "lib"]);
    project.commit("submodule");
    let program = project.temp.path().join("program");
    trap(&project, &program);
    let workspace = project.create(WorkspaceMode::Worktree);
    let tree = workspace.snapshot("round-1").expect("a tree");
    let lib = workspace.dir().join("lib");
    set_filter(&project, &lib, &program);
    write(&lib.join(".gitattributes"), "* filter=x\n");
    write(&lib.join("a.txt"), "changed\n");
    workspace.archive(&tree).expect("archived");
    for result in [workspace.remove(&tree, false).map(drop), workspace.restore(&tree)] {
        let error = result.expect_err("refused");
        assert!(matches!(error, WorkspaceError::Programs { .. }), "{error}");
    }
    no_trace(&project);
}

#[test]
fn a_git_command_that_hangs_is_ended() {
    let project = Project::new();
    project.git(&["config", "filter.x.clean", "sleep 600; cat"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join(".gitattributes"), "* filter=x\n");
    write(&workspace.dir().join("a.txt"), "changed\n");
    let cancel = CancelHandle::default();
    let workspace = workspace.with_cancel(&cancel);
    std::thread::scope(|scope| {
        let snapshot = scope.spawn(|| workspace.snapshot("round-1"));
        cancel.cancel();
        let error = snapshot.join().expect("no panic").expect_err("cancelled");
        assert!(matches!(error, WorkspaceError::GitStopped { why: GitStop::Cancelled, .. }), "{error}");
    });
    let git = Git::discover(workspace.dir(), &project.env()).with_timeout(Duration::from_millis(300));
    let error = git.run(&["add", "--all"]).expect_err("too long");
    assert!(matches!(error, WorkspaceError::GitStopped { why: GitStop::TimedOut, .. }), "{error}");
}

#[test]
fn a_deleted_or_replaced_git_file_never_leads_to_another_repository() {
    let project = Project::new();
    // Worktrees inside another repository of the person: `git` in them would find that one.
    project.git_in(project.temp.path(), &["init", "--quiet"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("c.txt"), "c\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    std::fs::remove_file(workspace.dir().join(".git")).expect("removed");
    let outer = files(project.temp.path());
    let check = || {
        for result in
            [workspace.snapshot("x").map(drop), workspace.restore(&tree), workspace.remove(&tree, false).map(drop)]
        {
            let error = result.expect_err("a broken worktree");
            assert!(matches!(error, WorkspaceError::Broken { .. }), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("worktree repair")), "{error}");
        }
    };
    check();
    assert_eq!(files(project.temp.path()), outer);
    write(&workspace.dir().join(".git"), format!("gitdir: {}\n", project.temp.path().join(".git").display()));
    check();
    std::fs::remove_file(workspace.dir().join(".git")).expect("removed");
    project.git_in(workspace.dir(), &["init", "--quiet"]);
    check();
    // The recorded work can still land.
    workspace.land(&tree, Land::Merge, "c").expect("landed");
    assert_eq!(read(project.project_dir.join("c.txt")), "c\n");
}

#[test]
fn a_relative_git_file_is_the_same_worktree() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    // As with `worktree.useRelativePaths`.
    write(&workspace.dir().join(".git"), "gitdir: ../../project/.git/worktrees/t1\n");
    assert_eq!(workspace.snapshot("x").expect("a tree"), *workspace.base());
}

#[test]
fn the_caller_s_git_variables_do_not_matter() {
    let project = Project::new();
    let mut spec = project.spec(WorkspaceMode::Worktree);
    let variables =
        [("GIT_DIR", "/nowhere"), ("GIT_INDEX_FILE", "/nowhere"), ("GIT_WORK_TREE", "/"), ("LC_ALL", "de_DE")];
    let env = spec.env.as_mut().expect("variables");
    env.extend(variables.map(|(name, value)| (name.into(), value.into())));
    let workspace = create(&spec).expect("a workspace");
    assert_eq!(workspace.snapshot("x").expect("a tree"), *workspace.base());
}

#[test]
fn a_damaged_index_does_not_matter() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&project.project_dir.join(".git/worktrees/t1/index"), "garbage");
    write(&workspace.dir().join("c.txt"), "c\n");
    let tree = workspace.snapshot("x").expect("a tree");
    assert_eq!(workspace.modified(&tree, workspace.base()).expect("files"), ["c.txt"]);
    workspace.restore(workspace.base()).expect("restored");
    assert_eq!(project.git_in(workspace.dir(), &["status", "--porcelain"]), "");
}

#[test]
fn names_are_never_options_or_patterns() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    for name in ["--help", "-rf", ":(top)x", ":!a.txt", "*.txt", "[a].txt", "HEAD", "refs"] {
        write(&workspace.dir().join(name), name);
    }
    let tree = workspace.snapshot("round-1").expect("a tree");
    assert_eq!(workspace.changed_files(workspace.base(), &tree).expect("files").len(), 8);
    project.write("*.txt", "in the way");
    let error = workspace.land(&tree, Land::Apply, "x").expect_err("a conflict");
    assert!(matches!(&error, LandError::Conflict { files, .. } if files == &["*.txt"]), "{error}");
    std::fs::remove_file(project.project_dir.join("*.txt")).expect("removed");
    workspace.land(&tree, Land::Merge, "x").expect("landed");
    assert_eq!(files(&project.project_dir), files(workspace.dir()));
}

#[test]
fn other_git_directories_are_errors_and_not_absent() {
    let project = Project::without_git();
    write(&project.project_dir.join(".git"), "gitdir: /nowhere\n");
    assert!(matches!(inspect(&project.project_dir, &project.env()), Err(WorkspaceError::Git { .. })));
}

#[test]
fn pipes_and_sockets_do_not_block_a_snapshot() {
    for project in [Project::new(), Project::without_git()] {
        let workspace = project.create(WorkspaceMode::InPlace);
        let made = Command::new("mkfifo").arg(project.project_dir.join("pipe")).status().expect("mkfifo");
        assert!(made.success());
        let _socket = std::os::unix::net::UnixListener::bind(project.project_dir.join("socket")).expect("a socket");
        assert_eq!(workspace.snapshot("x").expect("a tree"), *workspace.base());
    }
}

#[test]
fn a_submodule_can_be_the_project() {
    let (project, library) = (Project::new(), Project::new());
    project.git(&["submodule", "--quiet", "add", library.project_dir.to_str().expect("UTF-8"), "lib"]);
    project.commit("submodule");
    let project_dir = project.project_dir.join("lib");
    project.git_in(&project_dir, &["checkout", "--quiet", "-B", "main"]);
    let spec = WorkspaceSpec { project_dir: project_dir.clone(), ..project.spec(WorkspaceMode::Worktree) };
    let workspace = create(&spec).expect("a workspace");
    write(&workspace.dir().join("c.txt"), "c\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    workspace.restore(workspace.base()).expect("restored");
    workspace.restore(&tree).expect("restored");
    workspace.land(&tree, Land::Merge, "c").expect("landed");
    assert_eq!(project.git_in(&project_dir, &["status", "--porcelain"]), "");
    assert_eq!(read(project_dir.join("c.txt")), "c\n");
    assert_eq!(workspace.remove(&tree, false).expect("removed"), Removed::Removed);
}

#[test]
fn line_endings_and_filters_survive_a_restore() {
    let project = Project::new();
    project.git(&["config", "filter.shift.clean", "tr a-y b-z"]);
    project.git(&["config", "filter.shift.smudge", "tr b-z a-y"]);
    project.write(".gitattributes", "*.bin -text\n*.shift filter=shift\n");
    project.write("x.shift", "abc\n");
    project.commit("filters");
    project.git(&["config", "core.autocrlf", "true"]);
    project.git(&["config", "core.safecrlf", "true"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("a.txt"), "unix\nand\r\ndos\r\n");
    write(&workspace.dir().join("y.shift"), "def\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    workspace.restore(workspace.base()).expect("restored");
    assert_eq!(project.git_in(workspace.dir(), &["status", "--porcelain"]), "");
    workspace.restore(&tree).expect("restored");
    assert_eq!(read(workspace.dir().join("y.shift")).trim_end(), "def");
}

/// Without the check, git waits for the other end of the FIFO until the limit of its duration.
#[test]
fn a_fifo_that_git_would_read_is_refused() {
    let fifo = |path: &Path| {
        let _ = std::fs::remove_file(path);
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
    };
    for path in [
        "worktrees/t1/.gitignore",
        "worktrees/t1/src/.gitattributes",
        "worktrees/t1/target/.gitignore",
        "worktrees/t1/nested/.git/HEAD",
        "project/.gitattributes",
        "project/.git/HEAD",
        "project/.git/config",
        "project/.git/packed-refs",
        "project/.git/info/exclude",
        "project/.git/objects/info/alternates",
        "project/.git/worktrees/t1/HEAD",
        "project/.git/worktrees/t1/config.worktree",
    ] {
        let project = Project::new();
        let workspace = project.create(WorkspaceMode::Worktree);
        write(&workspace.dir().join("c.txt"), "c\n");
        let tree = workspace.snapshot("round-1").expect("a tree");
        let path = project.temp.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fifo(&path);
        let error = workspace.land(&tree, Land::Merge, "x").map(drop).map_err(|error| error.to_string());
        let mut errors = vec![error];
        if !path.starts_with(&project.project_dir) || path.starts_with(project.project_dir.join(".git")) {
            errors.push(workspace.snapshot("round-2").map(drop).map_err(|error| error.to_string()));
            errors.push(workspace.archive(&tree).map(drop).map_err(|error| error.to_string()));
        }
        if path.starts_with(&project.project_dir) {
            errors.push(inspect(&project.project_dir, &project.env()).map(drop).map_err(|error| error.to_string()));
        } else {
            assert_eq!(errors.remove(0), Ok(()), "landing reads no files of the worktree");
        }
        for error in errors {
            assert!(error.as_ref().is_err_and(|error| error.contains("git cannot read")), "{error:?}");
        }
    }
}

#[test]
fn a_fifo_outside_of_the_git_directory_is_refused() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::InPlace);
    let elsewhere = project.temp.path().join("elsewhere");
    let (git, pipe) = (project.project_dir.join(".git"), elsewhere.join("pack/pack-1.idx"));
    write(&elsewhere.join("HEAD"), "ref: refs/heads/main\n");
    std::fs::create_dir_all(elsewhere.join("pack")).expect("a directory");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let nested = project.project_dir.join("nested");
    std::fs::create_dir_all(&nested).expect("a directory");
    for (path, text) in [
        (git.join("packed-refs"), None),
        (git.join("objects/77"), None),
        (git.join("objects/info/alternates"), Some(format!("../../nothing\n{}\n", elsewhere.display()))),
        (nested.join(".git"), Some(format!("gitdir: {}\n", elsewhere.display()))),
    ] {
        let _ = std::fs::remove_dir(&path);
        match (&text, path.ends_with("77")) {
            (Some(text), _) => write(&path, text),
            (None, true) => std::os::unix::fs::symlink(&elsewhere, &path).expect("a link"),
            (None, false) => std::os::unix::fs::symlink(&pipe, &path).expect("a link"),
        }
        let error = workspace.snapshot("round-1").expect_err("refused");
        assert!(error.to_string().contains("git cannot read"), "{error}");
        std::fs::remove_file(&path).expect("removed");
    }
    workspace.snapshot("round-1").expect("a tree");
}
