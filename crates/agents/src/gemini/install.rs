//! Gemini CLI's settings: `hooks` in `~/.gemini/settings.json`, or in the project's.
//!
//! `AfterModel` is left out on purpose: it fires for every piece of an answer that streams in.

use std::path::PathBuf;

use serde_json::json;

use super::ID;
use crate::install::json::Document;
use crate::install::{Change, Entry, InstallError, Recipe, Scope, Setting, add_entries, command, remove_entries};

/// The recipe.
#[derive(Debug)]
pub(crate) struct Install;

/// Milliseconds before Gemini CLI goes on without an answer.
const TIMEOUT: u32 = 10_000;

const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "BeforeTool",
    "AfterTool",
    "Notification",
];

fn settings(setting: &Setting<'_>) -> PathBuf {
    setting.below(setting.dirs.home.join(".gemini"), ".gemini", "settings.json")
}

impl Recipe for Install {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        let command = command(setting, ID, None, false);
        let hook = json!({ "type": "command", "name": "belay", "command": command, "timeout": TIMEOUT });
        let entry = |event: &&'static str| Entry { event, value: json!({ "hooks": [hook] }) };
        let entries: Vec<Entry> = EVENTS.iter().map(entry).collect();
        add_entries(setting, settings(setting), ID, &[], &entries)
    }

    fn remove(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        remove_entries(setting, settings(setting), ID)
    }

    fn obstacle(&self, setting: &Setting<'_>) -> Option<String> {
        let path = settings(setting);
        let document = Document::new(&setting.text(&path).ok()??).ok()?;
        let off = document.get(&["hooksConfig", "enabled"]) == Some(false.into());
        let names = document.get(&["hooksConfig", "disabled"]).unwrap_or_default();
        let ours = names.as_array().is_some_and(|names| names.contains(&"belay".into()));
        (off || ours).then(|| format!("{} switches hooks off (hooksConfig); no hook of ours runs", path.display()))
    }

    fn note(&self, setting: &Setting<'_>) -> Option<String> {
        (setting.scope == Scope::Project)
            .then(|| "Gemini CLI runs a project's hooks only in a folder you trust (`/permissions`).".to_owned())
    }
}
