//! The specification of Claude Code.

use std::path::{Path, PathBuf};

use super::{ID, headless, hook, install, launch, tools, transcript, wire};
use crate::registry::UserDirs;
use crate::spec::{AgentSpec, ContinuationSpec, HookSpec, Maturity, PANE_LATER, TranscriptSpec, none_in_project};

/// Claude Code.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["claude", "claude_code", "claudecode"],
    display_name: "Claude Code",
    executable: "claude",
    maturity: Maturity::Supported,
    session_env: Some("CLAUDE_CODE_SESSION_ID"),
    nested_env: &[
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_PID",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_ENV_FILE",
    ],
    home_env: Some("CLAUDE_CONFIG_DIR"),
    project_instructions: &["CLAUDE.md", "CLAUDE.local.md", ".claude/", ".mcp.json"],
    tools: &tools::TABLE,
    transcripts: Some(&TranscriptSpec {
        roots,
        in_project: none_in_project,
        formats: &[&transcript::ClaudeCodeFormat],
    }),
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::PROTOCOL,
        continuation: Some(ContinuationSpec { rewakes: true, ..ContinuationSpec::new(Some(8)) }),
        installer: &install::ClaudeCodeInstaller,
        silent_hint: "start a new session, because running sessions do not load new hooks, and accept the folder's trust dialog; \
                      `/hooks` in Claude Code lists the hooks it has loaded",
    }),
    wire: Some(&wire::ClaudeCodeWire),
    launch: Some(&launch::ClaudeCodeLauncher),
    headless: Some(&headless::ClaudeCodeHeadless),
    pane: None,
    absent: &[PANE_LATER],
};

fn roots(dirs: &UserDirs) -> Vec<PathBuf> {
    let mut roots = match dirs.var("CLAUDE_CONFIG_DIR") {
        Some(list) => list.to_string_lossy().split(',').map(|dir| Path::new(dir.trim()).into()).collect(),
        None => vec![dirs.home.join(".claude"), dirs.config().join("claude")],
    };
    roots.iter_mut().for_each(|root: &mut PathBuf| root.push("projects"));
    roots
}
