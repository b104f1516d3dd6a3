//! The trust dialog that Gemini CLI shows before it starts a session, by its own files.

use std::path::Path;

use serde_json::Value;

use crate::launch::{LaunchContext, read_json};

/// The dialog that an interactive start shows first. `None` if there is none, or if that is not known.
pub(super) fn first_dialog(context: &LaunchContext<'_>) -> Option<String> {
    let headless = context.has_flag(&["-p", "--prompt", "--skip-trust", "--list-sessions", "--delete-session"]);
    if headless || context.env_var("GEMINI_CLI_TRUST_WORKSPACE").as_deref() == Some("true") {
        return None;
    }
    let dir = context.user.home.join(".gemini");
    let settings = read_json(&dir.join("settings.json")).unwrap_or_default();
    if settings.pointer("/security/folderTrust/enabled") == Some(&Value::Bool(false)) {
        return None;
    }
    let rules = read_json(&dir.join("trustedFolders.json")).unwrap_or_default();
    let covers = |(path, rule): (&String, &Value)| match rule.as_str() {
        Some("TRUST_FOLDER") => context.dir.starts_with(path),
        Some("TRUST_PARENT") => Path::new(path).parent().is_some_and(|parent| context.dir.starts_with(parent)),
        _ => context.dir == Path::new(path),
    };
    let is_decided = rules.as_object().is_some_and(|rules| rules.iter().any(covers));
    (!is_decided).then(|| format!("does Gemini CLI trust {}?", context.dir.display()))
}
