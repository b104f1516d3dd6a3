//! Cursor.

pub(crate) mod hook;
pub(crate) mod install;
mod spec;

pub use spec::SPEC;

/// Canonical agent id.
pub const ID: &str = "cursor";
