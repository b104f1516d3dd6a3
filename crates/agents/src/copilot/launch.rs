//! Launches Copilot CLI with a session id from Belay and hooks in a plugin for this run. Its requests go through the
//! proxy if the user configured a model provider; requests to GitHub's models do not.

use belay_core::SessionKey;
use serde_json::{Map, json};

use super::ID;
use super::hook::EVENTS;
use crate::launch::{LaunchCommand, LaunchContext, Launcher};
use crate::spec::HookEvent;

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
        if context.belay.is_some() {
            let plugin = context.scratch.join("copilot-plugin");
            let manifest = json!({ "name": "belay-run", "version": "0.1.0", "description": "Belay, for this run" });
            // Under Copilot's own names of events, tools have the names of its requests. Under Claude Code's names they are
            // translated, so that hooks and proxy would count a call twice, and payloads about sub-agents and permissions
            // do not name their event.
            let hook = |event: &HookEvent| {
                let command = context.hook_command(&format!("{ID} {}", event.name));
                json!([{ "hooks": [{ "type": "command", "command": command, "timeout": event.timeout.as_secs() }] }])
            };
            let hooks: Map<_, _> = EVENTS.iter().map(|event| (event.name.to_owned(), hook(event))).collect();
            let hooks = json!({ "hooks": hooks });
            launch.files.push((plugin.join(".claude-plugin/plugin.json"), manifest.to_string()));
            launch.files.push((plugin.join("hooks/hooks.json"), hooks.to_string()));
            launch.arg("--plugin-dir");
            launch.arg(plugin);
        }
        launch.args.extend_from_slice(context.args);
        launch
    }
}
