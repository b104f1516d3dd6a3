//! Gemini CLI's settings: `hooks` in `~/.gemini/settings.json`, or in the project's.
//!
//! `AfterModel` is not registered: it fires for every chunk of a streamed response.

use std::path::PathBuf;
use std::time::Duration;

use super::ID;
use super::hook::EVENTS;
use crate::install::jsonc_edit::JsoncDocument;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, Scope, add_entries, entry_timeout,
    hook_command, remove_entries,
};
use crate::spec::HookEvent;

/// How long the agent waits for a hook without a timeout, in milliseconds.
const DEFAULT_TIMEOUT: u64 = 60_000;

/// Installs the hooks.
#[derive(Debug)]
pub(crate) struct GeminiInstaller;

fn settings(context: &InstallContext<'_>) -> PathBuf {
    context.settings_path(context.dirs.home.join(".gemini"), ".gemini", "settings.json")
}

impl HookInstaller for GeminiInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let hooks = super::hook::settings(&hook_command(context, ID, None));
        let entry = |event: &HookEvent| HookEntry { event: event.name, value: hooks[event.name][0].clone() };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        add_entries(context, settings(context), ID, &[], &entries)
    }

    fn installed_timeout(&self, context: &InstallContext<'_>, event: &str) -> Option<Duration> {
        entry_timeout(context, &settings(context), ID, event, DEFAULT_TIMEOUT).map(Duration::from_millis)
    }

    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        remove_entries(context, settings(context), ID)
    }

    fn blocking_setting(&self, context: &InstallContext<'_>) -> Option<String> {
        let path = settings(context);
        let document = JsoncDocument::new(&context.text(&path).ok()??).ok()?;
        let off = document.get(&["hooksConfig", "enabled"]) == Some(false.into());
        let names = document.get(&["hooksConfig", "disabled"]).unwrap_or_default();
        let ours = names.as_array().is_some_and(|names| names.contains(&"belay".into()));
        (off || ours).then(|| format!("{} disables hooks in hooksConfig; Belay's hooks do not run", path.display()))
    }

    fn user_note(&self, context: &InstallContext<'_>) -> Option<String> {
        (context.scope == Scope::Project)
            .then(|| "Gemini CLI runs a project's hooks only in a folder you trust (`/permissions`).".to_owned())
    }
}
