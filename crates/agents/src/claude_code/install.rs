//! Claude Code's settings: `hooks` in `~/.claude/settings.json`, or in the project's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::ID;
use super::hook::EVENTS;
use crate::install::jsonc_edit::JsoncDocument;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, PLUGIN_ID, add_entries, entry_timeout,
    has_plugin, hook_command, remove_entries,
};
use crate::spec::HookEvent;

/// How long the agent waits for a hook without a timeout, in seconds.
const DEFAULT_TIMEOUT: u64 = 600;

/// Installs the hooks.
#[derive(Debug)]
pub(crate) struct ClaudeCodeInstaller;

fn settings(context: &InstallContext<'_>) -> PathBuf {
    let user = context.dirs.var("CLAUDE_CONFIG_DIR").map_or_else(|| context.dirs.home.join(".claude"), PathBuf::from);
    context.settings_path(user, ".claude", "settings.json")
}

const STATUS_LINE_PATH: &[&str] = &["statusLine", "command"];

fn is_belay_status_line(command: &str) -> bool {
    let program = command.split_once(" statusline").and_then(|(program, _)| program.rsplit('/').next());
    program.is_some_and(|program| program.trim_matches('\'').starts_with("belay"))
}

fn open(path: &Path, text: Option<&str>) -> Result<JsoncDocument, InstallError> {
    JsoncDocument::new(text.unwrap_or_default()).map_err(|error| InstallError::edit(path, error))
}

impl HookInstaller for ClaudeCodeInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let command = hook_command(context, ID, None);
        let entry = |event: &HookEvent| {
            let hook = json!({ "type": "command", "command": command, "timeout": event.timeout.as_secs() });
            HookEntry { event: event.name, value: json!({ "hooks": [hook] }) }
        };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        add_entries(context, settings(context), ID, &[], &entries)
    }

    fn installed_timeout(&self, context: &InstallContext<'_>, event: &str) -> Option<Duration> {
        entry_timeout(context, &settings(context), ID, event, DEFAULT_TIMEOUT).map(Duration::from_secs)
    }

    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let path = settings(context);
        let mut changes = remove_entries(context, path.clone(), ID)?;
        let text = match changes.first() {
            Some(change) => change.after.clone(),
            None => context.text(&path)?,
        };
        let mut document = open(&path, text.as_deref())?;
        if document.get(STATUS_LINE_PATH).and_then(|line| Some(is_belay_status_line(line.as_str()?))) == Some(true) {
            document.remove_member("statusLine").map_err(|error| InstallError::edit(&path, error))?;
            changes = context.change(path, Some(document.text().to_owned()))?.into_iter().collect();
        }
        Ok(changes)
    }

    fn status_line(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let path = settings(context);
        let text = context.text(&path)?;
        let mut document = open(&path, text.as_deref())?;
        let line = json!({ "type": "command", "command": context.belay.to_shell("statusline") });
        document.set_if_absent("statusLine", &line).map_err(|error| InstallError::edit(&path, error))?;
        Ok(context.change(path, Some(document.text().to_owned()))?.into_iter().collect())
    }

    fn blocking_setting(&self, context: &InstallContext<'_>) -> Option<String> {
        let path = settings(context);
        let document = open(&path, context.text(&path).ok()?.as_deref()).ok()?;
        if document.get(&["disableAllHooks"]) == Some(true.into()) {
            return Some(format!("{} sets disableAllHooks; no hook runs until it is removed", path.display()));
        }
        has_plugin(&document)
            .then(|| format!("the Belay plugin is installed too; keep one: claude plugin uninstall {PLUGIN_ID}"))
    }
}
