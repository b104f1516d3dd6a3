//! The specification of aider.

use super::{HISTORY_FILE, ID, transcript};
use crate::spec::{AgentSpec, Maturity, PANE_LATER, PLAIN_HEADLESS, Part, TranscriptSpec};
use crate::tool_table::ToolTable;

/// aider.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["aider-chat"],
    display_name: "aider",
    executable: "aider",
    maturity: Maturity::Supported,
    session_env: None,
    nested_env: &[],
    home_env: None,
    project_instructions: &["CONVENTIONS.md", ".aider.conf.yml", ".aider.model.settings.yml", ".env"],
    tools: &ToolTable::EMPTY,
    transcripts: Some(&TranscriptSpec {
        roots: |dirs| vec![dirs.home.join(HISTORY_FILE)],
        in_project: |dir| dir.ancestors().map(|dir| dir.join(HISTORY_FILE)).collect(),
        formats: &[&transcript::AiderFormat],
    }),
    hooks: None,
    wire: None,
    launch: None,
    headless: None,
    pane: None,
    absent: &[
        (Part::Hooks, "aider has no hooks"),
        (Part::Wire, "its requests carry nothing that identifies it"),
        (Part::Launch, "started like any other command"),
        PLAIN_HEADLESS,
        PANE_LATER,
    ],
};
