//! The specification of Cursor.

use super::{ID, hook, install};
use crate::spec::{AgentSpec, HookSpec, Maturity, NEW_SESSION_HINT, PANE_LATER, PLAIN_HEADLESS, Part};
use crate::tool_table::ToolTable;

/// Cursor.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["cursor-agent", "cursor-cli"],
    display_name: "Cursor",
    executable: "cursor-agent",
    maturity: Maturity::Experimental,
    session_env: None,
    nested_env: &[],
    home_env: None,
    project_instructions: &["AGENTS.md", ".cursorrules", ".cursor/"],
    tools: &ToolTable::EMPTY,
    transcripts: None,
    hooks: Some(&HookSpec {
        events: hook::EVENTS,
        protocol: &hook::CursorHooks,
        continuation: None,
        installer: &install::CursorInstaller,
        silent_hint: NEW_SESSION_HINT,
    }),
    wire: None,
    launch: None,
    headless: None,
    pane: None,
    absent: &[
        (Part::Transcripts, "Belay does not read its session files"),
        (Part::Wire, "Belay does not recognise its requests"),
        (Part::Launch, "Belay cannot add hooks or a base URL to a single run"),
        PLAIN_HEADLESS,
        PANE_LATER,
    ],
};
