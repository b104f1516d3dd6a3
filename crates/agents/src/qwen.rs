//! Qwen Code: session files under `~/.qwen/projects`; tools and outputs as in Gemini CLI, from
//! which it was forked.

pub(crate) mod headless;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod launch;
mod spec;
pub mod transcript;
pub(crate) mod wire;

pub use spec::SPEC;

pub use crate::gemini::kind_of;

/// Canonical agent id.
pub const ID: &str = "qwen";
