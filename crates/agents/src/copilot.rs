//! Copilot CLI: `events.jsonl` in one folder per session under `~/.copilot/session-state`.

pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod launch;
mod tools;
pub mod transcript;
pub(crate) mod wire;

pub use tools::kind_of;

/// Canonical agent id.
pub const ID: &str = "copilot";
