//! Claude Code: session files under `~/.claude/projects`, one per conversation and sub-agent.

mod first_dialog;
pub(crate) mod headless;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod launch;
mod spec;
mod tools;
pub mod transcript;
pub(crate) mod wire;

pub use spec::SPEC;
pub use tools::kind_of;

use belay_core::SessionKey;

/// Canonical agent id.
pub const ID: &str = "claude-code";

/// The session of a sub-agent; hooks (`session_id`, `agent_id`) and transcripts use the same name.
pub fn sub_agent_key(session: &str, agent: &str) -> SessionKey {
    SessionKey::new(ID, format!("{session}/{agent}"))
}
