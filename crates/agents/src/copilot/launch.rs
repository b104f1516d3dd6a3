//! Starting Copilot CLI: a session id of ours and hooks in a plugin of this run. Its requests pass the
//! proxy where the user brings a model of their own; GitHub's own go where they always go.

use belay_core::SessionKey;
use serde_json::json;

use super::ID;
use super::hook::{EVENTS, claude_name};
use crate::launch::{LaunchCommand, LaunchContext, Launcher, claude_hooks};

/// Builds the launch command.
#[derive(Debug)]
pub(crate) struct CopilotLauncher;

impl Launcher for CopilotLauncher {
    fn build_launch(&self, context: &LaunchContext<'_>) -> LaunchCommand {
        let mut launch = LaunchCommand::default();
        let (ids, resume) = (["--session-id", "--resume"], ["--resume", "--continue"]);
        let id = context.session_flag(&mut launch, &ids, &resume, context.run);
        launch.session = Some(SessionKey::new(ID, id.as_deref().unwrap_or(context.run)));
        if context.proxy.is_some() {
            match context.env_var("COPILOT_PROVIDER_BASE_URL") {
                Some(_) => launch.set_base_url(context, "COPILOT_PROVIDER_BASE_URL", "copilot", ""),
                None => launch.note_bypass("Copilot uses GitHub's models"),
            }
        }
        if let Some(command) = context.hook_command(ID) {
            let plugin = context.scratch.join("copilot-plugin");
            let manifest = json!({ "name": "belay-run", "version": "0.1.0", "description": "Belay, for this run" });
            let events = EVENTS.iter().map(|event| (claude_name(event.name), event.timeout.as_secs()));
            let hooks = json!({ "hooks": claude_hooks(events, &command) });
            launch.files.push((plugin.join(".claude-plugin/plugin.json"), manifest.to_string()));
            launch.files.push((plugin.join("hooks/hooks.json"), hooks.to_string()));
            launch.arg("--plugin-dir");
            launch.arg(plugin);
        }
        launch.args.extend_from_slice(context.args);
        launch
    }
}
