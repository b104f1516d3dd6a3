//! What can go wrong with a store, and what to do about it.

use std::path::PathBuf;

use belay_core::SessionKey;

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Written by a later Belay.
    #[error("{} was written by a newer Belay (store version {found}; this one knows up to {known})", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// Some other program's database.
    #[error("{} is a database of another program (application id {found:#x})", path.display())]
    Foreign { path: PathBuf, found: i64 },
    /// Not readable as a database, or damaged.
    #[error("{} is damaged: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    /// Somebody else holds the write lock for too long.
    #[error("the store stayed locked by another process: {0}")]
    Busy(String),
    /// No room left.
    #[error("no room left to write the store: {0}")]
    Full(String),
    /// May not be written.
    #[error("the store cannot be written: {0}")]
    ReadOnly(String),
    /// The folder or file cannot be reached, or the disk fails.
    #[error("{}: {detail}", path.display())]
    Io { path: PathBuf, detail: String },
    /// A session moved on since it was read.
    #[error("session {0} was changed by another process meanwhile")]
    Conflict(i64),
    /// No session of that name.
    #[error("no session is called {0:?}")]
    NotFound(String),
    /// More than one session could be meant.
    #[error("{text:?} could be any of {}{}", list(candidates), if *more { " and others" } else { "" })]
    Ambiguous {
        text: String,
        /// The first of them, in order of their names.
        candidates: Vec<SessionKey>,
        /// There are more than these.
        more: bool,
    },
    /// A row we wrote cannot be read back.
    #[error("{what} in the store cannot be read: {detail}")]
    Malformed { what: &'static str, detail: String },
    /// Anything else the database says.
    #[error("the store failed: {0}")]
    Database(String),
}

fn list(candidates: &[SessionKey]) -> String {
    candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl StoreError {
    /// What the person can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Newer { .. } => "Update Belay, or point --home at another folder. The file was not touched.".into(),
            Self::Foreign { .. } => "Point --home at another folder. The file was not touched.".into(),
            Self::Corrupt { path, .. } => format!(
                "The file was not touched. Move it aside (mv {0} {0}.damaged) and start again with an empty store, or \
                 save what can be read: sqlite3 {0} .recover | sqlite3 {0}.recovered",
                path.display()
            ),
            Self::Busy(_) => {
                "See which process holds it (`belay status`, `fuser` on the file); Belay tries again by itself.".into()
            }
            Self::Full(_) => {
                "Free some disk space, or lower store.max_bytes. Belay goes on in memory and catches up by itself."
                    .into()
            }
            Self::ReadOnly(_) | Self::Io { .. } => {
                "Check the disk and that this user may write to the folder and the file, or point --home elsewhere."
                    .into()
            }
            Self::NotFound(_) => "`belay sessions --all` lists them.".into(),
            Self::Ambiguous { .. } => "Give a longer prefix.".into(),
            Self::Conflict(_) => "Try again.".into(),
            Self::Malformed { .. } | Self::Database(_) => "`belay doctor` checks the store.".into(),
        }
    }

    /// The store, not the question, is at fault: decisions must go on without it.
    pub fn is_fault(&self) -> bool {
        !matches!(self, Self::NotFound(_) | Self::Ambiguous { .. })
    }

    /// The file itself must not be written by this Belay, whatever happens.
    pub fn refuses_file(&self) -> bool {
        matches!(self, Self::Newer { .. } | Self::Foreign { .. } | Self::Corrupt { .. })
    }

    pub(crate) fn malformed(what: &'static str, detail: impl ToString) -> Self {
        Self::Malformed { what, detail: detail.to_string() }
    }
}
