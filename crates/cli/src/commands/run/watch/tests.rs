use std::sync::mpsc::channel;

use super::*;

/// A small project under git, with the changes that are told while `work` goes on.
fn watched(work: impl FnOnce(&Path)) -> Vec<FileChanged> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".gitignore"), "target/\n*.log\n").unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir_all(root.join("target")).unwrap();
    std::fs::write(root.join("src/lib.rs"), "one").unwrap();
    let (tell, told) = channel();
    let watch =
        Watch::start(&root, move |changes| changes.into_iter().for_each(|change| tell.send(change).unwrap())).unwrap();
    // The watch is on when its first change is told.
    let probe = root.join("probe");
    let mut n = 0;
    while told.recv_timeout(Duration::from_millis(500)).is_err() {
        n += 1;
        std::fs::write(&probe, n.to_string()).unwrap();
        assert!(n < 100, "nothing is ever told");
    }
    work(&root);
    drop(watch);
    let relative =
        |change: FileChanged| FileChanged { path: change.path.replace(&format!("{}/", root.display()), ""), ..change };
    told.iter().map(relative).filter(|change| change.path != "probe").collect()
}

#[test]
fn changes_are_told_with_what_files_hold_and_ignored_ones_are_not() {
    let changes = watched(|root| {
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
    let changes = watched(|root| {
        std::fs::create_dir_all(root.join("new/deep")).unwrap();
        std::fs::write(root.join("new/deep/file"), "x").unwrap();
    });
    assert!(changes.iter().any(|change| change.path == "new/deep/file"), "{changes:?}");
}

#[test]
fn a_file_that_goes_is_told() {
    let changes = watched(|root| std::fs::remove_file(root.join("src/lib.rs")).unwrap());
    assert_eq!((changes[0].path.as_str(), changes[0].change), ("src/lib.rs", ChangeKind::Deleted));
}

#[test]
fn a_home_folder_is_nobodys_project() {
    assert!(Tree::of(Path::new("/")).is_none());
    let home = std::env::home_dir().unwrap();
    assert!(home.join(".git").exists() || Tree::of(&home).is_none());
}
