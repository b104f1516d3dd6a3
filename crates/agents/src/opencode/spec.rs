//! The specification of opencode.

use super::{ID, headless, hook, install, launch, tools, transcript, wire};
use crate::spec::{AgentSpec, HookSpec, Maturity, NEW_SESSION_HINT, PANE_LATER, TranscriptSpec, none_in_project};

/// opencode.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["open-code"],
    display_name: "opencode",
    executable: "opencode",
    maturity: Maturity::Supported,
    session_env: None,
    nested_env: &["OPENCODE", "OPENCODE_PID"],
    home_env: Some("XDG_DATA_HOME"),
    project_instructions: &["AGENTS.md", "CLAUDE.md", "opencode.json", "opencode.jsonc", ".opencode/"],
    tools: &tools::TABLE,
    transcripts: Some(&TranscriptSpec {
        roots: |dirs| vec![dirs.data().join("opencode/opencode.db")],
        in_project: none_in_project,
        formats: &[&transcript::OpencodeDatabaseFormat, &transcript::OpencodeExportFormat],
    }),
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::OpencodeHooks,
        // `opencode run` ends before it could continue.
        continuation: None,
        installer: &install::OpencodeInstaller,
        silent_hint: NEW_SESSION_HINT,
    }),
    wire: Some(&wire::OpencodeWire),
    launch: Some(&launch::OpencodeLauncher),
    headless: Some(&headless::OpencodeHeadless),
    pane: None,
    absent: &[PANE_LATER],
};
