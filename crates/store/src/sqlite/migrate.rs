//! Migrates a file from any earlier version to this one. Never downgrades and never writes to a foreign file.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::error;
use crate::error::{Result, StoreError};

/// SQLite's `application_id` of a Belay store: "Blay" in ASCII.
const APPLICATION_ID: i64 = 0x426c_6179;

/// One step per version, in order. Released steps are never edited.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql"), include_str!("schema_2.sql")];

pub(super) const LATEST_VERSION: i64 = MIGRATIONS.len() as i64;

/// Reads the schema version, 0 for an empty file. Fails on damaged, newer and foreign files.
pub(super) fn read_version(conn: &Connection, path: &Path) -> Result<i64> {
    let map_error = |e| error::to_store_error(path, e);
    let (application, version, tables) = header(conn).map_err(map_error)?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(0),
        (APPLICATION_ID, version) if version > LATEST_VERSION => {
            Err(StoreError::Newer { path: path.to_owned(), found: version, known: LATEST_VERSION })
        }
        (APPLICATION_ID, version) => Ok(version),
        (found, _) => Err(StoreError::Foreign { path: path.to_owned(), found }),
    }
}

fn header(conn: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    conn.query_row(
        "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
                (SELECT count(*) FROM sqlite_schema)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )
}

/// Migrates the file to the latest version. Safe to run in several processes at once.
pub(super) fn migrate(conn: &Connection, path: &Path, busy_timeout: Duration) -> Result<()> {
    let map_error = |e| error::to_store_error(path, e);
    if header(conn).map_err(map_error)? == (0, 0, 0) {
        retry_while_busy(busy_timeout, || {
            conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            // Takes effect once per file, and ignores the busy timeout.
            conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
        })
        .map_err(map_error)?;
    }
    if header(conn).map_err(map_error)?.1 == LATEST_VERSION {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE").map_err(map_error)?;
    let steps = || -> Result<()> {
        // Another process, possibly a newer Belay, may have migrated the file since the first check.
        let version = read_version(conn, path)?;
        apply_migrations(conn, version, LATEST_VERSION).map_err(map_error)?;
        conn.execute_batch("COMMIT").map_err(map_error)
    };
    steps().inspect_err(|_| {
        let _ = conn.execute_batch("ROLLBACK");
    })
}

/// Runs the steps after version `from`, up to `to`.
fn apply_migrations(conn: &Connection, from: i64, to: i64) -> rusqlite::Result<()> {
    for (step, sql) in (1..=to).zip(MIGRATIONS).skip_while(|(step, _)| *step <= from) {
        conn.execute_batch(sql)?;
        conn.pragma_update(None, "user_version", step)?;
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID)
}

fn retry_while_busy(busy_timeout: Duration, mut attempt: impl FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(rusqlite::Error::SqliteFailure(e, _))
                if e.code == rusqlite::ErrorCode::DatabaseBusy && started.elapsed() < busy_timeout =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
}

/// The problems found by SQLite's `quick_check`, at most 12 lines.
pub(super) fn check(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare("PRAGMA quick_check(12)")?;
    let mut lines: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    lines.retain(|line| line != "ok");
    let orphans: i64 = conn.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
    if orphans > 0 {
        lines.push(format!("{orphans} rows belong to sessions that do not exist"));
    }
    let unreadable: i64 =
        conn.query_row("SELECT count(*) FROM sessions WHERE NOT json_valid(state_json)", [], |row| row.get(0))?;
    if unreadable > 0 {
        lines.push(format!("{unreadable} sessions have an unreadable state; those that were held stay held"));
    }
    Ok(lines)
}
