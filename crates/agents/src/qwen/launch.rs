//! Launches Qwen Code with the variables of any OpenAI-compatible program and a session id from Belay.

use belay_core::SessionKey;
use serde_json::Value;

use super::ID;
use super::hook::EVENTS;
use crate::launch::{LaunchCommand, LaunchContext, Launcher, SystemSettings, claude_hooks, read_json};

/// Builds the launch command.
#[derive(Debug)]
pub(crate) struct QwenLauncher;

const BASE_URL: &str = "OPENAI_BASE_URL";

/// Settings for all users.
const SYSTEM_SETTINGS: SystemSettings =
    SystemSettings { variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH", file: "/etc/qwen-code/settings.json" };

impl Launcher for QwenLauncher {
    fn build_launch(&self, context: &LaunchContext<'_>) -> LaunchCommand {
        let mut launch = LaunchCommand::default();
        let new_id = with_uuid_version_4(context.run);
        let (ids, resume) = (["--session-id", "--resume", "-r"], ["--resume", "-r", "--continue", "-c"]);
        let id = context.session_flag(&mut launch, &ids, &resume, &new_id);
        launch.session = Some(SessionKey::new(ID, id.unwrap_or(new_id)));
        if context.proxy.is_some() {
            route_through_proxy(context, &mut launch);
        }
        if let Some(command) = context.hook_command(ID) {
            launch.with_system_settings(
                context,
                &SYSTEM_SETTINGS,
                claude_hooks(EVENTS.iter().map(|event| (event.name, event.timeout_millis())), &command),
            );
        }
        launch.args.extend_from_slice(context.args);
        launch
    }
}

/// The id of the run in a form that Qwen Code accepts: UUIDs up to version 5.
fn with_uuid_version_4(run: &str) -> String {
    match (run.get(..14), run.get(15..)) {
        (Some(before), Some(after)) => format!("{before}4{after}"),
        _ => run.to_owned(),
    }
}

/// Points Qwen Code at the proxy, unless its arguments or settings take precedence. The environment overrides settings.
fn route_through_proxy(context: &LaunchContext<'_>, launch: &mut LaunchCommand) {
    let settings = |dir: &std::path::Path| read_json(&dir.join(".qwen/settings.json")).unwrap_or_default();
    let (user, project) = (settings(&context.user.home), settings(context.dir));
    let own = base_url_in(&user).filter(|_| context.env_var(BASE_URL).is_none());
    let instead = if context.has_flag(&["--openai-base-url"]) {
        Some("--openai-base-url is given")
    } else if context.env_var(BASE_URL).is_none() && context.dir != context.user.home && base_url_in(&project).is_some()
    {
        // Only the agent knows whether the project is trusted and its settings apply.
        Some("the project's settings name the model API")
    } else {
        None
    };
    match (instead, own, context.proxy_url("openai")) {
        (Some(why), ..) => launch.note_bypass(why),
        (None, Some(own), Some(base)) => {
            launch.add_upstream("openai", &own);
            launch.set_env(BASE_URL, base);
        }
        _ => launch.set_base_url_or_env_file(context, ".qwen", (BASE_URL, "openai", "/v1")),
    }
    if [&user, &project].iter().any(|settings| settings.get("modelProviders").is_some()) {
        launch.note_bypass("the model may be one of `modelProviders`");
    }
}

/// The model API that settings name.
fn base_url_in(settings: &Value) -> Option<String> {
    let variable = settings.get("env").and_then(|env| env.get(BASE_URL));
    let url = variable.or_else(|| settings.pointer("/security/auth/baseUrl"))?.as_str()?;
    (!url.is_empty()).then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_of_a_version_that_qwen_code_knows() {
        assert_eq!(with_uuid_version_4("01a1e3cd-6a00-7651-ac71-3374b5972cbc"), "01a1e3cd-6a00-4651-ac71-3374b5972cbc");
    }
}
