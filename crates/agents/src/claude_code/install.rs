//! Claude Code's settings: `hooks` in `~/.claude/settings.json`, or in the project's.

use std::path::PathBuf;

use serde_json::json;

use super::ID;
use crate::install::{Change, Entry, InstallError, Recipe, Setting, Trial, add_entries, command, remove_entries};

/// The recipe.
#[derive(Debug)]
pub(crate) struct Install;

/// Seconds before Claude Code goes on without an answer.
const TIMEOUT: u32 = 10;

pub(crate) const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
];

fn settings(setting: &Setting<'_>) -> PathBuf {
    let user = setting.dirs.var("CLAUDE_CONFIG_DIR").map_or_else(|| setting.dirs.home.join(".claude"), PathBuf::from);
    setting.below(user, ".claude", "settings.json")
}

impl Recipe for Install {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        let hook = json!({ "type": "command", "command": command(setting, ID, None, false), "timeout": TIMEOUT });
        let entry = |event: &&'static str| Entry { event, value: json!({ "hooks": [hook] }) };
        let entries: Vec<Entry> = EVENTS.iter().map(entry).collect();
        add_entries(setting, settings(setting), ID, &[], &entries)
    }

    fn remove(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        remove_entries(setting, settings(setting), ID)
    }

    fn trial(&self, setting: &Setting<'_>, session: &str) -> Trial {
        let payload = json!({ "session_id": session, "hook_event_name": "SessionStart", "source": "startup" });
        Trial { command: command(setting, ID, None, false), payload: payload.to_string(), session: session.to_owned() }
    }

    fn silence(&self) -> &'static str {
        "start a new session (running ones keep the hooks they began with), and accept the folder's trust dialog; \
         `/hooks` in Claude Code lists what it knows"
    }
}
