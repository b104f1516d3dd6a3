//! Starting Qwen Code: the variables of any OpenAI-compatible program.

use super::ID;
use crate::claude_code::install::EVENTS;
use crate::launch::{Launch, Recipe, Setting, SystemSettings, claude_hooks};

/// The recipe.
pub(crate) struct Start;

/// Settings for all users.
const SETTINGS: SystemSettings =
    SystemSettings { variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH", file: "/etc/qwen-code/settings.json" };

impl Recipe for Start {
    fn agent(&self) -> &'static str {
        ID
    }

    fn launch(&self, setting: &Setting<'_>) -> Launch {
        let mut launch = Launch { args: setting.args.to_vec(), session: Some(setting.key()), ..Launch::default() };
        launch.point_with_file(setting, ".qwen", ("OPENAI_BASE_URL", "openai", "/v1"));
        if let Some(command) = setting.hook(ID) {
            launch.with_system_settings(setting, &SETTINGS, claude_hooks(EVENTS, &command, 10_000));
        }
        launch
    }
}
