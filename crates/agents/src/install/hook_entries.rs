//! Hook entries in settings files of Claude Code's format:
//! `{"hooks": {"Event": [{"matcher": ..., "hooks": [{"type": "command", "command": ...}]}]}}`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::jsonc_edit::JsoncDocument;
use super::shell_quote::is_belay_command;
use super::{FileChange, InstallContext, InstallError};

/// One entry under one event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HookEntry {
    pub(crate) event: &'static str,
    pub(crate) value: Value,
}

/// The change that makes a settings file contain exactly these entries of ours; foreign entries are unchanged. `base`
/// are other required members.
pub(crate) fn add_entries(
    context: &InstallContext<'_>,
    path: PathBuf,
    agent: &str,
    base: &[(&str, Value)],
    entries: &[HookEntry],
) -> Result<Vec<FileChange>, InstallError> {
    let before = context.text(&path)?;
    let fail = |problem: super::jsonc_edit::JsoncError| InstallError::edit(&path, problem);
    let mut document = JsoncDocument::new(before.as_deref().unwrap_or_default()).map_err(fail)?;
    if before.is_some() && is_complete(&document, agent, entries) {
        return Ok(Vec::new());
    }
    document.remove(&["hooks"], |entry| is_belay_entry(entry, agent)).map_err(fail)?;
    for (key, value) in base {
        document.set_if_absent(key, value).map_err(fail)?;
    }
    for entry in entries {
        document.append(&["hooks", entry.event], &entry.value).map_err(fail)?;
    }
    let after = Some(document.text().to_owned());
    Ok(vec![FileChange { path, before, after }])
}

/// The change that removes our entries from a settings file.
pub(crate) fn remove_entries(
    context: &InstallContext<'_>,
    path: PathBuf,
    agent: &str,
) -> Result<Vec<FileChange>, InstallError> {
    let Some(before) = context.text(&path)? else { return Ok(Vec::new()) };
    let fail = |problem: super::jsonc_edit::JsoncError| InstallError::edit(&path, problem);
    let mut document = JsoncDocument::new(&before).map_err(fail)?;
    match document.remove(&["hooks"], |entry| is_belay_entry(entry, agent)).map_err(fail)? {
        0 => Ok(Vec::new()),
        _ => {
            let after = Some(document.text().to_owned());
            Ok(vec![FileChange { path, before: Some(before), after }])
        }
    }
}

/// The `timeout` of our entry for an event, or `default` if it has none. `None` without such an entry.
pub(crate) fn entry_timeout(
    context: &InstallContext<'_>,
    path: &Path,
    agent: &str,
    event: &str,
    default: u64,
) -> Option<u64> {
    let document = JsoncDocument::new(&context.text(path).ok()??).ok()?;
    let entries = document.get(&["hooks", event])?;
    let ours = entries.as_array()?.iter().find(|entry| is_belay_entry(entry, agent))?;
    let timeout = ours.pointer("/hooks/0/timeout").or_else(|| ours.get("timeoutSec"));
    Some(timeout.and_then(Value::as_u64).unwrap_or(default))
}

/// The id of our plugin.
pub(crate) const PLUGIN_ID: &str = "belay@belay";

/// Whether our plugin is enabled in settings that list plugins in Claude Code's format.
pub(crate) fn has_plugin(document: &JsoncDocument) -> bool {
    document.get(&["enabledPlugins", PLUGIN_ID]) == Some(true.into())
}

/// Whether the file has each of our entries once, and no others of ours.
fn is_complete(document: &JsoncDocument, agent: &str, entries: &[HookEntry]) -> bool {
    let Some(Value::Object(hooks)) = document.get(&["hooks"]) else { return false };
    let all = hooks.values().filter_map(Value::as_array).flatten();
    let ours = all.filter(|entry| is_belay_entry(entry, agent)).count();
    let there = |entry: &HookEntry| {
        hooks.get(entry.event).and_then(Value::as_array).is_some_and(|all| all.contains(&entry.value))
    };
    ours == entries.len() && entries.iter().all(there)
}

/// A group is ours if all its hooks are; a shared group is not.
pub(crate) fn is_belay_entry(entry: &Value, agent: &str) -> bool {
    let inside = entry.get("hooks").and_then(Value::as_array).map(Vec::as_slice);
    let hooks = inside.unwrap_or(std::slice::from_ref(entry));
    let ours = |hook: &Value| {
        let command = ["command", "bash"].into_iter().find_map(|key| hook.get(key)?.as_str());
        command.is_some_and(|command| is_belay_command(command, agent))
    };
    !hooks.is_empty() && hooks.iter().all(ours)
}
