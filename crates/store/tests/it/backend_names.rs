//! Only this crate names a backend; all others open stores with `belay_store::open`.

use std::path::{Path, PathBuf};

const BACKEND_NAMES: &[&str] = &["SqliteStore", "rusqlite"];

/// Crates that read databases of other programs.
const READS_FOREIGN_DATABASES: &[&str] = &["agents", "agent-tests", "compat"];

#[test]
fn no_other_crate_names_a_backend() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates directory");
    let mut directories = vec![crates.join("../xtask/src")];
    for entry in std::fs::read_dir(crates).expect("a readable directory") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name != "store" && !READS_FOREIGN_DATABASES.contains(&name) {
            directories.push(path.join("src"));
        }
    }
    let mut files = Vec::new();
    for directory in directories.iter().filter(|directory| directory.is_dir()) {
        collect_sources(directory, &mut files);
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

fn collect_sources(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a readable directory") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect_sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
