//! Cursor's hook file: `~/.cursor/hooks.json`, or the project's. From its documentation only.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use super::hook::EVENTS;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, SelfTestCall, add_entries, hook_command,
    remove_entries,
};

/// Installs the hooks.
#[derive(Debug)]
pub(crate) struct CursorInstaller;

fn file(context: &InstallContext<'_>) -> PathBuf {
    context.settings_path(context.dirs.home.join(".cursor"), ".cursor", "hooks.json")
}

impl HookInstaller for CursorInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let value = json!({ "command": hook_command(context, ID, None) });
        let entries: Vec<HookEntry> =
            EVENTS.iter().map(|event| HookEntry { event: event.name, value: value.clone() }).collect();
        add_entries(context, file(context), ID, &[("version", Value::from(1))], &entries)
    }

    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        remove_entries(context, file(context), ID)
    }

    fn self_test_call(&self, context: &InstallContext<'_>, session: &str) -> SelfTestCall {
        let payload = json!({ "conversation_id": session, "hook_event_name": "sessionStart" });
        SelfTestCall {
            command: hook_command(context, ID, None),
            payload: payload.to_string(),
            session: session.to_owned(),
        }
    }

    fn user_note(&self, _setting: &InstallContext<'_>) -> Option<String> {
        Some("Cursor is experimental: its hooks follow the documentation and are not tested.".to_owned())
    }
}
