//! From any earlier version of the file to this one; never back, and never over a file that is not ours.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::error;
use crate::error::{Result, StoreError};

/// "Blay": tells our files from others.
const APPLICATION_ID: i64 = 0x426c_6179;

/// One step per version, in order. Steps that were released are never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_ledger.sql"),
    include_str!("migrations/0003_identities.sql"),
    include_str!("migrations/0004_packs.sql"),
];

pub(super) const LATEST_VERSION: i64 = MIGRATIONS.len() as i64;

/// The file's version, 0 for an empty one. Refuses files that are damaged, newer, or somebody else's. Reads only.
pub(super) fn read_version(conn: &Connection, path: &Path) -> Result<i64> {
    let explain = |e| error::to_store_error(path, e);
    let (application, version, tables) = header(conn).map_err(explain)?;
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

/// Brings the file to the newest version. Any number of processes may do so at the same instant.
pub(super) fn migrate(conn: &Connection, path: &Path, patience: Duration) -> Result<()> {
    let explain = |e| error::to_store_error(path, e);
    if header(conn).map_err(explain)? == (0, 0, 0) {
        patiently(patience, || {
            conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            // Takes effect once per file, and does not wait for a lock by itself.
            conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
        })
        .map_err(explain)?;
    }
    if header(conn).map_err(explain)?.1 == LATEST_VERSION {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE").map_err(explain)?;
    let steps = || -> Result<()> {
        // Another process may have been quicker, and may be newer than we are.
        let version = read_version(conn, path)?;
        apply_migrations(conn, version, LATEST_VERSION).map_err(explain)?;
        conn.execute_batch("COMMIT").map_err(explain)
    };
    steps().inspect_err(|_| {
        let _ = conn.execute_batch("ROLLBACK");
    })
}

/// Takes the steps after version `from`, up to `to`.
pub(super) fn apply_migrations(conn: &Connection, from: i64, to: i64) -> rusqlite::Result<()> {
    for (step, sql) in (1..=to).zip(MIGRATIONS).skip_while(|(step, _)| *step <= from) {
        conn.execute_batch(sql)?;
        conn.pragma_update(None, "user_version", step)?;
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID)
}

fn patiently(patience: Duration, mut attempt: impl FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(rusqlite::Error::SqliteFailure(e, _))
                if e.code == rusqlite::ErrorCode::DatabaseBusy && began.elapsed() < patience =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
}

/// What the database itself finds wrong, at most a dozen lines.
pub(super) fn check(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare("PRAGMA quick_check(12)")?;
    let mut lines: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    lines.retain(|line| line != "ok");
    let orphans: i64 = conn.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
    if orphans > 0 {
        lines.push(format!("{orphans} rows belong to sessions that are gone"));
    }
    Ok(lines)
}
