//! Qwen Code's settings: `hooks` in `~/.qwen/settings.json`, or in the project's.

use std::path::PathBuf;

use serde_json::json;

use super::ID;
use super::hook::EVENTS;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, add_entries, hook_command, remove_entries,
};
use crate::spec::HookEvent;

/// Installs the hooks.
#[derive(Debug)]
pub(crate) struct QwenInstaller;

fn settings(context: &InstallContext<'_>) -> PathBuf {
    context.settings_path(context.dirs.home.join(".qwen"), ".qwen", "settings.json")
}

impl HookInstaller for QwenInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let hook = json!({ "type": "command", "command": hook_command(context, ID, None) });
        let entry = |event: &HookEvent| HookEntry { event: event.name, value: json!({ "hooks": [hook] }) };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        add_entries(context, settings(context), ID, &[], &entries)
    }

    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        remove_entries(context, settings(context), ID)
    }
}
