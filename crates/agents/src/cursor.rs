//! Cursor.

pub(crate) mod hook;
pub(crate) mod install;

/// Canonical agent id.
pub const ID: &str = "cursor";
