//! The specification of Gemini CLI.

use super::{ID, headless, hook, install, launch, tools, transcript, wire};
use crate::spec::{
    AgentSpec, ContinuationSpec, HookSpec, Maturity, NEW_SESSION_HINT, PANE_LATER, TranscriptSpec, none_in_project,
};

/// Gemini CLI.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["gemini-cli"],
    display_name: "Gemini CLI",
    executable: "gemini",
    maturity: Maturity::Supported,
    session_env: Some("GEMINI_SESSION_ID"),
    nested_env: &["GEMINI_CLI", "GEMINI_PROJECT_DIR"],
    home_env: Some("GEMINI_CLI_HOME"),
    project_instructions: &["GEMINI.md", ".gemini/", ".env"],
    tools: &tools::TABLE,
    transcripts: Some(&TranscriptSpec {
        roots: |dirs| vec![dirs.home.join(".gemini/tmp")],
        in_project: none_in_project,
        formats: &[&transcript::GeminiLinesFormat, &transcript::GeminiDocumentFormat],
    }),
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::GeminiHooks,
        continuation: Some(ContinuationSpec::new(None)),
        installer: &install::GeminiInstaller,
        silent_hint: NEW_SESSION_HINT,
    }),
    wire: Some(&wire::GeminiWire),
    launch: Some(&launch::GeminiLauncher),
    headless: Some(&headless::GeminiHeadless),
    pane: None,
    absent: &[PANE_LATER],
};
