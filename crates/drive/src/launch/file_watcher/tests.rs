use std::sync::mpsc::channel;

use belay_core::Digest;
use belay_core::event::ChangeKind;

use super::*;

/// The changes that are reported while `work` runs.
fn watch_during(root: &Path, work: impl FnOnce(&Path)) -> Vec<FileChanged> {
    let fence = tempfile::tempdir().unwrap();
    let (sender, reported) = channel();
    let report = move |changes: Vec<FileChanged>| changes.into_iter().for_each(|change| sender.send(change).unwrap());
    let watch = FileWatcher::start(root, fence.path().canonicalize().unwrap(), report).unwrap();
    // Once the first change is reported, the whole tree is watched.
    std::fs::write(root.join("probe"), "").unwrap();
    assert!(reported.recv_timeout(Duration::from_secs(60)).unwrap().path.ends_with("probe"));
    work(root);
    drop(watch);
    let relative =
        |change: FileChanged| FileChanged { path: change.path.replace(&format!("{}/", root.display()), ""), ..change };
    reported.iter().map(relative).filter(|change| change.path != "probe").collect()
}

/// A small project under git.
fn project(work: impl FnOnce(&Path)) -> Vec<FileChanged> {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".gitignore"), "target/\n*.log\n").unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir_all(root.join("target")).unwrap();
    std::fs::write(root.join("src/lib.rs"), "one").unwrap();
    // Older than the start of the watch.
    for path in ["src/lib.rs", "src", "target", ".gitignore", ".git", "."] {
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
        std::fs::File::open(root.join(path)).unwrap().set_modified(long_ago).unwrap();
    }
    watch_during(&root, work)
}

#[test]
fn changes_are_reported_with_digests_except_in_ignored_files() {
    let changes = project(|root| {
        std::fs::write(root.join("target/out"), "built").unwrap();
        std::fs::write(root.join("debug.log"), "noise").unwrap();
        std::fs::write(root.join(".git/index"), "git's own").unwrap();
        std::fs::write(root.join("src/lib.rs"), "two").unwrap();
    });
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["src/lib.rs"], "{changes:?}");
    assert_eq!((changes[0].change, changes[0].after), (ChangeKind::Modified, Some(Digest::from_bytes("two"))));
}

#[test]
fn a_new_directory_is_watched_with_its_files() {
    let changes = project(|root| {
        std::fs::create_dir_all(root.join("new/deep")).unwrap();
        std::fs::write(root.join("new/deep/file"), "x").unwrap();
    });
    assert!(changes.iter().any(|change| change.path == "new/deep/file"), "{changes:?}");
}

#[test]
fn a_deleted_file_is_reported() {
    let changes = project(|root| std::fs::remove_file(root.join("src/lib.rs")).unwrap());
    assert_eq!((changes[0].path.as_str(), changes[0].change), ("src/lib.rs", ChangeKind::Deleted));
}

#[test]
fn a_temporary_file_is_not_reported() {
    let changes = project(|root| {
        std::fs::write(root.join("src/lib.rs.tmp"), "two").unwrap();
        std::fs::rename(root.join("src/lib.rs.tmp"), root.join("src/lib.rs")).unwrap();
        std::fs::write(root.join("src/new.rs"), "new").unwrap();
    });
    let reported: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.change)).collect();
    assert_eq!(reported, [("src/lib.rs", ChangeKind::Modified), ("src/new.rs", ChangeKind::Created)]);
}

#[test]
fn changed_ignore_rules_apply_at_once() {
    let changes = project(|root| {
        std::fs::write(root.join(".gitignore"), "*.out\n").unwrap();
        std::fs::write(root.join("a.out"), "noise").unwrap();
        std::fs::write(root.join("b.log"), "no longer ignored").unwrap();
    });
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, [".gitignore", "b.log"]);
}

#[test]
fn ignored_directories_of_a_large_tree_are_not_visited() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::write(root.join(".gitignore"), "node_modules\n").unwrap();
    for (top, dirs) in [("src", 200), ("node_modules", 800)] {
        for n in 0..dirs {
            let dir = root.join(top).join(n.to_string());
            std::fs::create_dir_all(&dir).unwrap();
            (0..100).for_each(|n| drop(std::fs::File::create(dir.join(n.to_string())).unwrap()));
        }
    }
    let tree = WorkTree::around(&root).unwrap();
    let (mut dirs, mut files) = (0, 0);
    tree.visit(&root, |_| dirs += 1, |_| files += 1);
    assert_eq!((dirs, files), (1 + 1 + 200, 1 + 200 * 100), "ignored directories are not visited");
    let changes = watch_during(&root, |root| {
        std::fs::write(root.join("src/199/99"), "changed").unwrap();
        std::fs::write(root.join("node_modules/0/0"), "changed").unwrap();
    });
    let reported: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.change)).collect();
    assert_eq!(reported, [("src/199/99", ChangeKind::Modified)]);
}

#[test]
fn the_home_directory_is_not_a_project() {
    assert!(WorkTree::around(Path::new("/")).is_none());
    let home = std::env::home_dir().unwrap();
    assert!(home.join(".git").exists() || WorkTree::around(&home).is_none());
}
