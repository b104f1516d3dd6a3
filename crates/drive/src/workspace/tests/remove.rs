//! Worktrees are removed only when nothing is lost.

use super::*;

fn worked(project: &Project) -> (Workspace, TreeId) {
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("c.txt"), "c\n");
    write(&workspace.dir().join("build.log"), "ignored\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    (workspace, tree)
}

fn kept(workspace: &Workspace, tree: &TreeId, live: bool) -> KeptBecause {
    let removed = workspace.remove(tree, live).expect("an answer");
    assert!(workspace.dir().exists());
    let Removed::Kept(why) = removed else { panic!("{removed:?}") };
    why
}

#[test]
fn work_that_did_not_land_keeps_its_worktree() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    assert_eq!(kept(&workspace, &tree, false), KeptBecause::NotLanded);
    workspace.land(&tree, Land::Merge, "c").expect("landed");
    assert_eq!(kept(&workspace, &tree, true), KeptBecause::LiveSession);
    write(&workspace.dir().join("late.txt"), "late\n");
    assert_eq!(kept(&workspace, &tree, false), KeptBecause::Changed { files: vec!["late.txt".into()] });
    commit(&project, workspace.dir(), "late");
    project.git_in(workspace.dir(), &["rm", "--quiet", "late.txt"]);
    assert_eq!(kept(&workspace, &tree, false), KeptBecause::Commits);
    workspace.restore(&tree).expect("restored");
    assert_eq!(workspace.remove(&tree, false).expect("removed"), Removed::Removed);
    assert!(!workspace.dir().exists());
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(workspace.remove(&tree, false).expect("nothing"), Removed::Nothing);
    let patch = workspace.diff(workspace.base(), &tree).expect("a diff").expect("git");
    assert!(!patch.is_empty(), "the record of the work outlives its worktree");
    assert!(matches!(workspace.snapshot("x"), Err(WorkspaceError::Broken { .. })));
}

#[test]
fn archived_work_is_a_branch() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    let before = project.state();
    assert_eq!(workspace.archive(&tree).expect("archived").as_deref(), Some("belay/t1"));
    assert_eq!(project.git_in(workspace.dir(), &["status", "--porcelain"]), "");
    assert_eq!(workspace.archive(&tree).expect("again").as_deref(), Some("belay/t1"));
    assert_eq!(workspace.remove(&tree, false).expect("removed"), Removed::Removed);
    workspace.forget_snapshots().expect("forgotten");
    assert_eq!(project.git(&["show", "belay/t1:c.txt"]), "c\n");
    assert_eq!(project.state(), before);
}

#[test]
fn changed_files_are_archived() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("a.txt"), "changed\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    workspace.archive(&tree).expect("archived");
    assert_eq!(project.git_in(workspace.dir(), &["status", "--porcelain"]), "");
    assert_eq!(workspace.remove(&tree, false).expect("removed"), Removed::Removed);
    assert_eq!(project.git(&["show", "belay/t1:a.txt"]), "changed\n");
}

#[test]
fn a_deleted_archive_is_none() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    workspace.archive(&tree).expect("archived");
    project.git(&["update-ref", "refs/heads/belay/t1", "HEAD"]);
    assert_eq!(kept(&workspace, &tree, false), KeptBecause::NotLanded);
}

#[test]
fn work_in_a_submodule_keeps_the_worktree() {
    let project = Project::new();
    let library = Project::new();
    project.git(&["submodule", "--quiet", "add", library.project_dir.to_str().expect("UTF-8"), "lib"]);
    project.commit("submodule");
    let (workspace, tree) = worked(&project);
    workspace.land(&tree, Land::Merge, "c").expect("landed");
    let lib = workspace.dir().join("lib");
    write(&lib.join("b.txt"), "agent\n");
    let why = kept(&workspace, &tree, false);
    assert_eq!(why, KeptBecause::Submodules { submodules: vec!["lib".into()] });
    commit(&project, &lib, "agent");
    let moved = workspace.snapshot("moved").expect("a tree");
    workspace.archive(&moved).expect("archived");
    assert_eq!(kept(&workspace, &moved, false), why, "the commit exists only here");
    workspace.restore(&tree).expect("restored");
    assert_eq!(workspace.remove(&tree, false).expect("removed"), Removed::Removed);
}

#[test]
fn a_removal_that_died_half_way_is_finished() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    workspace.archive(&tree).expect("archived");
    write(&project.temp.path().join("worktrees/t1.removing"), "");
    std::fs::remove_file(workspace.dir().join(".git")).expect("removed");
    std::fs::remove_file(workspace.dir().join("a.txt")).expect("removed");
    assert_eq!(kept(&workspace, &tree, true), KeptBecause::LiveSession);
    assert_eq!(workspace.remove(&tree, false).expect("removed"), Removed::Removed);
    let left = std::fs::read_dir(project.temp.path().join("worktrees")).expect("a directory").flatten();
    assert_eq!(left.map(|entry| entry.file_name()).collect::<Vec<_>>(), ["t1.git"]);
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn worktrees_of_the_person_are_not_pruned() {
    let project = Project::new();
    let other = project.temp.path().join("unmounted");
    project.git(&["worktree", "add", "--quiet", other.to_str().expect("UTF-8")]);
    std::fs::remove_dir_all(&other).expect("removed");
    let (workspace, tree) = worked(&project);
    workspace.archive(&tree).expect("archived");
    assert_eq!(workspace.remove(&tree, false).expect("removed"), Removed::Removed);
    assert!(project.git(&["worktree", "list"]).contains("unmounted"));
}
