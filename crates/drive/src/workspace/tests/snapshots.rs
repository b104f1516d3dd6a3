//! Trees, diffs and restoring.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;

fn delete(path: PathBuf) {
    std::fs::remove_file(path).expect("removed");
}

/// Edits of every kind, with names of every kind.
fn edit(dir: &Path) {
    write(&dir.join("a.txt"), "one\n2\nthree");
    delete(dir.join("b.txt"));
    write(&dir.join("with space\tand\nnewline \"quoted\" ü.txt"), "x\n");
    write(&dir.join(OsStr::from_bytes(b"not-utf8-\xff.txt")), b"\xff\xfe\n");
    write(&dir.join("binary.dat"), (0..=255).cycle().take(5000).collect::<Vec<u8>>());
    write(&dir.join("run.sh"), "#!/bin/sh\n");
    std::fs::set_permissions(dir.join("run.sh"), PermissionsExt::from_mode(0o755)).expect("a mode");
    symlink("/etc/passwd", dir.join("link")).expect("a link");
    write(&dir.join("empty"), "");
    write(&dir.join("deep/er/file"), "deep\r\n");
    write(&dir.join("ignored.log"), "ignored");
}

#[test]
fn a_diff_of_edits_of_every_kind_applies_to_the_base() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    edit(workspace.dir());
    let tree = workspace.snapshot("round-1").expect("a tree");
    let patch = workspace.diff(workspace.base(), &tree).expect("a diff").expect("git");
    let copy = project.temp.path().join("copy");
    project.git(&["worktree", "add", "--quiet", "--detach", copy.to_str().expect("UTF-8")]);
    let file = project.temp.path().join("01.diff");
    write(&file, &patch);
    project.git_in(&copy, &["apply", file.to_str().expect("UTF-8")]);
    delete(workspace.dir().join("ignored.log"));
    assert_eq!(files(&copy), files(workspace.dir()));
    let changed = workspace.changed_files(workspace.base(), &tree).expect("files");
    assert_eq!(changed["b.txt"], DELETED);
    assert!(changed.contains_key("with space\tand\nnewline \"quoted\" ü.txt") && changed.contains_key("link"));
    assert!(changed.contains_key("\"not-utf8-\\377.txt\"") && !changed.contains_key("ignored.log"));
    assert_eq!(workspace.modified(workspace.base(), &tree).expect("files"), ["a.txt", "b.txt"]);
}

#[test]
fn a_diff_does_not_depend_on_the_configuration() {
    let project = Project::new();
    for setting in ["diff.noprefix=true", "diff.external=false", "color.ui=always", "core.quotePath=true"] {
        let (key, value) = setting.split_once('=').expect("a setting");
        project.git(&["config", key, value]);
    }
    project.git(&["config", "diff.upper.textconv", "tr a-z A-Z <"]);
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join(".gitattributes"), "*.txt diff=upper\n");
    write(&workspace.dir().join("ü.txt"), "u\n");
    let tree = workspace.snapshot("x").expect("a tree");
    let patch = workspace.diff(workspace.base(), &tree).expect("a diff").expect("git");
    let text = String::from_utf8(patch).expect("UTF-8");
    assert!(text.contains("diff --git a/ü.txt b/ü.txt") && text.contains("\n+u\n"), "{text}");
}

#[test]
fn snapshots_leave_index_head_and_files_alone() {
    let project = Project::new();
    project.write("a.txt", "staged\n");
    project.git(&["add", "a.txt"]);
    project.write("a.txt", "not staged\n");
    project.write("new.txt", "new\n");
    project.git(&["add", "--intent-to-add", "new.txt"]);
    let before = project.state();
    let workspace = project.create(WorkspaceMode::InPlace);
    let tree = workspace.snapshot("one").expect("a tree");
    assert_eq!(project.state(), before);
    assert_eq!(tree, *workspace.base());
    assert_eq!(project.git(&["show", &format!("{tree}:a.txt")]), "not staged\n");
    assert_eq!(project.git(&["rev-parse", "refs/belay/t1/one^{tree}"]).trim(), tree.as_str());
    project.git(&["gc", "--quiet", "--prune=now"]);
    project.git(&["cat-file", "-e", tree.as_str()]);
    for name in ["base", "landed", "a/b", ""] {
        assert!(matches!(workspace.snapshot(name), Err(WorkspaceError::BadName { .. })), "{name:?}");
    }
    workspace.forget_snapshots().expect("forgotten");
    assert_eq!(project.git(&["for-each-ref", "refs/belay/"]), "");
}

