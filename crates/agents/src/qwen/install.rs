//! Qwen Code's settings: `hooks` in `~/.qwen/settings.json`, or in the project's.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::ID;
use super::hook::EVENTS;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, add_entries, entry_timeout, hook_command,
    remove_entries,
};
use crate::spec::HookEvent;

/// How long the agent waits for a hook without a timeout, in milliseconds.
const DEFAULT_TIMEOUT: u64 = 60_000;

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
        let command = hook_command(context, ID, None);
        let entry = |event: &HookEvent| {
            // Large values are milliseconds in every version; newer ones read small values as seconds.
            let hook = json!({ "type": "command", "command": command, "timeout": event.timeout_millis() });
            HookEntry { event: event.name, value: json!({ "hooks": [hook] }) }
        };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        add_entries(context, settings(context), ID, &[], &entries)
    }

    fn installed_timeout(&self, context: &InstallContext<'_>, event: &str) -> Option<Duration> {
        entry_timeout(context, &settings(context), ID, event, DEFAULT_TIMEOUT).map(Duration::from_millis)
    }

    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        remove_entries(context, settings(context), ID)
    }
}
