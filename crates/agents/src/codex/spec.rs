//! The specification of Codex.

use std::path::PathBuf;

use super::{ID, headless, hook, install, launch, tools, transcript, wire};
use crate::registry::UserDirs;
use crate::spec::{AgentSpec, ContinuationSpec, HookSpec, Maturity, PANE_LATER, TranscriptSpec, none_in_project};

/// Codex.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["codex-cli", "openai-codex"],
    display_name: "Codex",
    executable: "codex",
    maturity: Maturity::Supported,
    session_env: Some("CODEX_THREAD_ID"),
    nested_env: &["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_MANAGED_BY_NPM", "CODEX_CI"],
    home_env: Some("CODEX_HOME"),
    project_instructions: &["AGENTS.md", "AGENTS.override.md", ".codex/"],
    tools: &tools::TABLE,
    transcripts: Some(&TranscriptSpec { roots, in_project: none_in_project, formats: &[&transcript::CodexFormat] }),
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::CodexHooks,
        continuation: Some(ContinuationSpec::new(None)),
        installer: &install::CodexInstaller,
        silent_hint: "Codex skips hooks whose trust does not match; run `belay init --agent codex` again and start a new session",
    }),
    wire: Some(&wire::CodexWire),
    launch: Some(&launch::CodexLauncher),
    headless: Some(&headless::CodexHeadless),
    pane: None,
    absent: &[PANE_LATER],
};

fn roots(dirs: &UserDirs) -> Vec<PathBuf> {
    let root = dirs.var("CODEX_HOME").map_or_else(|| dirs.home.join(".codex"), PathBuf::from);
    vec![root.join("sessions"), root.join("archived_sessions")]
}