#[test]
fn changes_that_git_was_told_to_ignore_count() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    project.git_in(workspace.dir(), &["update-index", "--assume-unchanged", "a.txt"]);
    project.git_in(workspace.dir(), &["update-index", "--skip-worktree", "b.txt"]);
    write(&workspace.dir().join("a.txt"), "hidden\n");
    write(&workspace.dir().join("b.txt"), "hidden\n");
    let tree = workspace.snapshot("x").expect("a tree");
    assert_eq!(workspace.modified(workspace.base(), &tree).expect("files"), ["a.txt", "b.txt"]);
    workspace.restore(workspace.base()).expect("restored");
    assert_eq!(files(workspace.dir()), files(&project.project_dir));
}

#[test]
fn restore_undoes_edits_of_every_kind_and_keeps_ignored_files() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("c.txt"), "round 1\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let unchanged = workspace.dir().join("src/lib.rs").metadata().expect("metadata").modified().expect("a time");
    let before = files(workspace.dir());
    edit(workspace.dir());
    // Ignored now, and not any more once `.gitignore` is back.
    write(&workspace.dir().join(".gitignore"), "*.log\nhidden/\n");
    write(&workspace.dir().join("hidden/file"), "x");
    std::fs::remove_file(workspace.dir().join("c.txt")).expect("removed");
    write(&workspace.dir().join("c.txt/now/a/directory"), "x");
    project.git_in(workspace.dir(), &["init", "--quiet", "nested"]);
    write(&workspace.dir().join("nested/file"), "x");
    workspace.restore(&tree).expect("restored");
    assert_eq!(read(workspace.dir().join("ignored.log")), "ignored");
    std::fs::remove_file(workspace.dir().join("ignored.log")).expect("removed");
    assert_eq!(files(workspace.dir()), before);
    assert_eq!(project.git_in(workspace.dir(), &["status", "--porcelain"]), "?? c.txt\n");
    let now = workspace.dir().join("src/lib.rs").metadata().expect("metadata").modified().expect("a time");
    assert_eq!(now, unchanged, "unchanged files keep their time, for incremental builds");
}

#[test]
fn restore_undoes_commits_branches_and_unfinished_operations() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    let dir = workspace.dir();
    write(&dir.join("c.txt"), "one\n");
    commit(&project, dir, "agent 1");
    write(&dir.join("c.txt"), "two\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let head = project.git_in(dir, &["rev-parse", "HEAD"]);
    commit(&project, dir, "agent 2");
    project.git_in(dir, &["checkout", "--quiet", "-b", "other", "HEAD~2"]);
    write(&dir.join("c.txt"), "conflict\n");
    commit(&project, dir, "agent 3");
    assert!(!project.try_git_in(dir, &["rebase", "belay/t1"]).status.success(), "a conflict");
    write(&project.project_dir.join(".git/worktrees/t1/index.lock"), "");
    workspace.restore(&tree).expect("restored");
    assert_eq!(project.git_in(dir, &["rev-parse", "HEAD"]), head, "the commit of round 1 stays, later ones do not");
    assert_eq!(project.git_in(dir, &["branch", "--show-current"]), "belay/t1\n");
    assert_eq!(read(dir.join("c.txt")), "two\n");
    let status = project.git_in(dir, &["status"]);
    assert!(!status.contains("rebase") && status.contains("modified:   c.txt"), "{status}");
    project.git(&["rev-parse", "--verify", "other"]);
}

#[test]
fn the_person_s_own_dir_is_never_reset() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::InPlace);
    project.write("a.txt", "mine\n");
    let error = workspace.restore(workspace.base()).expect_err("a refusal");
    assert!(matches!(error, WorkspaceError::InPlace { .. }));
    assert_eq!(read(project.project_dir.join("a.txt")), "mine\n");
}

#[test]
fn submodules_are_restored_to_their_commit() {
    let project = Project::new();
    let library = Project::new();
    project.git(&["submodule", "--quiet", "add", library.project_dir.to_str().expect("UTF-8"), "lib"]);
    project.commit("submodule");
    let workspace = project.create(WorkspaceMode::Worktree);
    let lib = workspace.dir().join("lib");
    write(&lib.join("b.txt"), "agent\n");
    commit(&project, &lib, "agent");
    let tree = workspace.snapshot("moved").expect("a tree");
    assert_eq!(workspace.modified(workspace.base(), &tree).expect("files"), ["lib"]);
    workspace.restore(workspace.base()).expect("restored");
    assert_eq!(read(lib.join("b.txt")), "b\n");
}

#[test]
fn a_copied_index_is_as_old_as_the_original() {
    let project = Project::new();
    let (index, copy) = (project.project_dir.join(".git/index"), project.temp.path().join("copy"));
    let old = index.metadata().expect("metadata").modified().expect("a time") - std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(&index).expect("a file").set_modified(old).expect("a time");
    super::super::index::copy_index(&index, &copy).expect("copied");
    assert_eq!(copy.metadata().expect("metadata").modified().expect("a time"), old);
}
