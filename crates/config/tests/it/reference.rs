//! The generated reference pages are current. `BELAY_BLESS=1 cargo test` regenerates them.

use std::path::PathBuf;

fn is_current(name: &str, content: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("BELAY_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == content, "docs/reference/{name} is out of date; run BELAY_BLESS=1 cargo test -p belay-config");
}

#[test]
fn environment_page() {
    is_current("environment.md", &belay_config::env::reference_page());
}

#[test]
fn configuration_schema() {
    let schema = serde_json::to_string_pretty(&belay_config::json_schema()).unwrap() + "\n";
    is_current("config.schema.json", &schema);
}

#[test]
fn variables_name_keys_that_exist() {
    let built_in = belay_config::json_schema();
    for variable in belay_config::env::VARIABLES {
        let Some(key) = variable.key else { continue };
        let (section, name) = key.split_once('.').unwrap();
        let reference = built_in["properties"][section]["$ref"].as_str().unwrap();
        let definition = reference.strip_prefix("#/$defs/").unwrap();
        assert!(built_in["$defs"][definition]["properties"].get(name).is_some(), "{} sets {key}", variable.name);
    }
}
