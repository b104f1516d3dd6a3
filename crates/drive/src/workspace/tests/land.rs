//! Work that lands in the person's directory.

use super::*;

const MESSAGE: &str = "Add c\n\nDone by a review loop.\n";

/// A worktree with an edit and a new file.
fn worked(project: &Project) -> (Workspace, TreeId) {
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("a.txt"), "one\ntwo\n3\n");
    write(&workspace.dir().join("c.txt"), "c\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    (workspace, tree)
}

#[test]
fn uncommitted_work_lands_as_one_commit_of_the_person() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    let landed = workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    assert!(matches!(&landed, Landed::Merged { branch, fast_forward: true, .. } if branch == "main"), "{landed:?}");
    assert_eq!(
        project.git(&["log", "-1", "--format=%an <%ae> %cn%n%B"]).trim(),
        format!("Pat <pat@example.com> Pat\n{MESSAGE}").trim()
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(read(project.project_dir.join("c.txt")), "c\n");
    assert_eq!(project.git(&["rev-list", "--count", "HEAD"]), "3\n");
    let before = project.state();
    assert_eq!(workspace.land(&tree, Land::Merge, MESSAGE).expect("a no-op"), Landed::AlreadyThere);
    assert_eq!(workspace.land(&tree, Land::Apply, MESSAGE).expect("a no-op"), Landed::AlreadyThere);
    assert_eq!(project.state(), before);
}

#[test]
fn commits_of_the_agent_are_kept_if_the_person_asks() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    project.git_in(workspace.dir(), &["checkout", "--quiet", "-b", "feature"]);
    write(&workspace.dir().join("c.txt"), "1\n");
    commit(&project, workspace.dir(), "agent 1");
    write(&workspace.dir().join("c.txt"), "2\n");
    commit(&project, workspace.dir(), "agent 2");
    let tree = workspace.snapshot("round-1").expect("a tree");
    let head = project.git_in(workspace.dir(), &["rev-parse", "HEAD"]);
    workspace.land(&tree, Land::MergeCommits, MESSAGE).expect("landed");
    assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
    // What is not committed becomes one more commit.
    write(&workspace.dir().join("c.txt"), "3\n");
    let tree = workspace.snapshot("round-2").expect("a tree");
    workspace.land(&tree, Land::MergeCommits, MESSAGE).expect("landed");
    assert_eq!(project.git(&["log", "--format=%s", "HEAD~3..HEAD"]), "Add c\nagent 2\nagent 1\n");
}

#[test]
fn a_branch_that_moved_on_is_merged() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    project.write("b.txt", "mine\n");
    project.commit("mine");
    project.git(&["tag", "main"]);
    let landed = workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    assert!(matches!(landed, Landed::Merged { fast_forward: false, .. }));
    assert_eq!(project.git(&["log", "-1", "--format=%s", "refs/heads/main^1"]), "mine\n");
    assert_eq!(
        (read(project.project_dir.join("b.txt")).as_str(), read(project.project_dir.join("c.txt")).as_str()),
        ("mine\n", "c\n")
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(workspace.land(&tree, Land::Merge, MESSAGE).expect("a no-op"), Landed::AlreadyThere);
}

#[test]
fn a_conflict_names_the_files_and_changes_nothing() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    project.write("a.txt", "one\ntwo\nthree, but mine\n");
    project.commit("mine");
    project.write("b.txt", "not committed\n");
    let before = project.state();
    let error = workspace.land(&tree, Land::Merge, MESSAGE).expect_err("a conflict");
    assert!(matches!(&error, LandError::Conflict { files, .. } if files == &["a.txt"]), "{error}");
    let error = workspace.land(&tree, Land::Apply, MESSAGE).expect_err("a conflict");
    assert!(matches!(&error, LandError::Conflict { files, .. } if files == &["a.txt"]), "{error}");
    assert_eq!(project.state(), before);
    assert!(error.hint().is_some());
    assert_eq!(workspace.snapshot("after").expect("a tree"), tree, "nothing is lost");
}

#[test]
fn uncommitted_changes_in_the_way_are_refused_and_others_are_not() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    project.write("a.txt", "mine\n");
    project.write("c.txt", "mine, untracked\n");
    let before = project.state();
    let error = workspace.land(&tree, Land::Merge, MESSAGE).expect_err("in the way");
    assert!(matches!(&error, LandError::Dirty { files } if files == &["a.txt", "c.txt"]), "{error}");
    assert_eq!(project.state(), before);
    project.git(&["checkout", "--quiet", "a.txt"]);
    std::fs::remove_file(project.project_dir.join("c.txt")).expect("removed");
    // Others stay as they are, staged or not.
    project.write("b.txt", "staged\n");
    project.git(&["add", "b.txt"]);
    project.write("b.txt", "mine\n");
    project.write("d.txt", "untracked\n");
    workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    assert_eq!(project.git(&["status", "--porcelain"]), "MM b.txt\n?? d.txt\n");
}

#[test]
fn an_ignored_file_in_the_way_is_not_overwritten() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("keep.log"), "agent\n");
    project.git_in(workspace.dir(), &["add", "--force", "keep.log"]);
    let tree = workspace.snapshot("round-1").expect("a tree");
    project.write("keep.log", "mine\n");
    let error = workspace.land(&tree, Land::Merge, MESSAGE).expect_err("in the way");
    assert!(matches!(&error, LandError::Dirty { files } if files == &["keep.log"]), "{error}");
    let error = workspace.land(&tree, Land::Apply, MESSAGE).expect_err("in the way");
    assert!(matches!(&error, LandError::Conflict { files, .. } if files == &["keep.log"]), "{error}");
    assert_eq!(read(project.project_dir.join("keep.log")), "mine\n");
}

