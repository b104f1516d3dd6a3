//! Which hooks Codex trusts: `[hooks.state."<file>:<event>:<group>:<hook>"] trusted_hash = "sha256:..."`.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item, Table, value};

use crate::install::{Change, InstallError, Setting};

/// The hash Codex computes of a hook: its canonical JSON, with the defaults filled in.
pub(super) fn hash(event: &str, command: &str, timeout: u32) -> String {
    let hook = json!({ "async": false, "command": command, "timeout": timeout, "type": "command" });
    // serde_json keeps names sorted and writes no blanks: that is the canonical form.
    let canonical = json!({ "event_name": event, "hooks": [hook] }).to_string();
    let digest = Sha256::digest(canonical.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The file as Codex may name it: as it is, and with symbolic links followed.
fn names(hooks: &Path) -> Vec<String> {
    let folder = hooks.parent().and_then(|folder| folder.canonicalize().ok());
    let real = folder.zip(hooks.file_name()).map(|(folder, name)| folder.join(name));
    let mut names: Vec<String> = [Some(hooks.to_owned()), real].into_iter().flatten().map(text).collect();
    names.dedup();
    names
}

fn text(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

pub(super) fn write(
    setting: &Setting<'_>,
    config: &Path,
    hooks: &Path,
    trusted: &[(String, String)],
) -> Result<Option<Change>, InstallError> {
    let before = setting.text(config)?;
    let mut document = read(config, before.as_deref())?;
    let fail = |what: &str| InstallError::edit(config, format!("`{what}` is not a table"));
    let state = subtable(document.as_table_mut(), "hooks").ok_or_else(|| fail("hooks"))?;
    let state = subtable(state, "state").ok_or_else(|| fail("hooks.state"))?;
    for file in names(hooks) {
        for (place, hash) in trusted {
            let key = format!("{file}:{place}");
            let known = state.get(&key).and_then(|entry| entry.get("trusted_hash")).and_then(Item::as_str);
            if known != Some(hash) {
                let entry = state.entry(&key).or_insert_with(|| Item::Table(Table::new()));
                entry["trusted_hash"] = value(hash);
            }
        }
    }
    setting.change(config.to_owned(), Some(document.to_string()))
}

pub(super) fn forget(
    setting: &Setting<'_>,
    config: &Path,
    hooks: &Path,
    places: &[String],
) -> Result<Option<Change>, InstallError> {
    let Some(before) = setting.text(config)? else { return Ok(None) };
    let mut document = read(config, Some(&before))?;
    let Some(all) = document.get_mut("hooks").and_then(Item::as_table_mut) else { return Ok(None) };
    let Some(state) = all.get_mut("state").and_then(Item::as_table_mut) else { return Ok(None) };
    for file in names(hooks) {
        for place in places {
            state.remove(&format!("{file}:{place}"));
        }
    }
    if state.is_empty() {
        all.remove("state");
    }
    if all.is_empty() {
        document.remove("hooks");
    }
    setting.change(config.to_owned(), Some(document.to_string()))
}

fn read(config: &Path, text: Option<&str>) -> Result<DocumentMut, InstallError> {
    text.unwrap_or_default().parse().map_err(|error: toml_edit::TomlError| InstallError::edit(config, error))
}

/// A table inside a table, without a header of its own until it holds values.
fn subtable<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut Table> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    table.entry(key).or_insert_with(implicit).as_table_mut()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_is_the_one_codex_computes() {
        // From a config.toml that Codex 0.166 wrote when its dialog was answered with "Trust all and continue".
        let written = [
            ("pre_tool_use", 10, "0edf2b6934ba67cdcba5f5dd7d864d0ecddd090e00869cbcdc075784804d6c4f"),
            ("session_end", 3, "ededc14a223add5cbb21e12e1d55f852e56e182763f6f0eed3efbca36723a047"),
            ("interrupt", 3, "5079719de9016891ca15b85115aaaabb3d2ed8fa25a1a0d0cd4313a074dcb53f"),
        ];
        for (event, timeout, hash) in written {
            assert_eq!(super::hash(event, "/opt/belay hook codex", timeout), format!("sha256:{hash}"));
        }
    }
}
