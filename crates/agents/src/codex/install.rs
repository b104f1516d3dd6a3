//! Codex's hook file and the trust it asks for.
//!
//! Hooks stand in `~/.codex/hooks.json` or the project's `.codex/hooks.json`. Codex runs a hook only
//! once it is trusted: by its place in the file and a hash of what it says, kept in the user's
//! `config.toml`. Its TUI asks; `codex exec` skips what is not trusted without a word. So the trust
//! is written with the hook: it is the same consent, given once.

mod trust;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use crate::install::json::Document;
use crate::install::{Change, Entry, InstallError, Recipe, Setting, Trial, add_entries, command, remove_entries};

/// The recipe.
#[derive(Debug)]
pub(crate) struct Install;

/// Event, its name in trust keys, and seconds before Codex goes on without an answer. It gives the
/// last two no more than three.
const EVENTS: &[(&str, &str, u32)] = &[
    ("SessionStart", "session_start", 10),
    ("UserPromptSubmit", "user_prompt_submit", 10),
    ("PreToolUse", "pre_tool_use", 10),
    ("PermissionRequest", "permission_request", 10),
    ("PostToolUse", "post_tool_use", 10),
    ("PreCompact", "pre_compact", 10),
    ("SubagentStart", "subagent_start", 10),
    ("SubagentStop", "subagent_stop", 10),
    ("Stop", "stop", 10),
    ("SessionEnd", "session_end", 3),
    ("Interrupt", "interrupt", 3),
];

fn home(setting: &Setting<'_>) -> PathBuf {
    setting.dirs.var("CODEX_HOME").map_or_else(|| setting.dirs.home.join(".codex"), PathBuf::from)
}

fn hooks(setting: &Setting<'_>) -> PathBuf {
    setting.below(home(setting), ".codex", "hooks.json")
}

impl Recipe for Install {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        let command = command(setting, ID, None, false);
        let entry = |(event, _, timeout): &(&'static str, &str, u32)| {
            let hook = json!({ "type": "command", "command": command, "timeout": timeout });
            Entry { event, value: json!({ "hooks": [hook] }) }
        };
        let entries: Vec<Entry> = EVENTS.iter().map(entry).collect();
        let mut changes = add_entries(setting, hooks(setting), ID, &[], &entries)?;
        let text = match changes.first().and_then(|change| change.after.clone()) {
            Some(after) => after,
            None => setting.text(&hooks(setting))?.unwrap_or_default(),
        };
        let document = Document::new(&text).map_err(|e| InstallError::edit(&hooks(setting), e))?;
        let mut trusted = Vec::new();
        for (entry, (_, name, timeout)) in entries.iter().zip(EVENTS) {
            let groups = document.get(&["hooks", entry.event]).unwrap_or_default();
            let at = groups.as_array().and_then(|groups| groups.iter().position(|group| *group == entry.value));
            if let Some(at) = at {
                trusted.push((format!("{name}:{at}:0"), trust::hash(name, &command, *timeout)));
            }
        }
        changes.extend(trust::write(setting, &home(setting).join("config.toml"), &hooks(setting), &trusted)?);
        Ok(changes)
    }

    fn remove(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        let path = hooks(setting);
        let text = setting.text(&path)?.unwrap_or_default();
        let document = Document::new(&text).map_err(|e| InstallError::edit(&path, e))?;
        let mut changes = remove_entries(setting, path.clone(), ID)?;
        // A file that held nothing but our hooks was ours.
        for change in &mut changes {
            if change.after.as_deref().is_some_and(|after| after.trim() == "{}") {
                change.after = None;
            }
        }
        let ours: Vec<String> = EVENTS
            .iter()
            .flat_map(|(event, name, _)| {
                let groups = document.get(&["hooks", event]).unwrap_or_default();
                let groups = groups.as_array().cloned().unwrap_or_default();
                groups
                    .into_iter()
                    .enumerate()
                    .filter(|(_, group)| mentions_us(group))
                    .map(move |(at, _)| format!("{name}:{at}:0"))
            })
            .collect();
        changes.extend(trust::forget(setting, &home(setting).join("config.toml"), &path, &ours)?);
        Ok(changes)
    }

    fn trial(&self, setting: &Setting<'_>, session: &str) -> Trial {
        let payload = json!({ "session_id": session, "hook_event_name": "SessionStart", "source": "startup" });
        Trial { command: command(setting, ID, None, false), payload: payload.to_string(), session: session.to_owned() }
    }

    fn silence(&self) -> &'static str {
        "Codex skips hooks whose trust does not match: run `belay init --agent codex` again, and start a new session"
    }
}

fn mentions_us(group: &Value) -> bool {
    let hooks = group.get("hooks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    hooks.iter().filter_map(|hook| hook.get("command")?.as_str()).any(|command| command.contains(" hook codex"))
}
