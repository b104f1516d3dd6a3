//! Starting Qwen Code: the variables of any OpenAI-compatible program.

use belay_core::SessionKey;

use super::ID;
use crate::launch::{Launch, Recipe, Setting};

/// The recipe.
pub(crate) struct Start;

impl Recipe for Start {
    fn agent(&self) -> &'static str {
        ID
    }

    fn launch(&self, setting: &Setting<'_>) -> Launch {
        let key = SessionKey::new(ID, setting.run);
        let mut launch = Launch { args: setting.args.to_vec(), session: Some(key.clone()), ..Launch::default() };
        launch.point(setting, &key, "OPENAI_BASE_URL", "openai", "/v1");
        launch
    }
}
