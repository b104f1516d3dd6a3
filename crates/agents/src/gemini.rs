//! Gemini CLI: session files under `~/.gemini/tmp/<project>/chats`.

pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod output;
mod tools;
pub mod transcript;

pub use tools::kind_of;

/// Canonical agent id.
pub const ID: &str = "gemini";
