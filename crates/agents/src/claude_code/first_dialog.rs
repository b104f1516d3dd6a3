//! The dialogs that Claude Code shows before it starts a session, by its own state file.

use std::path::PathBuf;

use serde_json::Value;

use crate::launch::{LaunchContext, read_json};

/// How much of an API key the state file holds.
const KEY_CHARS: usize = 20;

/// The dialog that an interactive start shows first. `None` if there is none, or if that is not known.
pub(super) fn first_dialog(context: &LaunchContext<'_>) -> Option<String> {
    if context.has_flag(&["-p", "--print"]) {
        return None;
    }
    let file = context.env_var("CLAUDE_CONFIG_DIR").map_or_else(|| context.user.home.clone(), PathBuf::from);
    let file = file.join(".claude.json");
    let state = match file.exists() {
        // A file that cannot be read says nothing.
        true => read_json(&file)?,
        false => Value::Null,
    };
    if state["hasCompletedOnboarding"] != true {
        return Some("theme and login, at the first start of Claude Code".to_owned());
    }
    let is_trusted = context.dir.ancestors().any(|dir| {
        let project = state["projects"].get(dir.to_string_lossy().as_ref());
        project.is_some_and(|project| project["hasTrustDialogAccepted"] == true)
    });
    if !is_trusted {
        return Some(format!("does Claude Code trust {}?", context.dir.display()));
    }
    let key = context.env_var("ANTHROPIC_API_KEY")?;
    let shown = key.char_indices().rev().nth(KEY_CHARS - 1).map_or(key.as_str(), |(at, _)| &key[at..]);
    let answered = ["approved", "rejected"].iter().any(|answer| {
        let keys = state["customApiKeyResponses"][answer].as_array();
        keys.is_some_and(|keys| keys.iter().any(|known| known == shown))
    });
    (!answered).then(|| "may Claude Code use ANTHROPIC_API_KEY?".to_owned())
}
