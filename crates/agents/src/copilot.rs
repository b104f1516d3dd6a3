//! Copilot CLI: `events.jsonl` in one directory per session under `~/.copilot/session-state`.

pub(crate) mod headless;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod launch;
mod spec;
mod tools;
pub mod transcript;
pub(crate) mod wire;

use std::path::PathBuf;

use crate::registry::UserDirs;
pub use spec::SPEC;
pub use tools::kind_of;

/// Canonical agent id.
pub const ID: &str = "copilot";

/// The directory of its sessions.
pub(crate) fn sessions(dirs: &UserDirs) -> PathBuf {
    let root = dirs.var("COPILOT_HOME").map_or_else(|| dirs.home.join(".copilot"), PathBuf::from);
    root.join("session-state")
}
