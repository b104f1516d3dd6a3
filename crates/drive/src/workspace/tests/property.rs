//! Random edits.

use proptest::collection::vec;
use proptest::prelude::*;
use std::os::unix::fs::symlink;

use super::*;

#[derive(Clone, Debug)]
enum Edit {
    Write(&'static str, u8),
    Delete(&'static str),
    Link(&'static str),
    Mode(&'static str, u32),
    Stage,
    Commit,
    Switch(u8),
    Ignore(bool),
}

/// Names that are files of some edits and directories of others.
fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a.txt", "src/lib.rs", "src", "n", "n/m", "n/m/o", "x.log", "q \"u\"", "new.gen"])
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        6 => (path(), any::<u8>()).prop_map(|(path, content)| Edit::Write(path, content % 3)),
        3 => path().prop_map(Edit::Delete),
        1 => path().prop_map(Edit::Link),
        1 => (path(), prop::sample::select(vec![0o644, 0o755])).prop_map(|(path, mode)| Edit::Mode(path, mode)),
        1 => Just(Edit::Stage),
        2 => Just(Edit::Commit),
        1 => (0..3_u8).prop_map(Edit::Switch),
        1 => any::<bool>().prop_map(Edit::Ignore),
    ];
    vec(edit, 0..8)
}

fn clear(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path).expect("removed"),
        Ok(_) => std::fs::remove_file(path).expect("removed"),
        Err(_) => {}
    }
}

/// Makes room for a path: its parents become directories of the project.
fn make_room(dir: &Path, path: &str) -> PathBuf {
    let mut parent = dir.to_owned();
    let (parents, _) = path.rsplit_once('/').unwrap_or(("", ""));
    for name in parents.split('/').filter(|name| !name.is_empty()) {
        parent.push(name);
        if !parent.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            clear(&parent);
            std::fs::create_dir(&parent).expect("a directory");
        }
    }
    clear(&dir.join(path));
    dir.join(path)
}

fn make(project: &Project, dir: &Path, edit: &Edit) {
    match edit {
        Edit::Write(path, content) => std::fs::write(make_room(dir, path), [*content]).expect("a file"),
        Edit::Delete(path) => clear(&dir.join(path)),
        Edit::Link(path) => symlink("/etc/passwd", make_room(dir, path)).expect("a link"),
        Edit::Mode(path, mode) => {
            let path = dir.join(path);
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                std::fs::set_permissions(path, PermissionsExt::from_mode(*mode)).expect("a mode");
            }
        }
        Edit::Stage => drop(project.try_git_in(dir, &["add", "--all"])),
        Edit::Commit => {
            project.git_in(dir, &["add", "--all"]);
            project.git_in(dir, &["commit", "--quiet", "--allow-empty", "--message", "edit"]);
        }
        Edit::Switch(branch) => drop(project.try_git_in(dir, &["checkout", "--quiet", "-B", &format!("b{branch}")])),
        Edit::Ignore(all) => {
            std::fs::write(make_room(dir, ".gitignore"), if *all { "*.log\n*.gen\nn\n" } else { "*.log\n" })
                .expect("a file");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn restore_gives_the_same_snapshot_after_any_edits(first in edits(), then in edits()) {
        let project = Project::new();
        let workspace = project.create(WorkspaceMode::Worktree);
        let before = project.state();
        first.iter().for_each(|edit| make(&project, workspace.dir(), edit));
        let tree = workspace.snapshot("first").expect("a tree");
        let head = project.git_in(workspace.dir(), &["rev-parse", "HEAD"]);
        then.iter().for_each(|edit| make(&project, workspace.dir(), edit));
        workspace.snapshot("then").expect("a tree");
        workspace.restore(&tree).expect("restored");
        prop_assert_eq!(workspace.snapshot("again").expect("a tree"), tree.clone());
        let restored = project.git_in(workspace.dir(), &["rev-parse", "HEAD"]);
        // A later commit of exactly this tree may be kept.
        let has_tree = project.git_in(workspace.dir(), &["rev-parse", "HEAD^{tree}"]).trim() == tree.as_str();
        prop_assert!(restored == head || has_tree);
        let patch = workspace.diff(workspace.base(), &tree).expect("a diff").expect("git");
        let file = project.temp.path().join("x.diff");
        write(&file, &patch);
        if !patch.is_empty() {
            project.git(&["apply", "--check", file.to_str().expect("UTF-8")]);
        }
        prop_assert_eq!(project.state(), before);
    }
}
