//! Copilot CLI's hook files: one of our own in `~/.copilot/hooks`, or in the project's `.github/hooks`.
//!
//! A hook that cannot start denies the tool, so every command steps aside where Belay is gone.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use crate::install::json::Document;
use crate::install::{
    Change, Entry, InstallError, PLUGIN, Recipe, Scope, Setting, Trial, add_entries, command, has_plugin,
    remove_entries,
};

/// The recipe.
#[derive(Debug)]
pub(crate) struct Install;

/// Seconds before Copilot goes on without an answer.
const TIMEOUT: u32 = 10;

const EVENTS: &[&str] = &[
    "sessionStart",
    "sessionEnd",
    "userPromptSubmitted",
    "preToolUse",
    "permissionRequest",
    "postToolUse",
    "postToolUseFailure",
    "errorOccurred",
    "agentStop",
    "subagentStart",
    "subagentStop",
    "preCompact",
    "notification",
];

fn home(setting: &Setting<'_>) -> PathBuf {
    setting.dirs.var("COPILOT_HOME").map_or_else(|| setting.dirs.home.join(".copilot"), PathBuf::from)
}

fn file(setting: &Setting<'_>) -> PathBuf {
    setting.below(home(setting).join("hooks"), ".github/hooks", "belay.json")
}

impl Recipe for Install {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        let hook = |event: &&'static str| {
            let command = command(setting, ID, Some(event), true);
            Entry { event, value: json!({ "type": "command", "bash": command, "timeoutSec": TIMEOUT }) }
        };
        let entries: Vec<Entry> = EVENTS.iter().map(hook).collect();
        add_entries(setting, file(setting), ID, &[("version", Value::from(1))], &entries)
    }

    fn remove(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
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

    fn trial(&self, setting: &Setting<'_>, session: &str) -> Trial {
        Trial {
            command: command(setting, ID, Some("sessionStart"), true),
            payload: json!({ "sessionId": session, "source": "new" }).to_string(),
            session: session.to_owned(),
        }
    }

    fn obstacle(&self, setting: &Setting<'_>) -> Option<String> {
        let text = setting.text(&home(setting).join("settings.json")).ok()??;
        let twice = Document::new(&text).is_ok_and(|document| has_plugin(&document));
        // It gives its calls no ids: heard twice, they count twice.
        twice.then(|| format!("its plugin is there too; keep one: copilot plugin uninstall {PLUGIN}"))
    }

    fn note(&self, setting: &Setting<'_>) -> Option<String> {
        (setting.scope == Scope::Project).then(|| {
            "Copilot runs a project's hooks only in a folder you trust; with `-p` it needs --trust-folder.".to_owned()
        })
    }
}
