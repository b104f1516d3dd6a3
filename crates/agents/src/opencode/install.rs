//! opencode's plugin folder: our plugin in `~/.config/opencode/plugin`, or the project's `.opencode/plugin`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ID;
use crate::install::{Change, InstallError, Recipe, Setting, Trial, quoted};

/// The recipe.
#[derive(Debug)]
pub(crate) struct Install;

/// The plugin. It is one file without dependencies, so that installing it is writing it.
const PLUGIN: &str = include_str!("../../../../plugins/opencode/belay.js");

/// Stands in the plugin for the program to call.
const PLACEHOLDER: &str = "\"belay\" /* BELAY */";

/// The plugin that calls this program.
pub(crate) fn plugin(belay: &str) -> String {
    PLUGIN.replace(PLACEHOLDER, &Value::from(belay).to_string())
}

fn file(setting: &Setting<'_>) -> PathBuf {
    setting.below(setting.dirs.config().join("opencode/plugin"), ".opencode/plugin", "belay.js")
}

impl Recipe for Install {
    fn agent(&self) -> &'static str {
        ID
    }

    fn install(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        Ok(setting.change(file(setting), Some(plugin(setting.belay)))?.into_iter().collect())
    }

    fn remove(&self, setting: &Setting<'_>) -> Result<Vec<Change>, InstallError> {
        Ok(setting.change(file(setting), None)?.into_iter().collect())
    }

    fn trial(&self, setting: &Setting<'_>, session: &str) -> Trial {
        Trial {
            command: format!("{} hook {ID} session.created", quoted(setting.belay)),
            payload: json!({ "sessionID": session }).to_string(),
            session: session.to_owned(),
        }
    }
}
