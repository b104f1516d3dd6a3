//! Starting Claude Code: settings of the command line stand above all files, so hooks and base URL go
//! there, and the session gets its id from us.

use belay_core::SessionKey;
use serde_json::{Map, json};

use super::ID;
use crate::launch::{Launch, Recipe, Setting, claude_hooks};

/// The recipe.
pub(crate) struct Start;

const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Notification",
    "Stop",
    "StopFailure",
    "SessionEnd",
];

impl Recipe for Start {
    fn agent(&self) -> &'static str {
        ID
    }

    fn launch(&self, setting: &Setting<'_>) -> Launch {
        let mut launch = Launch::default();
        let taken_up = setting.has_flag(&["--resume", "-r", "--continue", "-c", "--from-pr", "--fork-session"]);
        let session = match setting.named_session(&["--session-id", "--resume", "-r"]) {
            Some(id) => Some(id.to_owned()),
            None if taken_up => None,
            None => {
                launch.arg("--session-id");
                launch.arg(setting.run);
                Some(setting.run.to_owned())
            }
        };
        launch.session = session.map(|id| SessionKey::new(ID, id));
        let mut settings = Map::new();
        if let Some(command) = setting.hook(ID) {
            settings.insert("hooks".to_owned(), claude_hooks(EVENTS, &command, 10));
        }
        let elsewhere = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
        if let Some(variable) = elsewhere.iter().find(|variable| setting.var(variable).is_some()) {
            launch.notes.push(format!("{variable} is set: requests do not pass the proxy, hooks do the watching"));
        } else if let Some(base) = setting.base("anthropic") {
            if let Some(own) = setting.var("ANTHROPIC_BASE_URL") {
                launch.upstream("anthropic", &own);
            }
            // A settings file may set the variable as well; the command line's settings win over it.
            settings.insert("env".to_owned(), json!({ "ANTHROPIC_BASE_URL": base }));
            launch.set("ANTHROPIC_BASE_URL", base);
        }
        if !settings.is_empty() {
            launch.arg("--settings");
            launch.arg(json!(settings).to_string());
        }
        launch.args.extend_from_slice(setting.args);
        launch
    }
}
