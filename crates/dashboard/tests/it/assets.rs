//! Style sheet and scripts.

use belay_dashboard::{Theme, assets};

use crate::fixtures;
use crate::html::tags;

#[test]
fn pages_load_only_assets_that_exist() {
    for (name, page) in fixtures::pages(Theme::Dark) {
        let html = page.into_string();
        let loaded = tags(&html).into_iter().filter(|tag| ["link", "script"].contains(&tag.name));
        for address in
            loaded.filter_map(|tag| tag.get("href").or(tag.get("src"))).filter(|address| *address != "data:,")
        {
            assert!(assets::find(address).is_some(), "{name}: {address}");
        }
    }
    assert!(assets::find("/assets/../Cargo.toml").is_none());
}

#[test]
fn every_module_is_checked_and_imports_only_its_neighbours() {
    let names: Vec<&str> = assets::assets().iter().map(|asset| asset.name).collect();
    for asset in assets::assets().iter().filter(|asset| asset.name.ends_with(".js")) {
        let source = std::str::from_utf8(asset.bytes).unwrap();
        assert!(source.contains("// @ts-check"), "{}", asset.name);
        for import in source.lines().filter(|line| line.starts_with("import ")) {
            let path = import.rsplit('"').nth(1).unwrap();
            assert!(path.strip_prefix("./").is_some_and(|path| names.contains(&path)), "{}: {import}", asset.name);
        }
        for banned in ["innerHTML", "eval(", "document.write", "http://", "https://"] {
            assert!(!source.contains(banned), "{}: {banned}", asset.name);
        }
    }
}

#[test]
fn assets_of_a_page_are_small() {
    // Compressed they are about a third of it; the bar is 80 KB.
    let bytes: usize = assets::assets().iter().map(|asset| asset.bytes.len()).sum();
    assert!(bytes < 80 * 1024, "{bytes} bytes");
}
