//! Gemini CLI's settings: `hooks` in `~/.gemini/settings.json`, or in the project's.
//!
//! `AfterModel` is left out on purpose: it fires for every piece of an answer that streams in.

use std::path::PathBuf;

use serde_json::json;

use super::ID;
use super::hook::EVENTS;
use crate::install::jsonc_edit::JsoncDocument;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, Scope, add_entries, hook_command,
    remove_entries,
};
use crate::spec::HookEvent;

/// The recipe.
#[derive(Debug)]
pub(crate) struct GeminiInstaller;

fn settings(setting: &InstallContext<'_>) -> PathBuf {
    setting.settings_path(setting.dirs.home.join(".gemini"), ".gemini", "settings.json")
}

impl HookInstaller for GeminiInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let command = hook_command(setting, ID, None, false);
        let entry = |event: &HookEvent| {
            let hook =
                json!({ "type": "command", "name": "belay", "command": command, "timeout": event.timeout_millis() });
            HookEntry { event: event.name, value: json!({ "hooks": [hook] }) }
        };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        add_entries(setting, settings(setting), ID, &[], &entries)
    }

    fn remove(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        remove_entries(setting, settings(setting), ID)
    }

    fn blocking_setting(&self, setting: &InstallContext<'_>) -> Option<String> {
        let path = settings(setting);
        let document = JsoncDocument::new(&setting.text(&path).ok()??).ok()?;
        let off = document.get(&["hooksConfig", "enabled"]) == Some(false.into());
        let names = document.get(&["hooksConfig", "disabled"]).unwrap_or_default();
        let ours = names.as_array().is_some_and(|names| names.contains(&"belay".into()));
        (off || ours).then(|| format!("{} switches hooks off (hooksConfig); no hook of ours runs", path.display()))
    }

    fn user_note(&self, setting: &InstallContext<'_>) -> Option<String> {
        (setting.scope == Scope::Project)
            .then(|| "Gemini CLI runs a project's hooks only in a folder you trust (`/permissions`).".to_owned())
    }
}
