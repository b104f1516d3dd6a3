//! Qwen Code's settings: `hooks` in `~/.qwen/settings.json`, or in the project's.

use std::path::PathBuf;

use serde_json::json;

use super::ID;
use crate::claude_code::install::HOOK_EVENTS;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, add_entries, hook_command, remove_entries,
};

/// The recipe.
#[derive(Debug)]
pub(crate) struct QwenInstaller;

fn settings(setting: &InstallContext<'_>) -> PathBuf {
    setting.settings_path(setting.dirs.home.join(".qwen"), ".qwen", "settings.json")
}

impl HookInstaller for QwenInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let hook = json!({ "type": "command", "command": hook_command(setting, ID, None, false) });
        let entry = |event: &&'static str| HookEntry { event, value: json!({ "hooks": [hook] }) };
        let entries: Vec<HookEntry> = HOOK_EVENTS.iter().map(entry).collect();
        add_entries(setting, settings(setting), ID, &[], &entries)
    }

    fn remove(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        remove_entries(setting, settings(setting), ID)
    }
}
