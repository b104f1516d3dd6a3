//! Copilot CLI's hook files: one of our own in `~/.copilot/hooks`, or in the project's `.github/hooks`.
//!
//! A hook that cannot start denies the tool, so every command steps aside where Belay is gone.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use super::hook::EVENTS;
use crate::install::jsonc_edit::JsoncDocument;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, PLUGIN_ID, Scope, SelfTestCall, add_entries,
    has_plugin, hook_command, remove_entries,
};
use crate::spec::HookEvent;

/// The recipe.
#[derive(Debug)]
pub(crate) struct CopilotInstaller;

fn home(setting: &InstallContext<'_>) -> PathBuf {
    setting.dirs.var("COPILOT_HOME").map_or_else(|| setting.dirs.home.join(".copilot"), PathBuf::from)
}

fn file(setting: &InstallContext<'_>) -> PathBuf {
    setting.settings_path(home(setting).join("hooks"), ".github/hooks", "belay.json")
}

impl HookInstaller for CopilotInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let entry = |event: &HookEvent| {
            let command = hook_command(setting, ID, Some(event.name), true);
            let hook = json!({ "type": "command", "bash": command, "timeoutSec": event.timeout.as_secs() });
            HookEntry { event: event.name, value: hook }
        };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        add_entries(setting, file(setting), ID, &[("version", Value::from(1))], &entries)
    }

    fn remove(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        // The file is ours, but somebody may have put hooks of his own into it.
        let mut changes = remove_entries(setting, file(setting), ID)?;
        for change in &mut changes {
            let rest = change.after.as_deref().and_then(|after| serde_json::from_str::<Value>(after).ok());
            if rest.is_some_and(|rest| rest.get("hooks").is_none()) {
                change.after = None;
            }
        }
        Ok(changes)
    }

    fn self_test_call(&self, setting: &InstallContext<'_>, session: &str) -> SelfTestCall {
        SelfTestCall {
            command: hook_command(setting, ID, Some("sessionStart"), true),
            payload: json!({ "sessionId": session, "source": "new" }).to_string(),
            session: session.to_owned(),
        }
    }

    fn blocking_setting(&self, setting: &InstallContext<'_>) -> Option<String> {
        let text = setting.text(&home(setting).join("settings.json")).ok()??;
        let twice = JsoncDocument::new(&text).is_ok_and(|document| has_plugin(&document));
        // It gives its calls no ids: heard twice, they count twice.
        twice.then(|| format!("its plugin is there too; keep one: copilot plugin uninstall {PLUGIN_ID}"))
    }

    fn user_note(&self, setting: &InstallContext<'_>) -> Option<String> {
        (setting.scope == Scope::Project).then(|| {
            "Copilot runs a project's hooks only in a folder you trust; with `-p` it needs --trust-folder.".to_owned()
        })
    }
}
