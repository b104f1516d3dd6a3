//! The only place where connections are made.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{SqliteStore, fault, migrate};
use crate::api::Durability;
use crate::error::{Result, StoreError};

/// How to open a store.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Only look; nothing is made or migrated.
    pub read_only: bool,
    /// How long to wait for another process's write lock.
    pub busy_timeout: Duration,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { read_only: false, busy_timeout: Duration::from_secs(5) }
    }
}

/// Checkpoints sync the disk: rarer ones write the hot pages of the indexes once instead of many times.
const SETTINGS: &str = "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 4000;
                        PRAGMA journal_size_limit = 67108864;";

pub(super) fn open(path: &Path, options: OpenOptions) -> Result<SqliteStore> {
    let explain = |e| fault::explain(path, e);
    let conn = if options.read_only { open_to_read(path)? } else { open_to_write(path)? };
    conn.busy_timeout(options.busy_timeout).map_err(explain)?;
    conn.set_prepared_statement_cache_capacity(96);
    migrate::identify(&conn, path)?;
    if !options.read_only {
        migrate::migrate(&conn, path, options.busy_timeout)?;
        conn.execute_batch(SETTINGS).map_err(explain)?;
    }
    Ok(SqliteStore { conn, path: path.to_owned(), durability: Cell::new(Durability::Process) })
}

fn open_to_write(path: &Path) -> Result<Connection> {
    make_private(path).map_err(|e| match e.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly(format!("{}: {e}", path.display()))
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full(format!("{}: {e}", path.display()))
        }
        _ => StoreError::Io { path: path.to_owned(), detail: e.to_string() },
    })?;
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|e| fault::explain(path, e))
}

fn open_to_read(path: &Path) -> Result<Connection> {
    let explain = |e| fault::explain(path, e);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(explain)?;
    // A WAL database needs a place for its index even to be read. On a read-only disk there is none, and nobody
    // who could write either.
    match migrate::identify(&conn, path) {
        Err(StoreError::Io { .. } | StoreError::ReadOnly(_)) => {
            let text = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            Connection::open_with_flags(format!("file:{text}?immutable=1"), flags | OpenFlags::SQLITE_OPEN_URI)
                .map_err(explain)
        }
        Err(e) => Err(e),
        Ok(()) => Ok(conn),
    }
}

/// Folder and file are for their owner only. SQLite gives its side files the mode of the main one.
fn make_private(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut file = fs::OpenOptions::new();
    file.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.open(path).map(drop)
}
