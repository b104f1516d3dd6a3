//! heartbeat: its settings and its pattern files.

pub mod import;
pub mod pattern;
