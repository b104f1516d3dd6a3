//! The specification of pi.

use super::{ID, TOOLS, transcript, wire};
use crate::spec::{AgentSpec, Maturity, PANE_LATER, PLAIN_HEADLESS, Part, TranscriptSpec, none_in_project};

/// pi.
pub static SPEC: AgentSpec = AgentSpec {
    id: ID,
    aliases: &["pi-coding-agent"],
    display_name: "pi",
    executable: "pi",
    maturity: Maturity::Supported,
    session_env: None,
    nested_env: &[],
    home_env: None,
    project_instructions: &["AGENTS.md", "CLAUDE.md", ".pi/"],
    tools: &TOOLS,
    transcripts: Some(&TranscriptSpec {
        roots: |dirs| vec![dirs.home.join(".pi/agent/sessions")],
        in_project: none_in_project,
        formats: &[&transcript::PiFormat],
    }),
    hooks: None,
    wire: Some(&wire::PiWire),
    launch: None,
    headless: None,
    pane: None,
    absent: &[
        (Part::Hooks, "Belay has no extension for pi"),
        (Part::Launch, "started like any other command"),
        PLAIN_HEADLESS,
        PANE_LATER,
    ],
};
