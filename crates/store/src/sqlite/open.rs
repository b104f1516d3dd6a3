//! Opens connections. No other module does.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{SqliteStore, error, migrate};
use crate::error::{Result, StoreError};
use crate::traits::Durability;

/// How to open a store.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Open for reading only; nothing is created or migrated.
    pub read_only: bool,
    /// How long to wait for another process's write lock.
    pub busy_timeout: Duration,
    /// Skip the checkpoint on close. Otherwise the last connection to close checkpoints the write-ahead log and syncs
    /// the disk, which takes longer than everything else a short-lived process does.
    pub brief: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { read_only: false, busy_timeout: Duration::from_secs(5), brief: false }
    }
}

/// Checkpoints sync the disk. A higher `wal_autocheckpoint` writes hot index pages once instead of many times.
const PRAGMAS: &str = "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 4000;
                        PRAGMA journal_size_limit = 67108864;";

pub(super) fn open(path: &Path, options: OpenOptions) -> Result<SqliteStore> {
    let conn = if options.read_only { open_read_only(path, options)? } else { open_read_write(path, options)? };
    conn.set_prepared_statement_cache_capacity(96);
    Ok(SqliteStore {
        conn,
        path: path.to_owned(),
        read_only: options.read_only,
        busy_timeout: options.busy_timeout,
        durability: Cell::new(Durability::ProcessCrash),
    })
}

fn open_read_write(path: &Path, options: OpenOptions) -> Result<Connection> {
    create_private(path).map_err(|e| match e.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly(format!("{}: {e}", path.display()))
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full(format!("{}: {e}", path.display()))
        }
        _ => StoreError::Io { path: path.to_owned(), detail: e.to_string() },
    })?;
    let map_error = |e| error::to_store_error(path, e);
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(map_error)?;
    conn.busy_timeout(options.busy_timeout).map_err(map_error)?;
    migrate::read_version(&conn, path)?;
    migrate::migrate(&conn, path, options.busy_timeout)?;
    conn.execute_batch(PRAGMAS).map_err(map_error)?;
    if options.brief {
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(map_error)?;
    }
    Ok(conn)
}

fn open_read_only(path: &Path, options: OpenOptions) -> Result<Connection> {
    let map_error = |e| error::to_store_error(path, e);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(map_error)?;
    conn.busy_timeout(options.busy_timeout).map_err(map_error)?;
    let (conn, version) = match migrate::read_version(&conn, path) {
        Ok(version) => (conn, version),
        // SQLite needs to write the WAL index even to read, which fails on a read-only disk.
        Err(StoreError::Io { .. } | StoreError::ReadOnly(_)) => {
            let conn = open_on_read_only_disk(path, flags).map_err(map_error)?;
            let version = migrate::read_version(&conn, path)?;
            (conn, version)
        }
        Err(error) => return Err(error),
    };
    match version {
        migrate::LATEST_VERSION => Ok(conn),
        // Another process is creating the file: read it as an empty store.
        0 => {
            let conn = Connection::open_in_memory().map_err(map_error)?;
            migrate::migrate(&conn, path, options.busy_timeout)?;
            Ok(conn)
        }
        // Queries work on the latest version only.
        _ => {
            drop(open_read_write(path, options)?);
            Connection::open_with_flags(path, flags).map_err(map_error)
        }
    }
}

/// Opens a store on a read-only disk, with a WAL that a crash may have left behind. The WAL index is kept in memory and
/// no locks are taken, which is safe because no process can write.
fn open_on_read_only_disk(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    if cfg!(unix) && fs::metadata(&wal).is_ok_and(|wal| wal.len() > 0) {
        let conn = Connection::open_with_flags_and_vfs(path, flags, "unix-none")?;
        conn.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
        return Ok(conn);
    }
    let text = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Connection::open_with_flags(format!("file:{text}?immutable=1"), flags | OpenFlags::SQLITE_OPEN_URI)
}

/// Creates directory and file with access for their owner only. SQLite gives the `-wal` and `-shm` files the mode of
/// the main file.
fn create_private(path: &Path) -> io::Result<()> {
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)?;
    }
    let mut file = fs::OpenOptions::new();
    file.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.open(path).map(drop)
}
