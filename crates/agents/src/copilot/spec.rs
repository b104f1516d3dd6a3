//! The specification of Copilot CLI.

use super::{ID, headless, hook, install, launch, sessions, tools, transcript, wire};
use crate::spec::{
    AgentSpec, ContinuationSpec, HookSpec, Maturity, NEW_SESSION_HINT, PANE_LATER, TranscriptSpec, none_in_project,
};

/// Copilot CLI.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["copilot-cli", "github-copilot"],
    display_name: "Copilot CLI",
    executable: "copilot",
    maturity: Maturity::Supported,
    session_env: None,
    nested_env: &["COPILOT_CLI", "COPILOT_PROJECT_DIR", "COPILOT_HOOK_DIR"],
    home_env: Some("COPILOT_HOME"),
    project_instructions: &[
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        "copilot-instructions.md",
        ".github/instructions/",
        ".github/hooks/",
        ".github/agents/",
        ".copilot/",
        ".mcp.json",
    ],
    tools: &tools::TABLE,
    transcripts: Some(&TranscriptSpec {
        roots: |dirs| vec![sessions(dirs)],
        in_project: none_in_project,
        formats: &[&transcript::CopilotFormat],
    }),
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::CopilotHooks,
        continuation: Some(ContinuationSpec::new(Some(8))),
        installer: &install::CopilotInstaller,
        silent_hint: NEW_SESSION_HINT,
    }),
    wire: Some(&wire::CopilotWire),
    launch: Some(&launch::CopilotLauncher),
    headless: Some(&headless::CopilotHeadless),
    pane: None,
    absent: &[PANE_LATER],
};
