//! Gemini CLI: session files under `~/.gemini/tmp/<project>/chats`.

mod first_dialog;
pub(crate) mod headless;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod launch;
pub(crate) mod output;
mod spec;
pub(crate) mod tools;
pub mod transcript;
pub(crate) mod wire;

pub use spec::SPEC;
pub use tools::kind_of;

/// Canonical agent id.
pub const ID: &str = "gemini";
