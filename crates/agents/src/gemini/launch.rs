//! Starting Gemini CLI: a base URL, a session id of ours, and hooks in settings that stand beside the
//! user's.

use belay_core::SessionKey;
use serde_json::Value;

use super::ID;
use super::hook::EVENTS;
use crate::launch::{LaunchCommand, LaunchContext, Launcher, SystemSettings, claude_hooks};

/// The recipe.
#[derive(Debug)]
pub(crate) struct GeminiLauncher;

/// Settings for all users.
const SYSTEM_SETTINGS: SystemSettings =
    SystemSettings { variable: "GEMINI_CLI_SYSTEM_SETTINGS_PATH", file: "/etc/gemini-cli/settings.json" };

impl Launcher for GeminiLauncher {
    fn build_launch(&self, setting: &LaunchContext<'_>) -> LaunchCommand {
        let mut launch = LaunchCommand::default();
        let ids = ["--session-id", "--resume", "-r"];
        let resume = ["--resume", "-r", "--list-sessions", "--delete-session"];
        let id = setting.session_flag(&mut launch, &ids, &resume, setting.run);
        launch.session = Some(SessionKey::new(ID, id.as_deref().unwrap_or(setting.run)));
        launch.point_with_file(setting, ".gemini", ("GOOGLE_GEMINI_BASE_URL", "gemini", ""));
        if setting.proxy.is_some() && setting.env_var("GEMINI_API_KEY").is_none() && signs_in(setting) {
            launch.note_bypass("you are signed in with Google");
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

/// Whether the user has signed in instead of using a key.
fn signs_in(setting: &LaunchContext<'_>) -> bool {
    let text = std::fs::read_to_string(setting.user.home.join(".gemini/settings.json")).unwrap_or_default();
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    let chosen = settings.pointer("/security/auth/selectedType").or_else(|| settings.get("selectedAuthType"));
    chosen.and_then(Value::as_str).is_some_and(|kind| kind.starts_with("oauth"))
}
