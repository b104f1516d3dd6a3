//! Qwen Code.

pub(crate) mod hook;

/// Canonical agent id.
pub const ID: &str = "qwen";
