//! Cursor's hook file: `~/.cursor/hooks.json`, or the project's. From its documentation only.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use crate::install::{Change, Entry, InstallError, Recipe, Setting, Trial, add_entries, command, remove_entries};

/// The recipe.
#[derive(Debug)]
pub(crate) struct Install;

const EVENTS: &[&str] =
    &["sessionStart", "sessionEnd", "beforeSubmitPrompt", "preToolUse", "postToolUse", "postToolUseFailure", "stop"];

fn file(setting: &Setting<'_>) -> PathBuf {
    setting.below(setting.dirs.home.join(".cursor"), ".cursor", "hooks.json")
}

impl Recipe for Install {
    fn agent(&self) -> &'static str {
        ID
    }

    fn experimental(&self) -> bool {
        true
    }

    fn install(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        let value = json!({ "command": command(setting, ID, None, false) });
        let entries: Vec<Entry> = EVENTS.iter().map(|event| Entry { event, value: value.clone() }).collect();
        add_entries(setting, file(setting), ID, &[("version", Value::from(1))], &entries)
    }

    fn remove(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        remove_entries(setting, file(setting), ID)
    }

    fn trial(&self, setting: &Setting<'_>, session: &str) -> Trial {
        let payload = json!({ "conversation_id": session, "hook_event_name": "sessionStart" });
        Trial { command: command(setting, ID, None, false), payload: payload.to_string(), session: session.to_owned() }
    }

    fn note(&self, _setting: &Setting<'_>) -> Option<String> {
        Some("Cursor is experimental: its hooks were written from documentation and not tried.".to_owned())
    }
}
