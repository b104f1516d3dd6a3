//! Cursor's hook file: `~/.cursor/hooks.json`, or the project's. From its documentation only.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use super::hook::EVENTS;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, SelfTestCall, add_entries, hook_command,
    remove_entries,
};

/// The recipe.
#[derive(Debug)]
pub(crate) struct CursorInstaller;

fn file(setting: &InstallContext<'_>) -> PathBuf {
    setting.settings_path(setting.dirs.home.join(".cursor"), ".cursor", "hooks.json")
}

impl HookInstaller for CursorInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let value = json!({ "command": hook_command(setting, ID, None, false) });
        let entries: Vec<HookEntry> =
            EVENTS.iter().map(|event| HookEntry { event: event.name, value: value.clone() }).collect();
        add_entries(setting, file(setting), ID, &[("version", Value::from(1))], &entries)
    }

    fn remove(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        remove_entries(setting, file(setting), ID)
    }

    fn self_test_call(&self, setting: &InstallContext<'_>, session: &str) -> SelfTestCall {
        let payload = json!({ "conversation_id": session, "hook_event_name": "sessionStart" });
        SelfTestCall {
            command: hook_command(setting, ID, None, false),
            payload: payload.to_string(),
            session: session.to_owned(),
        }
    }

    fn user_note(&self, _setting: &InstallContext<'_>) -> Option<String> {
        Some("Cursor is experimental: its hooks were written from documentation and not tried.".to_owned())
    }
}