#[test]
fn work_can_be_applied_without_a_commit() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    project.write("b.txt", "staged\n");
    project.git(&["add", "b.txt"]);
    let head = project.git(&["rev-parse", "HEAD"]);
    let landed = workspace.land(&tree, Land::Apply, MESSAGE).expect("landed");
    assert_eq!(landed, Landed::Applied { files: vec!["a.txt".into(), "c.txt".into()] });
    assert_eq!(project.git(&["status", "--porcelain"]), " M a.txt\nM  b.txt\n?? c.txt\n");
    assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(workspace.land(&tree, Land::Apply, MESSAGE).expect("a no-op"), Landed::AlreadyThere);
}

#[test]
fn work_that_the_person_went_on_with_is_not_applied_twice() {
    let project = Project::new();
    let lines = |changed: &str, last: &str| {
        (1..20)
            .map(|n| format!("{n}{}\n", if n == 9 { changed } else { "" }))
            .chain([last.to_owned()])
            .collect::<String>()
    };
    project.write("long.txt", lines("", ""));
    project.commit("long");
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("long.txt"), lines(" agent", ""));
    let tree = workspace.snapshot("round-1").expect("a tree");
    workspace.land(&tree, Land::Apply, MESSAGE).expect("landed");
    project.commit("mine");
    project.write("long.txt", lines(" agent", "mine\n"));
    let before = project.state();
    for how in [Land::Merge, Land::Apply] {
        let landed = workspace.land(&tree, how, MESSAGE).expect("a no-op");
        assert_eq!(landed, Landed::AlreadyThere);
    }
    assert_eq!(project.state(), before);
}

#[test]
fn work_that_started_with_uncommitted_changes_lands_without_them() {
    let project = Project::new();
    project.write("b.txt", "mine\n");
    project.write("mine.txt", "mine\n");
    let workspace = project.create(WorkspaceMode::WorktreeWithChanges);
    write(&workspace.dir().join("c.txt"), "c\n");
    commit(&project, workspace.dir(), "everything, the person's changes too");
    let tree = workspace.snapshot("round-1").expect("a tree");
    workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    assert_eq!(project.git(&["show", "--format=%s", "--name-only", "HEAD"]), "Add c\n\nc.txt\n");
    assert_eq!(project.git(&["status", "--porcelain"]), " M b.txt\n?? mine.txt\n");
    // Work on top of uncommitted changes can only be applied.
    write(&workspace.dir().join("b.txt"), "mine\nand more\n");
    let tree = workspace.snapshot("round-2").expect("a tree");
    let error = workspace.land(&tree, Land::Merge, MESSAGE).expect_err("in the way");
    assert!(matches!(&error, LandError::Dirty { files } if files == &["b.txt"]), "{error}");
}

#[test]
fn uncommitted_changes_and_work_on_them_are_applied_together() {
    let project = Project::new();
    project.write("b.txt", "mine\n");
    let workspace = project.create(WorkspaceMode::WorktreeWithChanges);
    write(&workspace.dir().join("b.txt"), "mine\nand more\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    workspace.land(&tree, Land::Apply, MESSAGE).expect("landed");
    assert_eq!(read(project.project_dir.join("b.txt")), "mine\nand more\n");
}

#[test]
fn a_dir_that_cannot_take_a_commit_says_why() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    project.git(&["checkout", "--quiet", "--detach"]);
    let error = workspace.land(&tree, Land::Merge, MESSAGE).expect_err("no branch");
    assert!(matches!(error, LandError::DetachedHead { .. }), "{error}");
    project.git(&["checkout", "--quiet", "main"]);
    write(&project.project_dir.join(".git/MERGE_HEAD"), project.git(&["rev-parse", "HEAD"]));
    let error = workspace.land(&tree, Land::Merge, MESSAGE).expect_err("a merge");
    assert!(matches!(error, LandError::InProgress { operation: "merge", .. }), "{error}");
    std::fs::remove_file(project.project_dir.join(".git/MERGE_HEAD")).expect("removed");
    std::fs::remove_file(project.temp.path().join("home/.gitconfig")).expect("removed");
    let before = project.state();
    let error = workspace.land(&tree, Land::Merge, MESSAGE).expect_err("no identity");
    assert!(matches!(error, LandError::NoIdentity { .. }) && error.hint().is_some(), "{error}");
    assert_eq!(project.state(), before);
}

#[test]
fn a_landing_that_died_before_the_branch_moved_can_be_repeated() {
    let project = Project::new();
    let (workspace, tree) = worked(&project);
    project.git(&["read-tree", "-m", "-u", "HEAD", tree.as_str()]);
    workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(project.git(&["rev-parse", "HEAD^{tree}"]).trim(), tree.as_str());
}

#[test]
fn an_agent_that_did_nothing_has_nothing_to_land() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    for how in [Land::Merge, Land::Apply] {
        assert_eq!(workspace.land(workspace.base(), how, MESSAGE).expect("a no-op"), Landed::AlreadyThere);
    }
}
