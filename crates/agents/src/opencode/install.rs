//! opencode's plugin folder: our plugin in `~/.config/opencode/plugin`, or the project's `.opencode/plugin`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use crate::install::{FileChange, HookInstaller, InstallContext, InstallError, SelfTestCall, quote};

/// The recipe.
#[derive(Debug)]
pub(crate) struct OpencodeInstaller;

/// The plugin. It is one file without dependencies, so that installing it is writing it.
const PLUGIN_SOURCE: &str = include_str!("../../../../plugins/opencode/belay.js");

/// Stands in the plugin for the program to call.
const PROGRAM_PLACEHOLDER: &str = "\"belay\" /* BELAY */";

/// The plugin that calls this program.
pub(crate) fn plugin(belay: &str) -> String {
    PLUGIN_SOURCE.replace(PROGRAM_PLACEHOLDER, &Value::from(belay).to_string())
}

fn file(setting: &InstallContext<'_>) -> PathBuf {
    setting.settings_path(setting.dirs.config().join("opencode/plugin"), ".opencode/plugin", "belay.js")
}

impl HookInstaller for OpencodeInstaller {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        Ok(setting.change(file(setting), Some(plugin(setting.belay)))?.into_iter().collect())
    }

    fn remove(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        Ok(setting.change(file(setting), None)?.into_iter().collect())
    }

    fn self_test_call(&self, setting: &InstallContext<'_>, session: &str) -> SelfTestCall {
        SelfTestCall {
            command: format!("{} hook {ID} session.created", quote(setting.belay)),
            payload: json!({ "sessionID": session }).to_string(),
            session: session.to_owned(),
        }
    }
}
