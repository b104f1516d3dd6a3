//! aider: one Markdown history per project, `.aider.chat.history.md`, with all its chats.

mod spec;
pub mod transcript;

pub use spec::SPEC;

/// Canonical agent id.
pub const ID: &str = "aider";

/// Name of the history in a project.
pub const HISTORY_FILE: &str = ".aider.chat.history.md";
