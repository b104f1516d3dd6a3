//! opencode's plugin directory: our plugin in `~/.config/opencode/plugin`, or the project's `.opencode/plugin`.
//!
//! Before opencode loads any plugin, it installs its own package into this directory. If the registry does not respond,
//! npm's retries delay every start by more than a minute, so the npm settings of this directory disable retries.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use crate::install::{BelayCommand, FileChange, HookInstaller, InstallContext, InstallError, SelfTestCall};

/// Installs the hooks.
#[derive(Debug)]
pub(crate) struct OpencodeInstaller;

/// The plugin: one file without dependencies.
const PLUGIN_SOURCE: &str = include_str!("../../../../plugins/opencode/belay.js");

/// Identifies a plugin file as ours, in any version.
const PLUGIN_HEADER: &str = "Belay's plugin for opencode";

/// Placeholder in the plugin for the program to call and its options.
const PROGRAM_PLACEHOLDER: &str = "[\"belay\"] /* BELAY */";

/// The plugin that calls this program.
pub(crate) fn plugin(belay: &BelayCommand) -> String {
    let command: Vec<&str> = std::iter::once(&belay.program).chain(&belay.options).map(String::as_str).collect();
    PLUGIN_SOURCE.replace(PROGRAM_PLACEHOLDER, &Value::from(command).to_string())
}

/// The npm settings of the directory, unless it has some.
const NPM_SETTINGS: &str = "\
# Written by Belay: opencode waits for npm at every start if it has a plugin.
fetch-retries=0
fetch-timeout=10000
";

fn file(context: &InstallContext<'_>) -> PathBuf {
    context.settings_path(context.dirs.config().join("opencode/plugin"), ".opencode/plugin", "belay.js")
}

fn npm_settings(context: &InstallContext<'_>) -> PathBuf {
    context.settings_path(context.dirs.config().join("opencode"), ".opencode", ".npmrc")
}

impl HookInstaller for OpencodeInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let mut changes = Vec::from_iter(context.change(file(context), Some(plugin(context.belay)))?);
        let path = npm_settings(context);
        if context.text(&path)?.is_none() {
            changes.extend(context.change(path, Some(NPM_SETTINGS.to_owned()))?);
        }
        Ok(changes)
    }

    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        let (path, npm) = (file(context), npm_settings(context));
        let mut changes = Vec::new();
        if context.text(&path)?.is_some_and(|text| text.contains(PLUGIN_HEADER)) {
            changes.extend(context.change(path, None)?);
        }
        if context.text(&npm)?.as_deref() == Some(NPM_SETTINGS) {
            changes.extend(context.change(npm, None)?);
        }
        Ok(changes)
    }

    fn self_test_call(&self, context: &InstallContext<'_>, session: &str) -> SelfTestCall {
        SelfTestCall {
            command: context.belay.to_shell(&format!("hook {ID} session.created")),
            payload: json!({ "sessionID": session }).to_string(),
            session: session.to_owned(),
        }
    }
}
