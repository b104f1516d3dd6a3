//! Copilot CLI's hooks: our own file in `~/.copilot/hooks` or in the project's `.github/hooks`.
//!
//! A hook that fails denies the tool.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::ID;
use super::hook::EVENTS;
use crate::install::jsonc_edit::JsoncDocument;
use crate::install::{
    FileChange, HookEntry, HookInstaller, InstallContext, InstallError, PLUGIN_ID, Scope, SelfTestCall, add_entries,
    entry_timeout, has_plugin, hook_command, remove_entries,
};
use crate::spec::HookEvent;

/// How long the agent waits for a hook without a timeout, in seconds.
const DEFAULT_TIMEOUT: u64 = 30;

/// Installs the hooks.
#[derive(Debug)]
pub(crate) struct CopilotInstaller;

fn home(context: &InstallContext<'_>) -> PathBuf {
    context.dirs.var("COPILOT_HOME").map_or_else(|| context.dirs.home.join(".copilot"), PathBuf::from)
}

fn file(context: &InstallContext<'_>) -> PathBuf {
    context.settings_path(home(context).join("hooks"), ".github/hooks", "belay.json")
}

impl HookInstaller for CopilotInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let entry = |event: &HookEvent| {
            let command = hook_command(context, ID, Some(event.name));
            let hook = json!({ "type": "command", "bash": command, "timeoutSec": event.timeout.as_secs() });
            HookEntry { event: event.name, value: hook }
        };
        let entries: Vec<HookEntry> = EVENTS.iter().map(entry).collect();
        add_entries(context, file(context), ID, &[("version", Value::from(1))], &entries)
    }

    fn installed_timeout(&self, context: &InstallContext<'_>, event: &str) -> Option<Duration> {
        entry_timeout(context, &file(context), ID, event, DEFAULT_TIMEOUT).map(Duration::from_secs)
    }

    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        // The file is ours, but may contain hooks that the user added.
        let mut changes = remove_entries(context, file(context), ID)?;
        for change in &mut changes {
            let rest = change.after.as_deref().and_then(|after| serde_json::from_str::<Value>(after).ok());
            if rest.is_some_and(|rest| rest.get("hooks").is_none()) {
                change.after = None;
            }
        }
        Ok(changes)
    }

    fn self_test_call(&self, context: &InstallContext<'_>, session: &str) -> SelfTestCall {
        SelfTestCall {
            command: hook_command(context, ID, Some("sessionStart")),
            payload: json!({ "sessionId": session, "source": "new" }).to_string(),
            session: session.to_owned(),
        }
    }

    fn blocking_setting(&self, context: &InstallContext<'_>) -> Option<String> {
        let text = context.text(&home(context).join("settings.json")).ok()??;
        let twice = JsoncDocument::new(&text).is_ok_and(|document| has_plugin(&document));
        // Its calls have no ids, so calls reported twice would count twice.
        twice.then(|| format!("the Belay plugin is installed too; keep one: copilot plugin uninstall {PLUGIN_ID}"))
    }

    fn user_note(&self, context: &InstallContext<'_>) -> Option<String> {
        (context.scope == Scope::Project).then(|| {
            "Copilot runs a project's hooks only in a folder you trust; with `-p` it needs --trust-folder.".to_owned()
        })
    }
}
