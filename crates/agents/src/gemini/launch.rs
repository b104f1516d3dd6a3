//! Launches Gemini CLI with a base URL, a session id from Belay, and hooks in system-wide settings next to the user's.

use belay_core::SessionKey;
use serde_json::Value;

use super::ID;
use super::first_dialog::first_dialog;
use super::hook::settings;
use crate::launch::{LaunchCommand, LaunchContext, Launcher, SystemSettings};

/// Builds the launch command.
#[derive(Debug)]
pub(crate) struct GeminiLauncher;

/// Settings for all users.
const SYSTEM_SETTINGS: SystemSettings =
    SystemSettings { variable: "GEMINI_CLI_SYSTEM_SETTINGS_PATH", file: "/etc/gemini-cli/settings.json" };

impl Launcher for GeminiLauncher {
    fn build_launch(&self, context: &LaunchContext<'_>) -> LaunchCommand {
        let mut launch = LaunchCommand::default();
        let ids = ["--session-id", "--resume", "-r"];
        let resume = ["--resume", "-r", "--list-sessions", "--delete-session"];
        let id = context.session_flag(&mut launch, &ids, &resume, context.run);
        launch.session = Some(SessionKey::new(ID, id.as_deref().unwrap_or(context.run)));
        launch.set_base_url_or_env_file(context, ".gemini", ("GOOGLE_GEMINI_BASE_URL", "gemini", ""));
        if context.proxy.is_some() && context.env_var("GEMINI_API_KEY").is_none() && uses_oauth(context) {
            launch.note_bypass("you are signed in with Google");
        }
        if let Some(command) = context.hook_command(ID) {
            launch.with_system_settings(context, &SYSTEM_SETTINGS, settings(&command));
        }
        launch.args.extend_from_slice(context.args);
        launch.dialog = first_dialog(context);
        launch
    }
}

/// Whether the user has signed in instead of using a key.
fn uses_oauth(context: &LaunchContext<'_>) -> bool {
    let text = std::fs::read_to_string(context.user.home.join(".gemini/settings.json")).unwrap_or_default();
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    let chosen = settings.pointer("/security/auth/selectedType").or_else(|| settings.get("selectedAuthType"));
    chosen.and_then(Value::as_str).is_some_and(|kind| kind.starts_with("oauth"))
}
