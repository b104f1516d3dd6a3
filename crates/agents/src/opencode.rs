//! opencode: all sessions in one SQLite database, or one session in an exported JSON document.

mod database;
pub(crate) mod headless;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod launch;
mod message;
mod spec;
mod tools;
pub mod transcript;
pub(crate) mod wire;

pub use spec::SPEC;
pub use tools::kind_of;

/// Canonical agent id.
pub const ID: &str = "opencode";
