//! Store errors, each with a hint for the user.

use std::path::PathBuf;

use belay_core::SessionKey;

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An error from the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file was written by a newer version of Belay.
    #[error("{} was written by a newer Belay (store version {found}; this version supports up to {known})", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// The file is a database of another program.
    #[error("{} is a database of another program (application id {found:#x})", path.display())]
    Foreign { path: PathBuf, found: i64 },
    /// The file is damaged or not a database.
    #[error("{} is damaged: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    /// Another process held the write lock for longer than the busy timeout.
    #[error("the store is locked by another process: {0}")]
    Busy(String),
    /// The disk or quota is full.
    #[error("no space left to write the store: {0}")]
    Full(String),
    /// The store is read-only or was opened for reading.
    #[error("the store is not writable: {0}")]
    ReadOnly(String),
    /// The file or its directory is inaccessible, or the disk failed.
    #[error("{}: {detail}", path.display())]
    Io { path: PathBuf, detail: String },
    /// The session has changed since it was read.
    #[error("session {0} was changed by another process")]
    Conflict(i64),
    /// No session has the given name.
    #[error("no session matches {0:?}")]
    NotFound(String),
    /// The prefix matches several sessions.
    #[error("{text:?} matches several sessions: {}{}", join(candidates), if *more { " and others" } else { "" })]
    Ambiguous {
        text: String,
        /// The first matches, sorted by name.
        candidates: Vec<SessionKey>,
        /// Whether there are more matches than `candidates`.
        more: bool,
    },
    /// A stored value cannot be decoded.
    #[error("cannot decode {what} in the store: {detail}")]
    Malformed { what: &'static str, detail: String },
    /// Any other database error.
    #[error("store error: {0}")]
    Database(String),
}

fn join(candidates: &[SessionKey]) -> String {
    candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl StoreError {
    /// What the user can do about the error.
    pub fn hint(&self) -> String {
        match self {
            Self::Newer { .. } => "Update Belay, or point --home at another directory. The file was not touched.".into(),
            Self::Foreign { .. } => "Point --home at another directory. The file was not touched.".into(),
            Self::Corrupt { path, .. } => format!(
                "The file was not touched. Rename it (mv {0} {0}.damaged) to start with an empty store, or recover \
                 what is readable: sqlite3 {0} .recover | sqlite3 {0}.recovered",
                path.display()
            ),
            Self::Busy(_) => {
                "Find the process that holds the lock (`belay status`, or `fuser` on the file). Belay retries by itself.".into()
            }
            Self::Full(_) => {
                "Free disk space or lower store.max_bytes. Belay continues in memory and writes the backlog by itself."
                    .into()
            }
            Self::ReadOnly(_) | Self::Io { .. } => {
                "Check the disk and the permissions of the directory and the file, or point --home at another directory."
                    .into()
            }
            Self::NotFound(_) => "Run `belay sessions --all` to list sessions.".into(),
            Self::Ambiguous { .. } => "Use a longer prefix.".into(),
            Self::Conflict(_) => "Try again.".into(),
            Self::Malformed { .. } | Self::Database(_) => "Run `belay doctor` to check the store.".into(),
        }
    }

    /// Whether the store failed, rather than the query. Decisions must then continue without it.
    pub fn is_fault(&self) -> bool {
        !matches!(self, Self::NotFound(_) | Self::Ambiguous { .. })
    }

    /// Whether this version of Belay must never write to the file.
    pub fn refuses_file(&self) -> bool {
        matches!(self, Self::Newer { .. } | Self::Foreign { .. } | Self::Corrupt { .. })
    }

    pub(crate) fn malformed(what: &'static str, detail: impl ToString) -> Self {
        Self::Malformed { what, detail: detail.to_string() }
    }
}
