//! Codex: rollout files under `~/.codex/sessions`, one per thread; a sub-agent is a thread.

pub(crate) mod hook;
pub(crate) mod install;
mod output;
mod tools;
pub mod transcript;

pub use tools::kind_of;

/// Canonical agent id.
pub const ID: &str = "codex";
