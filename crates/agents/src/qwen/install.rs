//! Qwen Code's settings: `hooks` in `~/.qwen/settings.json`, or in the project's.

use std::path::PathBuf;

use serde_json::json;

use super::ID;
use crate::claude_code::install::EVENTS;
use crate::install::{Change, Entry, InstallError, Recipe, Setting, add_entries, command, remove_entries};

/// The recipe.
#[derive(Debug)]
pub(crate) struct Install;

fn settings(setting: &Setting<'_>) -> PathBuf {
    setting.below(setting.dirs.home.join(".qwen"), ".qwen", "settings.json")
}

impl Recipe for Install {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        let hook = json!({ "type": "command", "command": command(setting, ID, None, false) });
        let entry = |event: &&'static str| Entry { event, value: json!({ "hooks": [hook] }) };
        let entries: Vec<Entry> = EVENTS.iter().map(entry).collect();
        add_entries(setting, settings(setting), ID, &[], &entries)
    }

    fn remove(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        remove_entries(setting, settings(setting), ID)
    }
}
