//! Starting Qwen Code: the variables of any OpenAI-compatible program, and a session that has its id from us.

use belay_core::SessionKey;
use serde_json::Value;

use super::ID;
use super::hook::EVENTS;
use crate::launch::{LaunchCommand, LaunchContext, Launcher, SystemSettings, claude_hooks, read_json};

/// The recipe.
#[derive(Debug)]
pub(crate) struct QwenLauncher;

const BASE_URL: &str = "OPENAI_BASE_URL";

/// Settings for all users.
const SYSTEM_SETTINGS: SystemSettings =
    SystemSettings { variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH", file: "/etc/qwen-code/settings.json" };

impl Launcher for QwenLauncher {
    fn build_launch(&self, setting: &LaunchContext<'_>) -> LaunchCommand {
        let mut launch = LaunchCommand::default();
        let new_id = acceptable(setting.run);
        let (ids, resume) = (["--session-id", "--resume", "-r"], ["--resume", "-r", "--continue", "-c"]);
        let id = setting.session_flag(&mut launch, &ids, &resume, &new_id);
        launch.session = Some(SessionKey::new(ID, id.unwrap_or(new_id)));
        if setting.proxy.is_some() {
            point(setting, &mut launch);
        }
        if let Some(command) = setting.hook_command(ID) {
            launch.with_system_settings(
                setting,
                &SYSTEM_SETTINGS,
                claude_hooks(EVENTS.iter().map(|event| (event.name, event.timeout_millis())), &command),
            );
        }
        launch.args.extend_from_slice(setting.args);
        launch
    }
}

/// The id of the run as Qwen Code takes it: it knows UUIDs up to version 5 only.
fn acceptable(run: &str) -> String {
    match (run.get(..14), run.get(15..)) {
        (Some(before), Some(after)) => format!("{before}4{after}"),
        _ => run.to_owned(),
    }
}

/// Points Qwen Code at the proxy, unless it would not listen. The environment wins over what settings say.
fn point(setting: &LaunchContext<'_>, launch: &mut LaunchCommand) {
    let settings = |folder: &std::path::Path| read_json(&folder.join(".qwen/settings.json")).unwrap_or_default();
    let (user, project) = (settings(&setting.user.home), settings(setting.folder));
    let own = named(&user).filter(|_| setting.env_var(BASE_URL).is_none());
    let instead = if setting.has_flag(&["--openai-base-url"]) {
        Some("--openai-base-url is given")
    } else if setting.env_var(BASE_URL).is_none() && setting.folder != setting.user.home && named(&project).is_some() {
        // Whether the project is trusted, and so what it says, is for the agent to say.
        Some("the project's settings name the model API")
    } else {
        None
    };
    match (instead, own, setting.proxy_url("openai")) {
        (Some(why), ..) => launch.note_bypass(why),
        (None, Some(own), Some(base)) => {
            launch.add_upstream("openai", &own);
            launch.set_env(BASE_URL, base);
        }
        _ => launch.point_with_file(setting, ".qwen", (BASE_URL, "openai", "/v1")),
    }
    if [&user, &project].iter().any(|settings| settings.get("modelProviders").is_some()) {
        launch.note_bypass("the model may be one of `modelProviders`");
    }
}

/// The model API that settings name.
fn named(settings: &Value) -> Option<String> {
    let variable = settings.get("env").and_then(|env| env.get(BASE_URL));
    let url = variable.or_else(|| settings.pointer("/security/auth/baseUrl"))?.as_str()?;
    (!url.is_empty()).then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_of_a_version_that_qwen_code_knows() {
        assert_eq!(acceptable("01a1e3cd-6a00-7651-ac71-3374b5972cbc"), "01a1e3cd-6a00-4651-ac71-3374b5972cbc");
    }
}
