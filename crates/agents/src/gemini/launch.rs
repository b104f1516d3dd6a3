//! Starting Gemini CLI: a base URL, a session id of ours, and hooks in settings that stand beside the
//! user's.

use belay_core::SessionKey;
use serde_json::{Value, json};

use super::ID;
use crate::launch::{Launch, Recipe, Setting};

/// The recipe.
pub(crate) struct Start;

const EVENTS: &[&str] = &[
    "SessionStart",
    "BeforeAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeTool",
    "AfterTool",
    "AfterAgent",
    "Notification",
    "SessionEnd",
];

/// Where settings for all users are, unless the variable says otherwise.
const SYSTEM_SETTINGS: &str = "/etc/gemini-cli/settings.json";

impl Recipe for Start {
    fn agent(&self) -> &'static str {
        ID
    }

    fn launch(&self, setting: &Setting<'_>) -> Launch {
        let mut launch = Launch::default();
        let named = setting.flag_value("--session-id").map(str::to_owned);
        let id = named.clone().unwrap_or_else(|| setting.run.to_owned());
        let key = SessionKey::new(ID, &id);
        if named.is_none() && !setting.has_flag(&["--resume", "-r", "--list-sessions", "--delete-session"]) {
            launch.arg("--session-id");
            launch.arg(&id);
        }
        launch.session = Some(key.clone());
        launch.point(setting, &key, "GOOGLE_GEMINI_BASE_URL", "gemini", "");
        if setting.proxy.is_some() && setting.var("GEMINI_API_KEY").is_none() && signs_in(setting) {
            launch.notes.push(
                "you are signed in with Google: requests do not pass the proxy, hooks do the watching".to_owned(),
            );
        }
        if let Some(command) = setting.hook(ID) {
            settings(setting, &command, &mut launch);
        }
        launch.args.extend_from_slice(setting.args);
        launch
    }
}

/// Whether the user has signed in instead of using a key.
fn signs_in(setting: &Setting<'_>) -> bool {
    let text = std::fs::read_to_string(setting.user.home.join(".gemini/settings.json")).unwrap_or_default();
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    let chosen = settings.pointer("/security/auth/selectedType").or_else(|| settings.get("selectedAuthType"));
    chosen.and_then(Value::as_str).is_some_and(|kind| kind.starts_with("oauth"))
}

/// Settings for all users, with our hooks added to whatever they hold already.
fn settings(setting: &Setting<'_>, command: &str, launch: &mut Launch) {
    const VARIABLE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
    let own = setting.var(VARIABLE).unwrap_or_else(|| SYSTEM_SETTINGS.to_owned());
    let text = std::fs::read_to_string(own).unwrap_or_default();
    let mut settings: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
    for event in EVENTS {
        let hook = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 10_000 }] });
        match settings["hooks"][*event].as_array_mut() {
            Some(list) => list.push(hook),
            None => settings["hooks"][*event] = json!([hook]),
        }
    }
    let path = setting.scratch.join("gemini-settings.json");
    launch.set(VARIABLE, path.display().to_string());
    launch.files.push((path, settings.to_string()));
}
