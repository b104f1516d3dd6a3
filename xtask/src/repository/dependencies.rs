//! Checks the dependencies between crates against the last column of the map in ARCHITECTURE.md.
//!
//! The first cell of a row names crates by their directories. The last cell lists directories, or is `nothing` or `all above`.
//! A row may come before its crate. Dev-dependencies are free: they are not part of the product.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::read;
use crate::shell;

type Edges = BTreeMap<String, BTreeSet<String>>;

#[test]
fn crates_depend_only_on_what_the_architecture_allows() {
    let allowed = allowed();
    let mut problems = Vec::new();
    for (name, dependencies) in &actual() {
        match allowed.get(name) {
            None => problems.push(format!("{name} has no row in the map of ARCHITECTURE.md")),
            Some(row) => {
                let extra = dependencies.difference(row);
                problems.extend(extra.map(|other| format!("{name} must not depend on {other}")));
            }
        }
    }
    let unknown = allowed.values().flatten().filter(|name| !allowed.contains_key(*name)).collect::<BTreeSet<_>>();
    problems.extend(unknown.into_iter().map(|name| format!("the map of ARCHITECTURE.md has no row for {name}")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The rows of the map.
fn allowed() -> Edges {
    let text = read("ARCHITECTURE.md").unwrap();
    let table = text.lines().skip_while(|line| !line.contains("may depend on")).skip(2);
    let mut rows = Edges::new();
    for line in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let list = |cell: &str| cell.split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect();
        let dependencies: BTreeSet<String> = match cells.last() {
            Some(&"nothing") => BTreeSet::new(),
            Some(&"all above") => rows.keys().cloned().collect(),
            Some(cell) => list(cell),
            None => panic!("a row without cells: {line}"),
        };
        rows.extend(list(cells[0]).into_iter().map(|name| (name, dependencies.clone())));
    }
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no table with the column `may depend on`");
    rows
}

/// The dependencies between the packages of the workspace, by the names of their directories.
fn actual() -> Edges {
    let output = shell::cargo(&["metadata", "--no-deps", "--format-version=1"]).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let dir = |package: &Value| {
        let manifest = package["manifest_path"].as_str().unwrap();
        manifest.rsplit(['/', '\\']).nth(1).unwrap().to_owned()
    };
    let dirs: BTreeMap<_, _> = packages.iter().map(|package| (package["name"].as_str(), dir(package))).collect();
    let edges = |package: &Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let shipped = dependencies.filter(|dependency| dependency["kind"] != "dev");
        shipped.filter_map(|dependency| dirs.get(&dependency["name"].as_str()).cloned()).collect()
    };
    packages.iter().map(|package| (dir(package), edges(package))).collect()
}
