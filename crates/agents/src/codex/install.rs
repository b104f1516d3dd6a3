//! Codex's hook file, and its trust record.
//!
//! Hooks are in `~/.codex/hooks.json` or the project's `.codex/hooks.json`. Codex runs a hook only if it is trusted: by
//! its position in the file and a hash of its content, stored in the user's `config.toml`. The terminal UI asks;
//! `codex exec` silently skips untrusted hooks. The trust is therefore written with the hook, as part of the same
//! confirmation.

pub(super) mod trust;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::ID;
use super::hook::{EVENTS, status_message};
use crate::install::jsonc_edit::JsoncDocument;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, PLUGIN_ID, add_entries, entry_timeout,
    hook_command, is_belay_entry, remove_entries,
};
use crate::spec::HookEvent;

use trust::TrustedHook;

/// How long the agent waits for a hook without a timeout, in seconds.
const DEFAULT_TIMEOUT: u64 = 600;

/// Installs the hooks.
#[derive(Debug)]
pub(crate) struct CodexInstaller;

fn home(context: &InstallContext<'_>) -> PathBuf {
    context.dirs.var("CODEX_HOME").map_or_else(|| context.dirs.home.join(".codex"), PathBuf::from)
}

fn hooks(context: &InstallContext<'_>) -> PathBuf {
    context.settings_path(home(context), ".codex", "hooks.json")
}

impl HookInstaller for CodexInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let command = hook_command(context, ID, None);
        let entry = |event: &HookEvent| {
            let mut hook = json!({ "type": "command", "command": command, "timeout": event.timeout.as_secs() });
            if let Some(message) = status_message(event) {
                hook["statusMessage"] = message.into();
            }
            HookEntry { event: event.name, value: json!({ "hooks": [hook] }) }
        };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        let path = hooks(context);
        let before = belay_hooks(context, &path, None)?;
        let mut changes = add_entries(context, path.clone(), ID, &[], &entries)?;
        let after = belay_hooks(context, &path, changes.first().and_then(|change| change.after.as_deref()))?;
        changes.extend(trust::update(context, &home(context).join("config.toml"), &path, &before, &after)?);
        Ok(changes)
    }

    fn installed_timeout(&self, context: &InstallContext<'_>, event: &str) -> Option<Duration> {
        entry_timeout(context, &hooks(context), ID, event, DEFAULT_TIMEOUT).map(Duration::from_secs)
    }

    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let path = hooks(context);
        let before = belay_hooks(context, &path, None)?;
        let mut changes = remove_entries(context, path.clone(), ID)?;
        // A file with only our hooks was created by us.
        for change in &mut changes {
            if change.after.as_deref().is_some_and(|after| after.trim() == "{}") {
                change.after = None;
            }
        }
        changes.extend(trust::update(context, &home(context).join("config.toml"), &path, &before, &[])?);
        Ok(changes)
    }

    fn blocking_setting(&self, context: &InstallContext<'_>) -> Option<String> {
        let text = context.text(&home(context).join("config.toml")).ok()??;
        let config: toml_edit::DocumentMut = text.parse().ok()?;
        config.get("plugins")?.get(PLUGIN_ID)?;
        Some(format!(
            "Codex skips the hooks of the Belay plugin until you trust each of them, and runs them twice then; \
             remove it: codex plugin remove {PLUGIN_ID}"
        ))
    }
}

/// Our hooks in the file, or in `text` if given: their positions and the hashes that Codex computes.
fn belay_hooks(
    context: &InstallContext<'_>,
    path: &Path,
    text: Option<&str>,
) -> Result<Vec<TrustedHook>, InstallError> {
    let text = match text {
        Some(text) => text.to_owned(),
        None => context.text(path)?.unwrap_or_default(),
    };
    let document = JsoncDocument::new(&text).map_err(|error| InstallError::edit(path, error))?;
    let mut found = Vec::new();
    for event in EVENTS {
        let name = trust::event_key(event.name);
        let groups = document.get(&["hooks", event.name]).unwrap_or_default();
        for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
            let hook = group.pointer("/hooks/0").filter(|_| is_belay_entry(group, ID));
            let Some(command) = hook.and_then(|hook| hook.get("command")?.as_str()) else { continue };
            let timeout = hook.and_then(|hook| hook.get("timeout")?.as_u64()).unwrap_or(event.timeout.as_secs());
            let status = hook.and_then(|hook| hook.get("statusMessage")?.as_str());
            let hash = trust::hash(&name, command, timeout, status);
            found.push(TrustedHook { key_suffix: format!("{name}:{at}:0"), hash });
        }
    }
    Ok(found)
}
