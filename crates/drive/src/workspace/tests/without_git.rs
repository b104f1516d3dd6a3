//! Directories without git.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_dir_without_git_has_snapshots_and_changed_files() {
    let project = Project::without_git();
    project.write("a.txt", "a");
    project.write("b.txt", "b");
    project.write(".gitignore", "*.log\n");
    project.write(".hidden", "h");
    let workspace = project.create(WorkspaceMode::InPlace);
    project.write("x.log", "ignored");
    assert_eq!(workspace.snapshot("same").expect("a tree"), *workspace.base());
    project.write("a.txt", "changed");
    std::fs::remove_file(project.project_dir.join("b.txt")).expect("removed");
    project.write("c/new.txt", "c");
    symlink("/etc/passwd", project.project_dir.join("link")).expect("a link");
    let tree = workspace.snapshot("after").expect("a tree");
    let changed = workspace.changed_files(workspace.base(), &tree).expect("files");
    assert_eq!(changed.keys().collect::<Vec<_>>(), ["a.txt", "b.txt", "c/new.txt", "link"]);
    assert_eq!((changed["b.txt"].as_str(), changed["link"].as_str()), (DELETED, "link /etc/passwd"));
    assert_eq!(workspace.modified(workspace.base(), &tree).expect("files"), ["a.txt", "b.txt"]);
    assert_eq!(workspace.diff(workspace.base(), &tree).expect("no diff"), None);
    let unknown = workspace.modified(workspace.base(), &TreeId::new("files-../../x"));
    assert!(matches!(unknown, Err(WorkspaceError::NoManifest { .. })));
    assert_eq!(workspace.land(&tree, Land::Merge, "x").expect("nothing to do"), Landed::AlreadyThere);
    assert_eq!(workspace.remove(&tree, false).expect("nothing to do"), Removed::Nothing);
    workspace.forget_snapshots().expect("forgotten");
    assert_eq!(files(&project.project_dir).len(), 6, "only Belay's own files are gone");
}

#[test]
fn modes_and_links_count_and_are_not_followed() {
    let project = Project::without_git();
    project.write("run.sh", "#!/bin/sh\n");
    symlink(".", project.project_dir.join("loop")).expect("a link");
    let workspace = project.create(WorkspaceMode::InPlace);
    std::fs::set_permissions(project.project_dir.join("run.sh"), PermissionsExt::from_mode(0o755)).expect("a mode");
    let executable = workspace.snapshot("x").expect("a tree");
    assert_eq!(workspace.modified(workspace.base(), &executable).expect("files"), ["run.sh"]);
}

#[test]
fn a_dir_works_without_the_git_program() {
    let project = Project::without_git();
    project.write("a", "a");
    let mut spec = project.spec(WorkspaceMode::InPlace);
    spec.env = Some(vec![("PATH".into(), project.project_dir.clone().into_os_string())]);
    let workspace = create(&spec).expect("a workspace");
    assert!(workspace.base().as_str().starts_with("files-"));
    spec.mode = WorkspaceMode::Worktree;
    assert!(matches!(create(&spec), Err(WorkspaceError::GitMissing)));
}

#[test]
fn ignore_rules_that_are_no_file_are_an_error_and_do_not_block() {
    let project = Project::without_git();
    project.write("sub/a.txt", "a");
    let workspace = project.create(WorkspaceMode::InPlace);
    for dir in ["sub", ""] {
        let rules = project.project_dir.join(dir).join(".gitignore");
        assert!(Command::new("mkfifo").arg(&rules).status().expect("mkfifo").success());
        let error = workspace.snapshot("x").expect_err("refused").to_string();
        assert_eq!(error, format!("cannot read {}", rules.display()));
        std::fs::remove_file(rules).expect("removed");
    }
}
