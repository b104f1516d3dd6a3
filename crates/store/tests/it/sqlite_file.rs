//! The database file: permissions, refusal of unusable files, read-only access and locking.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_core::{SessionKey, Timestamp};
use belay_store::session::{SessionDetails, SessionUpdate};
use belay_store::{Durability, NewEvent, OpenOptions, SqliteStore, Store, StoreError};

struct TestDir(tempfile::TempDir);

impl TestDir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("state/belay.db")
    }

    fn open(&self) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(self.file(), OpenOptions::default())
    }

    fn read(&self) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(self.file(), OpenOptions { read_only: true, ..OpenOptions::default() })
    }

    fn sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

fn fill(store: &mut SqliteStore, sessions: u64) {
    let mut transaction = store.begin(Durability::ProcessCrash).unwrap();
    for n in 0..sessions {
        let head =
            transaction.create(&SessionKey::new("codex", format!("s{n:04}")), Timestamp::from_millis(1)).unwrap();
        let json = "x".repeat(1000);
        let event = NewEvent {
            seq: 1,
            identity: Default::default(),
            at: Timestamp::from_millis(1),
            kind: "note",
            rules: Default::default(),
            json: &json,
        };
        assert!(transaction.append(head.id, &event).unwrap());
        let change = SessionUpdate { from: 0, to: 1, state: None, listed: None, details: &SessionDetails::default() };
        transaction.save(head.id, &change).unwrap();
    }
    transaction.commit().unwrap();
}

#[cfg(unix)]
#[test]
fn directory_and_files_are_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TestDir::new();
    let mut store = directory.open().unwrap();
    fill(&mut store, 1);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.file().parent().unwrap()), 0o700);
    for suffix in ["", "-wal", "-shm"] {
        let mut name = directory.file().into_os_string();
        name.push(suffix);
        assert_eq!(mode(Path::new(&name)), 0o600, "{suffix}");
    }
}

/// Expects that the file cannot be opened, and checks that it is unchanged.
fn refusal(directory: &TestDir) -> StoreError {
    let before = std::fs::read(directory.file()).unwrap();
    let error = directory.open().unwrap_err();
    assert!(directory.read().is_err());
    assert!(error.refuses_file() && error.is_fault(), "{error:?}");
    assert_eq!(std::fs::read(directory.file()).unwrap(), before, "never overwritten");
    error
}

#[test]
fn a_newer_store_is_refused_with_a_hint() {
    let directory = TestDir::new();
    drop(directory.open().unwrap());
    directory.sqlite().pragma_update(None, "user_version", 99).unwrap();
    let error = refusal(&directory);
    assert!(
        error
            .to_string()
            .ends_with("belay.db was written by a newer Belay (store version 99; this version supports up to 2)")
    );
    assert_eq!(error.hint(), "Update Belay, or point --home at another directory. The file was not touched.");
}

#[test]
fn another_programs_database_is_refused() {
    let directory = TestDir::new();
    std::fs::create_dir(directory.file().parent().unwrap()).unwrap();
    directory.sqlite().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let error = refusal(&directory);
    assert!(matches!(error, StoreError::Foreign { found: 0, .. }), "{error:?}");
}

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    let directory = TestDir::new();
    std::fs::create_dir(directory.file().parent().unwrap()).unwrap();
    std::fs::write(directory.file(), vec![b'?'; 10_000]).unwrap();
    let error = refusal(&directory);
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(error.hint().contains(".damaged"), "{}", error.hint());
}

#[test]
fn an_overwritten_header_is_refused() {
    let directory = TestDir::new();
    fill(&mut directory.open().unwrap(), 10);
    let mut bytes = std::fs::read(directory.file()).unwrap();
    bytes[100..2000].fill(0xff);
    std::fs::write(directory.file(), &bytes).unwrap();
    assert!(matches!(refusal(&directory), StoreError::Corrupt { .. }));
}

#[test]
fn a_truncated_file_is_refused() {
    let directory = TestDir::new();
    fill(&mut directory.open().unwrap(), 400);
    let file = std::fs::OpenOptions::new().write(true).open(directory.file()).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    assert!(matches!(refusal(&directory), StoreError::Corrupt { .. }));
}

#[test]
fn check_reports_damaged_pages() {
    let directory = TestDir::new();
    fill(&mut directory.open().unwrap(), 400);
    let mut bytes = std::fs::read(directory.file()).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0xaa);
    std::fs::write(directory.file(), &bytes).unwrap();
    let store = directory.open().unwrap();
    let found = match store.check() {
        Ok(lines) => lines.join("\n"),
        Err(error) => error.to_string(),
    };
    assert!(!found.is_empty(), "check found nothing");
    assert_eq!(std::fs::read(directory.file()).unwrap(), bytes);
}

#[test]
fn an_empty_file_is_an_empty_store() {
    let directory = TestDir::new();
    std::fs::create_dir(directory.file().parent().unwrap()).unwrap();
    std::fs::write(directory.file(), "").unwrap();
    assert_eq!(directory.read().unwrap().totals(None).unwrap().events, 0, "another process is creating it");
    assert_eq!(std::fs::read(directory.file()).unwrap(), b"");
    fill(&mut directory.open().unwrap(), 2);
    assert_eq!(directory.read().unwrap().totals(None).unwrap().events, 2);
}

#[test]
fn read_access_neither_creates_nor_writes() {
    let directory = TestDir::new();
    assert!(directory.read().is_err());
    assert!(!directory.file().exists());
    fill(&mut directory.open().unwrap(), 1);
    let mut reader = directory.read().unwrap();
    let refused = reader.begin(Durability::ProcessCrash).err().unwrap();
    assert!(matches!(refused, StoreError::ReadOnly(_)), "{refused:?}");
}

#[test]
fn a_held_lock_is_reported_as_busy() {
    let directory = TestDir::new();
    let mut holder = directory.open().unwrap();
    let _lock = holder.begin(Durability::ProcessCrash).unwrap();
    let options = OpenOptions { busy_timeout: Duration::ZERO, ..OpenOptions::default() };
    let mut other = SqliteStore::open(directory.file(), options).unwrap();
    let busy = other.begin(Durability::ProcessCrash).err().unwrap();
    assert!(matches!(busy, StoreError::Busy(_)), "{busy:?}");
}
