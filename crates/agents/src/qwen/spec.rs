//! The specification of Qwen Code.

use super::{ID, headless, hook, install, launch, transcript, wire};
use crate::spec::{
    AgentSpec, ContinuationSpec, HookSpec, Maturity, NEW_SESSION_HINT, PANE_LATER, TranscriptSpec, none_in_project,
};

/// Qwen Code.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["qwen-code"],
    display_name: "Qwen Code",
    executable: "qwen",
    maturity: Maturity::Supported,
    session_env: None,
    nested_env: &["QWEN_CODE", "QWEN_PROJECT_DIR"],
    home_env: None,
    project_instructions: &["QWEN.md", "AGENTS.md", ".qwen/", ".env"],
    tools: &crate::gemini::tools::TABLE,
    transcripts: Some(&TranscriptSpec {
        roots: |dirs| vec![dirs.home.join(".qwen/projects")],
        in_project: none_in_project,
        formats: &[&transcript::QwenFormat],
    }),
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::PROTOCOL,
        continuation: Some(ContinuationSpec::new(None)),
        installer: &install::QwenInstaller,
        silent_hint: NEW_SESSION_HINT,
    }),
    wire: Some(&wire::QwenWire),
    launch: Some(&launch::QwenLauncher),
    headless: Some(&headless::QwenHeadless),
    pane: None,
    absent: &[PANE_LATER],
};
