//! Copilot CLI: `events.jsonl` in one folder per session under `~/.copilot/session-state`.

pub(crate) mod hook;
pub(crate) mod install;
mod tools;
pub mod transcript;

pub use tools::kind_of;

/// Canonical agent id.
pub const ID: &str = "copilot";
