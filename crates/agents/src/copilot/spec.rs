//! The specification of Copilot CLI.

use super::{ID, hook, install, launch, sessions, tools, transcript, wire};
use crate::spec::{
    AgentSpec, HEADLESS_LATER, HookSpec, Maturity, NEW_SESSION_HINT, PANE_LATER, TranscriptSpec, none_in_project,
};

/// Copilot CLI.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["copilot-cli", "github-copilot"],
    display_name: "Copilot CLI",
    executable: "copilot",
    maturity: Maturity::Supported,
    session_env: None,
    tools: &tools::TABLE,
    transcripts: Some(&TranscriptSpec {
        roots: |dirs| vec![sessions(dirs)],
        in_project: none_in_project,
        formats: &[&transcript::CopilotFormat],
    }),
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::CopilotHooks,
        installer: &install::CopilotInstaller,
        silent_hint: NEW_SESSION_HINT,
    }),
    wire: Some(&wire::CopilotWire),
    launch: Some(&launch::CopilotLauncher),
    headless: None,
    pane: None,
    absent: &[HEADLESS_LATER, PANE_LATER],
};
