//! Codex's hook file and the trust it asks for.
//!
//! Hooks stand in `~/.codex/hooks.json` or the project's `.codex/hooks.json`. Codex runs a hook only
//! once it is trusted: by its place in the file and a hash of what it says, kept in the user's
//! `config.toml`. Its TUI asks; `codex exec` skips what is not trusted without a word. So the trust
//! is written with the hook: it is the same consent, given once.

pub(super) mod trust;

use std::path::{Path, PathBuf};

use serde_json::json;

use super::ID;
use super::hook::EVENTS;
use crate::install::jsonc_edit::JsoncDocument;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, PLUGIN_ID, add_entries, hook_command,
    is_ours_entry, remove_entries,
};
use crate::spec::HookEvent;

use trust::TrustedHook;

/// The recipe.
#[derive(Debug)]
pub(crate) struct CodexInstaller;

fn home(setting: &InstallContext<'_>) -> PathBuf {
    setting.dirs.var("CODEX_HOME").map_or_else(|| setting.dirs.home.join(".codex"), PathBuf::from)
}

fn hooks(setting: &InstallContext<'_>) -> PathBuf {
    setting.settings_path(home(setting), ".codex", "hooks.json")
}

impl HookInstaller for CodexInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let command = hook_command(setting, ID, None, false);
        let entry = |event: &HookEvent| {
            let hook = json!({ "type": "command", "command": command, "timeout": event.timeout.as_secs() });
            HookEntry { event: event.name, value: json!({ "hooks": [hook] }) }
        };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        let path = hooks(setting);
        let before = ours(setting, &path, None)?;
        let mut changes = add_entries(setting, path.clone(), ID, &[], &entries)?;
        let after = ours(setting, &path, changes.first().and_then(|change| change.after.as_deref()))?;
        changes.extend(trust::update(setting, &home(setting).join("config.toml"), &path, &before, &after)?);
        Ok(changes)
    }

    fn remove(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let path = hooks(setting);
        let before = ours(setting, &path, None)?;
        let mut changes = remove_entries(setting, path.clone(), ID)?;
        // A file that held nothing but our hooks was ours.
        for change in &mut changes {
            if change.after.as_deref().is_some_and(|after| after.trim() == "{}") {
                change.after = None;
            }
        }
        changes.extend(trust::update(setting, &home(setting).join("config.toml"), &path, &before, &[])?);
        Ok(changes)
    }

    fn blocking_setting(&self, setting: &InstallContext<'_>) -> Option<String> {
        let text = setting.text(&home(setting).join("config.toml")).ok()??;
        let config: toml_edit::DocumentMut = text.parse().ok()?;
        config.get("plugins")?.get(PLUGIN_ID)?;
        Some(format!("its plugin is there too; keep one: codex plugin remove {PLUGIN_ID}"))
    }
}

/// Our hooks in the file, or in `text` if it is given: places, and the hashes Codex makes of them.
fn ours(setting: &InstallContext<'_>, path: &Path, text: Option<&str>) -> Result<Vec<TrustedHook>, InstallError> {
    let text = match text {
        Some(text) => text.to_owned(),
        None => setting.text(path)?.unwrap_or_default(),
    };
    let document = JsoncDocument::new(&text).map_err(|error| InstallError::edit(path, error))?;
    let mut found = Vec::new();
    for event in EVENTS {
        let name = trust::event_key(event.name);
        let groups = document.get(&["hooks", event.name]).unwrap_or_default();
        for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
            let hook = group.pointer("/hooks/0").filter(|_| is_ours_entry(group, ID));
            let Some(command) = hook.and_then(|hook| hook.get("command")?.as_str()) else { continue };
            let timeout = hook.and_then(|hook| hook.get("timeout")?.as_u64()).unwrap_or(event.timeout.as_secs());
            found.push(TrustedHook { place: format!("{name}:{at}:0"), hash: trust::hash(&name, command, timeout) });
        }
    }
    Ok(found)
}
