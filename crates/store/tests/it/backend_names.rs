//! Only this crate names a database: every other one opens its store with `belay_store::open`.

use std::path::{Path, PathBuf};

const BACKEND_NAMES: &[&str] = &["SqliteStore", "rusqlite"];

/// Crates that read the database of another program.
const READS_FOREIGN_DATABASES: &[&str] = &["agents", "agent-tests"];

#[test]
fn no_other_crate_names_a_backend() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let mut folders = vec![crates.join("../xtask/src")];
    for entry in std::fs::read_dir(crates).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name != "store" && !READS_FOREIGN_DATABASES.contains(&name) {
            folders.push(path.join("src"));
        }
    }
    let mut files = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        collect_sources(folder, &mut files);
    }
    assert!(files.len() > 100, "found only {} sources", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        for (number, line) in text.lines().enumerate() {
            if BACKEND_NAMES.iter().any(|name| line.contains(name)) {
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use belay_store::open:\n{}", found.join("\n"));
}

fn collect_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect_sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
