//! aider: one Markdown history per project, `.aider.chat.history.md`, with all its chats.

pub mod transcript;

/// Canonical agent id.
pub const ID: &str = "aider";

/// Name of the history in a project.
pub const HISTORY_FILE: &str = ".aider.chat.history.md";
