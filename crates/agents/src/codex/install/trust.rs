//! Which hooks Codex trusts: `[hooks.state."<file>:<event>:<group>:<hook>"] trusted_hash = "sha256:..."`.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::install::{FileChange, InstallContext, InstallError};

/// A trusted hook.
#[derive(Debug)]
pub(super) struct TrustedHook {
    /// `<event>:<group>:<hook>`.
    pub(super) key_suffix: String,
    pub(super) hash: String,
}

/// The name of an event in trust keys: `PreToolUse` becomes `pre_tool_use`.
pub(in crate::codex) fn event_key(event: &str) -> String {
    let mut key = String::with_capacity(event.len() + 4);
    for c in event.chars() {
        if c.is_ascii_uppercase() && !key.is_empty() {
            key.push('_');
        }
        key.push(c.to_ascii_lowercase());
    }
    key
}

/// The hash Codex computes of a hook: its canonical JSON, with the defaults filled in.
pub(in crate::codex) fn hash(event: &str, command: &str, timeout: u64, status: Option<&str>) -> String {
    let mut hook = json!({ "async": false, "command": command, "timeout": timeout, "type": "command" });
    if let Some(status) = status {
        hook["statusMessage"] = status.into();
    }
    // serde_json sorts keys and writes no whitespace, which is the canonical form.
    let canonical = json!({ "event_name": event, "hooks": [hook] }).to_string();
    let digest = Sha256::digest(canonical.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The paths under which Codex may record the file: as given, and with symbolic links resolved.
fn names(hooks: &Path) -> Vec<String> {
    let dir = hooks.parent().and_then(|dir| dir.canonicalize().ok());
    let real = dir.zip(hooks.file_name()).map(|(dir, name)| dir.join(name));
    let mut names: Vec<String> = [Some(hooks.to_owned()), real].into_iter().flatten().map(text).collect();
    names.dedup();
    names
}

fn text(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

/// The change that makes Codex trust our hooks in `hooks` after a change, and no longer those before it: a position
/// that now belongs to another hook must not stay trusted.
pub(super) fn update(
    context: &InstallContext<'_>,
    config: &Path,
    hooks: &Path,
    before: &[TrustedHook],
    after: &[TrustedHook],
) -> Result<Option<FileChange>, InstallError> {
    let old = context.text(config)?;
    if old.is_none() && after.is_empty() {
        return Ok(None);
    }
    let mut document = read(config, old.as_deref())?;
    let trusted = |item: &Item| item.get("trusted_hash").and_then(Item::as_str).map(str::to_owned);
    let state = document.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Item::as_table_like);
    let (mut stale, mut missing): (Vec<String>, Vec<(String, &str)>) = (Vec::new(), Vec::new());
    for file in names(hooks) {
        let wanted: Vec<(String, &str)> =
            after.iter().map(|hook| (format!("{file}:{}", hook.key_suffix), hook.hash.as_str())).collect();
        let is_stale = |key: &str, item: &Item| {
            key.starts_with(&format!("{file}:"))
                && wanted.iter().all(|(one, _)| one != key)
                && trusted(item).is_some_and(|hash| before.iter().any(|hook| hook.hash == hash))
        };
        let entries = state.into_iter().flat_map(TableLike::iter);
        stale.extend(entries.filter(|(key, item)| is_stale(key, item)).map(|(key, _)| key.to_owned()));
        let is_trusted = |key: &str, hash: &str| state?.get(key).and_then(trusted).filter(|known| known == hash);
        missing.extend(wanted.into_iter().filter(|(key, hash)| is_trusted(key, hash).is_none()));
    }
    // Even an unchanged document does not always serialize to the bytes it was parsed from.
    if stale.is_empty() && missing.is_empty() {
        return Ok(None);
    }
    let fail = |what: &str| InstallError::edit(config, format!("`{what}` is not a table"));
    let all = subtable(document.as_table_mut(), "hooks").ok_or_else(|| fail("hooks"))?;
    let state = subtable(all, "state").ok_or_else(|| fail("hooks.state"))?;
    for key in stale {
        state.remove(&key);
    }
    for (key, hash) in missing {
        let entry = state.entry(&key).or_insert_with(|| Item::Table(Table::new()));
        entry["trusted_hash"] = value(hash);
    }
    // A table with its own header was written by the user.
    if state.is_empty() && state.is_implicit() {
        all.remove("state");
    }
    if all.is_empty() && all.is_implicit() {
        document.remove("hooks");
    }
    context.change(config.to_owned(), Some(with_layout_of(old.as_deref().unwrap_or_default(), document.to_string())))
}

/// Restores what `toml_edit` drops: the byte order mark and CRLF line ends.
fn with_layout_of(old: &str, new: String) -> String {
    const BOM: &str = "\u{feff}";
    let new = if old.contains("\r\n") { new.replace("\r\n", "\n").replace('\n', "\r\n") } else { new };
    if old.starts_with(BOM) { format!("{BOM}{new}") } else { new }
}

fn read(config: &Path, text: Option<&str>) -> Result<DocumentMut, InstallError> {
    text.unwrap_or_default().parse().map_err(|error: toml_edit::TomlError| InstallError::edit(config, error))
}

/// A nested table, without its own header until it has values.
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
            assert_eq!(super::hash(event, "/opt/belay hook codex", timeout, None), format!("sha256:{hash}"));
        }
    }
}
