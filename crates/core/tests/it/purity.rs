//! Core has no IO, no clock, no async, no randomness. Clippy bans the calls; this test also bans the paths by
//! which they could be imported.

#![expect(clippy::disallowed_methods, reason = "the test reads the sources, core does not")]

use std::path::{Path, PathBuf};

/// What core's sources must not mention, and why.
const BANNED: &[(&str, &str)] = &[
    ("std::fs", "IO"),
    ("std::net", "IO"),
    ("std::process", "starts programs"),
    ("std::env", "reads the environment"),
    ("std::thread", "threads"),
    ("std::io::stdin", "IO"),
    ("println!", "IO"),
    ("SystemTime", "a clock"),
    ("Instant::now", "a clock"),
    ("Timestamp::now", "a clock"),
    ("Zoned::now", "a clock"),
    ("async fn", "async"),
    (".await", "async"),
    ("rand::", "randomness"),
    ("HashMap", "random order"),
    ("HashSet", "random order"),
    ("RandomState", "randomness"),
    ("thread_local", "hidden state"),
];

/// The dependencies core may have: pure libraries.
const DEPENDENCIES: &[&str] =
    &["aho-corasick", "jiff", "memchr", "regex", "schemars", "serde", "serde_json", "thiserror", "toml", "xxhash-rust"];

#[test]
fn no_source_of_core_reaches_outside() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 10, "found only {} sources under {}", files.len(), root.display());
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for (banned, why) in BANNED {
                if code.contains(banned) {
                    found.push(format!("{}:{}: `{banned}` ({why})", file.display(), number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "core must stay pure:\n{}", found.join("\n"));
}

#[test]
fn core_depends_on_pure_libraries_only() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest: toml::Table = std::fs::read_to_string(manifest).unwrap().parse().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    let foreign: Vec<_> = dependencies.keys().filter(|name| !DEPENDENCIES.contains(&name.as_str())).collect();
    assert!(foreign.is_empty(), "is it pure? then add it to the list: {foreign:?}");
}

fn sources(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a readable directory") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") && path.file_stem().is_some_and(|s| s != "tests") {
            files.push(path);
        }
    }
}
