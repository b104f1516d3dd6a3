//! Codex: rollout files under `~/.codex/sessions`, one per thread; a sub-agent is a thread.

mod exec_script;
pub(crate) mod headless;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod launch;
mod output;
mod spec;
mod tools;
pub mod transcript;
pub(crate) mod wire;

pub use spec::SPEC;
pub use tools::kind_of;

/// Canonical agent id.
pub const ID: &str = "codex";
