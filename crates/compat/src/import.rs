//! Types shared by the imports.

use std::path::PathBuf;

use serde::Serialize;

/// A larger file is not imported.
pub(crate) const MAX_IMPORT_BYTES: u64 = 256 * 1024 * 1024;

/// A setting of the other system and the configuration key it becomes.
#[derive(Debug, Serialize)]
pub struct MappedSetting {
    /// Where it was found: `.heartbeat.yml: loop_threshold = 4`.
    pub from: String,
    /// The configuration key and its value; `None` if Belay has no equivalent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<(String, String)>,
    /// It belongs in the user's configuration, not in the project's.
    pub user: bool,
    /// How its meaning changes, or why it is skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl MappedSetting {
    pub(crate) fn skipped(from: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { from: from.into(), to: None, user: false, note: Some(reason.into()) }
    }

    #[must_use]
    pub(crate) fn for_user(mut self) -> Self {
        self.user = true;
        self
    }
}

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{} cannot be read", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} cannot be read", .path.display())]
    Parse { path: PathBuf, source: serde_json::Error },
    #[error("the database {} cannot be read", .path.display())]
    Database { path: PathBuf, source: rusqlite::Error },
    #[error("the imported patterns cannot be written as TOML")]
    Patterns(#[from] toml::ser::Error),
}
