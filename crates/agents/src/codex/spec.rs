//! The specification of Codex.

use std::path::PathBuf;

use super::{ID, hook, install, launch, tools, transcript, wire};
use crate::registry::UserDirs;
use crate::spec::{AgentSpec, HEADLESS_LATER, HookSpec, Maturity, PANE_LATER, TranscriptSpec, none_in_project};

/// Codex.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["codex-cli", "openai-codex"],
    display_name: "Codex",
    executable: "codex",
    maturity: Maturity::Supported,
    session_env: Some("CODEX_THREAD_ID"),
    tools: &tools::TABLE,
    transcripts: Some(&TranscriptSpec { roots, in_project: none_in_project, formats: &[&transcript::CodexFormat] }),
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::CodexHooks,
        installer: &install::CodexInstaller,
        silent_hint: "Codex skips hooks whose trust does not match; run `belay init --agent codex` again and start a new session",
    }),
    wire: Some(&wire::CodexWire),
    launch: Some(&launch::CodexLauncher),
    headless: None,
    pane: None,
    absent: &[HEADLESS_LATER, PANE_LATER],
};

fn roots(dirs: &UserDirs) -> Vec<PathBuf> {
    let root = dirs.var("CODEX_HOME").map_or_else(|| dirs.home.join(".codex"), PathBuf::from);
    vec![root.join("sessions"), root.join("archived_sessions")]
}
