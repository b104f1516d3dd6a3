//! Opens the store at a URL. Other crates open stores only through this module and never name a backend.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::error::Result;
use crate::sqlite::{OpenOptions, SqliteStore};
use crate::traits::Store;

/// The location of a store, written `sqlite:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl(Backend);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Backend {
    Sqlite(PathBuf),
}

impl StoreUrl {
    /// A store in a local file.
    pub fn local(path: impl Into<PathBuf>) -> Self {
        Self(Backend::Sqlite(path.into()))
    }

    /// The file of a local store, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Backend::Sqlite(path) => Some(path),
        }
    }

    /// The bytes that a local store takes on disk, including its write-ahead log and free pages. Does not open it.
    pub fn disk_bytes(&self) -> u64 {
        match &self.0 {
            Backend::Sqlite(path) => {
                let mut wal = path.clone().into_os_string();
                wal.push("-wal");
                let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
                size(path) + size(wal.as_ref())
            }
        }
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        match text.split_once(':') {
            Some(("sqlite", "")) => Err(StoreUrlError::NoPath(text.to_owned())),
            Some(("sqlite", path)) => Ok(Self::local(path)),
            Some((scheme, _)) => Err(StoreUrlError::UnknownScheme(scheme.to_owned())),
            None => Err(StoreUrlError::NoScheme(text.to_owned())),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Backend::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
        }
    }
}

/// The reason a string is not a store URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    #[error("unknown store scheme `{0}:`; expected sqlite:PATH")]
    UnknownScheme(String),
    #[error("store URL `{0}` has no scheme; expected sqlite:PATH")]
    NoScheme(String),
    #[error("store URL `{0}` has no path; expected sqlite:PATH")]
    NoPath(String),
}

/// The access a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only. Nothing is created or migrated.
    Read,
    /// Read and write. The store is created or migrated as needed.
    Write,
    /// Write from a process that exits within milliseconds, such as a hook. It waits for the write lock for 200 ms only,
    /// and leaves the checkpoint of the write-ahead log, which syncs the disk, to a longer-lived process.
    BriefWrite,
}

/// How long [`Access::BriefWrite`] waits for the write lock. An agent waits for its hooks.
const BRIEF_BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// Opens a store with one connection. Each thread opens its own.
pub fn open(url: &StoreUrl, access: Access) -> Result<Box<dyn Store>> {
    let options = match access {
        Access::Read => OpenOptions { read_only: true, ..OpenOptions::default() },
        Access::Write => OpenOptions::default(),
        Access::BriefWrite => OpenOptions { brief: true, busy_timeout: BRIEF_BUSY_TIMEOUT, ..OpenOptions::default() },
    };
    match &url.0 {
        Backend::Sqlite(path) => Ok(Box::new(SqliteStore::open(path, options)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_round_trips_through_its_text() {
        for text in ["sqlite:belay.db", "sqlite:/var/lib/belay/a:b.db"] {
            assert_eq!(text.parse::<StoreUrl>().unwrap().to_string(), text);
        }
        assert_eq!("sqlite:/a.db".parse::<StoreUrl>().unwrap(), StoreUrl::local("/a.db"));
    }

    #[test]
    fn an_invalid_url_names_the_expected_form() {
        let error = |text: &str| text.parse::<StoreUrl>().unwrap_err().to_string();
        assert_eq!(error("mysql://host/db"), "unknown store scheme `mysql:`; expected sqlite:PATH");
        assert_eq!(error("/a.db"), "store URL `/a.db` has no scheme; expected sqlite:PATH");
        assert_eq!(error("sqlite:"), "store URL `sqlite:` has no path; expected sqlite:PATH");
    }

    #[test]
    fn read_access_creates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let url = StoreUrl::local(dir.path().join("belay.db"));
        assert!(open(&url, Access::Read).is_err());
        drop(open(&url, Access::BriefWrite).unwrap());
        assert_eq!(open(&url, Access::Read).unwrap().totals(None).unwrap().events, 0);
    }
}
