//! What gets into the history of the person's branch.

use super::*;

const MESSAGE: &str = "Add c\n";

/// An agent that committed a secret step and the result.
fn committed(project: &Project) -> (Workspace, TreeId) {
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("c.txt"), "secret step\n");
    commit(project, workspace.dir(), "agent 1");
    write(&workspace.dir().join("c.txt"), "c\n");
    commit(project, workspace.dir(), "agent 2");
    let tree = workspace.snapshot("round-1").expect("a tree");
    (workspace, tree)
}

#[test]
fn only_the_reviewed_tree_gets_into_history() {
    let project = Project::new();
    let (workspace, tree) = committed(&project);
    let start = project.git(&["rev-parse", "HEAD"]);
    workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    assert_eq!(project.git(&["log", "--format=%s", &format!("{}..HEAD", start.trim())]), "Add c\n");
    assert_eq!(project.git(&["rev-parse", "HEAD^{tree}"]).trim(), tree.as_str());
}

/// The person's commit, and an agent whose history claims to contain it without its content.
fn moved(project: &Project, claim: impl FnOnce(&Workspace, &str)) -> (Workspace, TreeId) {
    let workspace = project.create(WorkspaceMode::Worktree);
    project.write("b.txt", "the person's fix\n");
    project.commit("fix");
    let fix = project.git(&["rev-parse", "HEAD"]).trim().to_owned();
    write(&workspace.dir().join("c.txt"), "c\n");
    commit(project, workspace.dir(), "agent");
    claim(&workspace, &fix);
    let tree = workspace.snapshot("round-1").expect("a tree");
    (workspace, tree)
}

fn keeps_the_fix(project: &Project, workspace: &Workspace, tree: &TreeId, how: Land) {
    let landed = workspace.land(tree, how, MESSAGE).expect("landed");
    assert!(matches!(landed, Landed::Merged { fast_forward: false, .. }), "{landed:?}");
    assert_eq!(read(project.project_dir.join("b.txt")), "the person's fix\n");
    assert_eq!(read(project.project_dir.join("c.txt")), "c\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_merge_that_drops_the_person_s_commits_does_not_undo_them() {
    for how in [Land::Merge, Land::MergeCommits] {
        let project = Project::new();
        let (workspace, tree) = moved(&project, |workspace, fix| {
            project.git_in(workspace.dir(), &["merge", "--quiet", "-s", "ours", "-m", "merge", fix]);
        });
        keeps_the_fix(&project, &workspace, &tree, how);
    }
}

#[test]
fn grafts_and_replaced_commits_do_not_undo_the_person_s_commits() {
    for how in [Land::Merge, Land::MergeCommits] {
        let project = Project::new();
        let (workspace, tree) = moved(&project, |workspace, fix| {
            project.git_in(workspace.dir(), &["replace", "--graft", "HEAD", fix]);
        });
        keeps_the_fix(&project, &workspace, &tree, how);

        let project = Project::new();
        let (workspace, tree) = moved(&project, |workspace, fix| {
            let head = project.git_in(workspace.dir(), &["rev-parse", "HEAD"]);
            write(&project.project_dir.join(".git/info/grafts"), format!("{} {fix}\n", head.trim()));
        });
        keeps_the_fix(&project, &workspace, &tree, how);
    }
}

#[test]
fn a_ref_of_the_agent_does_not_say_what_landed() {
    let project = Project::new();
    let (workspace, tree) = moved(&project, |_, fix| {
        for name in ["landed", "base", "round-0"] {
            project.git(&["update-ref", &format!("refs/belay/t1/{name}"), fix]);
        }
        project.git(&["update-ref", "refs/belay/landed", fix]);
    });
    keeps_the_fix(&project, &workspace, &tree, Land::Merge);
}

#[test]
fn work_that_goes_on_after_it_landed_lands_again() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    write(&workspace.dir().join("a.txt"), "1\n");
    let tree = workspace.snapshot("round-1").expect("a tree");
    workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    project.write("b.txt", "mine\n");
    project.commit("mine");
    write(&workspace.dir().join("a.txt"), "2\n");
    let tree = workspace.snapshot("round-2").expect("a tree");
    workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    assert_eq!(
        (read(project.project_dir.join("a.txt")), read(project.project_dir.join("b.txt"))),
        ("2\n".into(), "mine\n".into())
    );
    // The person goes on.
    project.write("a.txt", "3\n");
    project.commit("three");
    assert_eq!(workspace.land(&tree, Land::Merge, MESSAGE).expect("a no-op"), Landed::AlreadyThere);
    assert_eq!(read(project.project_dir.join("a.txt")), "3\n");
}

#[test]
fn a_commit_that_the_person_took_back_does_not_return() {
    let project = Project::new();
    let (workspace, tree) = committed(&project);
    project.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    workspace.land(&tree, Land::Merge, MESSAGE).expect("landed");
    assert!(!project.project_dir.join("b.txt").exists());
    assert_eq!(read(project.project_dir.join("c.txt")), "c\n");
    assert_eq!(project.git(&["log", "--format=%s"]), "Add c\nfirst\n", "nor into the history");
    assert_eq!(workspace.land(&tree, Land::Merge, MESSAGE).expect("a no-op"), Landed::AlreadyThere);
}
