//! Claude Code's settings: `hooks` in `~/.claude/settings.json`, or in the project's.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::ID;
use super::hook::EVENTS;
use crate::install::jsonc_edit::JsoncDocument;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, PLUGIN_ID, add_entries, has_plugin,
    hook_command, quote, remove_entries,
};
use crate::spec::HookEvent;

/// The recipe.
#[derive(Debug)]
pub(crate) struct ClaudeCodeInstaller;

fn settings(setting: &InstallContext<'_>) -> PathBuf {
    let user = setting.dirs.var("CLAUDE_CONFIG_DIR").map_or_else(|| setting.dirs.home.join(".claude"), PathBuf::from);
    setting.settings_path(user, ".claude", "settings.json")
}

const STATUS_LINE_PATH: &[&str] = &["statusLine", "command"];

fn is_our_line(command: &str) -> bool {
    let program = command.strip_suffix(" statusline").and_then(|program| program.rsplit('/').next());
    program.is_some_and(|program| program.trim_matches('\'').starts_with("belay"))
}

fn open(path: &Path, text: Option<&str>) -> Result<JsoncDocument, InstallError> {
    JsoncDocument::new(text.unwrap_or_default()).map_err(|error| InstallError::edit(path, error))
}

impl HookInstaller for ClaudeCodeInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let command = hook_command(setting, ID, None, false);
        let entry = |event: &HookEvent| {
            let hook = json!({ "type": "command", "command": command, "timeout": event.timeout.as_secs() });
            HookEntry { event: event.name, value: json!({ "hooks": [hook] }) }
        };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        add_entries(setting, settings(setting), ID, &[], &entries)
    }

    fn remove(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let path = settings(setting);
        let mut changes = remove_entries(setting, path.clone(), ID)?;
        let text = match changes.first() {
            Some(change) => change.after.clone(),
            None => setting.text(&path)?,
        };
        let mut document = open(&path, text.as_deref())?;
        if document.get(STATUS_LINE_PATH).and_then(|line| Some(is_our_line(line.as_str()?))) == Some(true) {
            document.remove_member("statusLine").map_err(|error| InstallError::edit(&path, error))?;
            changes = setting.change(path, Some(document.text().to_owned()))?.into_iter().collect();
        }
        Ok(changes)
    }

    fn status_line(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let path = settings(setting);
        let text = setting.text(&path)?;
        let mut document = open(&path, text.as_deref())?;
        let line = json!({ "type": "command", "command": format!("{} statusline", quote(setting.belay)) });
        document.set_if_absent("statusLine", &line).map_err(|error| InstallError::edit(&path, error))?;
        Ok(setting.change(path, Some(document.text().to_owned()))?.into_iter().collect())
    }

    fn blocking_setting(&self, setting: &InstallContext<'_>) -> Option<String> {
        let path = settings(setting);
        let document = open(&path, setting.text(&path).ok()?.as_deref()).ok()?;
        if document.get(&["disableAllHooks"]) == Some(true.into()) {
            return Some(format!("{} says disableAllHooks: no hook runs until that is gone", path.display()));
        }
        has_plugin(&document).then(|| format!("its plugin is there too; keep one: claude plugin uninstall {PLUGIN_ID}"))
    }
}
