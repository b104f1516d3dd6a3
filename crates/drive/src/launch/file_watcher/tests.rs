use std::sync::mpsc::channel;

use belay_core::Digest;
use belay_core::event::ChangeKind;

use super::*;

/// What is told of a project while `work` goes on in it.
fn watched(root: &Path, work: impl FnOnce(&Path)) -> Vec<FileChanged> {
    let fence = tempfile::tempdir().unwrap();
    let (tell, told) = channel();
    let tell = move |changes: Vec<FileChanged>| changes.into_iter().for_each(|change| tell.send(change).unwrap());
    let watch = FileWatcher::start(root, fence.path().canonicalize().unwrap(), tell).unwrap();
    // The whole tree is watched when the first change in it is told.
    std::fs::write(root.join("probe"), "").unwrap();
    assert!(told.recv_timeout(Duration::from_secs(60)).unwrap().path.ends_with("probe"));
    work(root);
    drop(watch);
    let relative =
        |change: FileChanged| FileChanged { path: change.path.replace(&format!("{}/", root.display()), ""), ..change };
    told.iter().map(relative).filter(|change| change.path != "probe").collect()
}

/// A small project under git.
fn project(work: impl FnOnce(&Path)) -> Vec<FileChanged> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".gitignore"), "target/\n*.log\n").unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir_all(root.join("target")).unwrap();
    std::fs::write(root.join("src/lib.rs"), "one").unwrap();
    // All of this was there long before.
    for path in ["src/lib.rs", "src", "target", ".gitignore", ".git", "."] {
        let yesterday = SystemTime::now() - Duration::from_secs(86_400);
        std::fs::File::open(root.join(path)).unwrap().set_modified(yesterday).unwrap();
    }
    watched(&root, work)
}

#[test]
fn changes_are_told_with_what_files_hold_and_ignored_ones_are_not() {
    let changes = project(|root| {
        std::fs::write(root.join("target/out"), "built").unwrap();
        std::fs::write(root.join("debug.log"), "noise").unwrap();
        std::fs::write(root.join(".git/index"), "git's own").unwrap();
        std::fs::write(root.join("src/lib.rs"), "two").unwrap();
    });
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["src/lib.rs"], "{changes:?}");
    assert_eq!((changes[0].change, changes[0].after), (ChangeKind::Modified, Some(Digest::of("two"))));
}

#[test]
fn a_new_folder_is_watched_with_what_is_in_it() {
    let changes = project(|root| {
        std::fs::create_dir_all(root.join("new/deep")).unwrap();
        std::fs::write(root.join("new/deep/file"), "x").unwrap();
    });
    assert!(changes.iter().any(|change| change.path == "new/deep/file"), "{changes:?}");
}

#[test]
fn a_file_that_goes_is_told() {
    let changes = project(|root| std::fs::remove_file(root.join("src/lib.rs")).unwrap());
    assert_eq!((changes[0].path.as_str(), changes[0].change), ("src/lib.rs", ChangeKind::Deleted));
}

#[test]
fn a_file_that_only_comes_and_goes_is_not_told() {
    let changes = project(|root| {
        std::fs::write(root.join("src/lib.rs.tmp"), "two").unwrap();
        std::fs::rename(root.join("src/lib.rs.tmp"), root.join("src/lib.rs")).unwrap();
        std::fs::write(root.join("src/new.rs"), "new").unwrap();
    });
    let told: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.change)).collect();
    assert_eq!(told, [("src/lib.rs", ChangeKind::Modified), ("src/new.rs", ChangeKind::Created)]);
}

#[test]
fn new_rules_count_at_once() {
    let changes = project(|root| {
        std::fs::write(root.join(".gitignore"), "*.out\n").unwrap();
        std::fs::write(root.join("a.out"), "noise").unwrap();
        std::fs::write(root.join("b.log"), "no noise any more").unwrap();
    });
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, [".gitignore", "b.log"]);
}

#[test]
fn a_tree_of_a_hundred_thousand_files_is_walked_without_what_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join(".gitignore"), "node_modules\n").unwrap();
    for (top, folders) in [("src", 200), ("node_modules", 800)] {
        for n in 0..folders {
            let folder = root.join(top).join(n.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            (0..100).for_each(|n| drop(std::fs::File::create(folder.join(n.to_string())).unwrap()));
        }
    }
    let tree = WorkTree::of(&root).unwrap();
    let (mut folders, mut files) = (0, 0);
    tree.each(&root, |_| folders += 1, |_| files += 1);
    assert_eq!((folders, files), (1 + 1 + 200, 1 + 200 * 100), "what is ignored is not even looked at");
    let changes = watched(&root, |root| {
        std::fs::write(root.join("src/199/99"), "changed").unwrap();
        std::fs::write(root.join("node_modules/0/0"), "changed").unwrap();
    });
    let told: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.change)).collect();
    assert_eq!(told, [("src/199/99", ChangeKind::Modified)]);
}

#[test]
fn a_home_folder_is_nobodys_project() {
    assert!(WorkTree::of(Path::new("/")).is_none());
    let home = std::env::home_dir().unwrap();
    assert!(home.join(".git").exists() || WorkTree::of(&home).is_none());
}
