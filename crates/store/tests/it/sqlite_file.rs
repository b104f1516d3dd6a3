//! The file itself: whose it is, who may read it, and when it is refused.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_core::{SessionKey, Timestamp};
use belay_store::session::{SessionDetails, SessionUpdate};
use belay_store::{Durability, NewEvent, OpenOptions, SqliteStore, Store, StoreError};

struct Folder(tempfile::TempDir);

impl Folder {
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
fn folder_and_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mut store = folder.open().unwrap();
    fill(&mut store, 1);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.file().parent().unwrap()), 0o700);
    for side in ["", "-wal", "-shm"] {
        let mut name = folder.file().into_os_string();
        name.push(side);
        assert_eq!(mode(Path::new(&name)), 0o600, "{side}");
    }
}

/// Opens, expects a refusal, and checks that the file is as it was.
fn refusal(folder: &Folder) -> StoreError {
    let before = std::fs::read(folder.file()).unwrap();
    let error = folder.open().unwrap_err();
    assert!(folder.read().is_err());
    assert!(error.refuses_file() && error.is_fault(), "{error:?}");
    assert_eq!(std::fs::read(folder.file()).unwrap(), before, "never overwritten");
    error
}

#[test]
fn a_newer_store_is_refused_with_what_to_do() {
    let folder = Folder::new();
    drop(folder.open().unwrap());
    folder.sqlite().pragma_update(None, "user_version", 99).unwrap();
    let error = refusal(&folder);
    assert!(
        error.to_string().ends_with("belay.db was written by a newer Belay (store version 99; this one knows up to 1)")
    );
    assert_eq!(error.hint(), "Update Belay, or point --home at another folder. The file was not touched.");
}

#[test]
fn another_programs_database_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file().parent().unwrap()).unwrap();
    folder.sqlite().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let error = refusal(&folder);
    assert!(matches!(error, StoreError::Foreign { found: 0, .. }), "{error:?}");
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file().parent().unwrap()).unwrap();
    std::fs::write(folder.file(), vec![b'?'; 10_000]).unwrap();
    let error = refusal(&folder);
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(error.hint().contains(".damaged"), "{}", error.hint());
}

#[test]
fn a_header_that_was_overwritten_is_refused() {
    let folder = Folder::new();
    fill(&mut folder.open().unwrap(), 10);
    let mut bytes = std::fs::read(folder.file()).unwrap();
    bytes[100..2000].fill(0xff);
    std::fs::write(folder.file(), &bytes).unwrap();
    assert!(matches!(refusal(&folder), StoreError::Corrupt { .. }));
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let folder = Folder::new();
    fill(&mut folder.open().unwrap(), 400);
    let file = std::fs::OpenOptions::new().write(true).open(folder.file()).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    assert!(matches!(refusal(&folder), StoreError::Corrupt { .. }));
}

#[test]
fn damage_inside_is_named_when_it_is_met_and_by_the_check() {
    let folder = Folder::new();
    fill(&mut folder.open().unwrap(), 400);
    let mut bytes = std::fs::read(folder.file()).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0xaa);
    std::fs::write(folder.file(), &bytes).unwrap();
    let store = folder.open().unwrap();
    let found = match store.check() {
        Ok(lines) => lines.join("\n"),
        Err(error) => error.to_string(),
    };
    assert!(!found.is_empty(), "the check finds it");
    assert_eq!(std::fs::read(folder.file()).unwrap(), bytes);
}

#[test]
fn an_empty_file_is_a_fresh_store() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file().parent().unwrap()).unwrap();
    std::fs::write(folder.file(), "").unwrap();
    assert_eq!(folder.read().unwrap().totals(None).unwrap().events, 0, "somebody is about to make it");
    assert_eq!(std::fs::read(folder.file()).unwrap(), b"");
    fill(&mut folder.open().unwrap(), 2);
    assert_eq!(folder.read().unwrap().totals(None).unwrap().events, 2);
}

#[test]
fn reading_makes_nothing_and_writes_nothing() {
    let folder = Folder::new();
    assert!(folder.read().is_err());
    assert!(!folder.file().exists());
    fill(&mut folder.open().unwrap(), 1);
    let mut reader = folder.read().unwrap();
    let refused = reader.begin(Durability::ProcessCrash).err().unwrap();
    assert!(matches!(refused, StoreError::ReadOnly(_)), "{refused:?}");
}

#[test]
fn a_lock_that_lasts_is_said_to_be_one() {
    let folder = Folder::new();
    let mut holder = folder.open().unwrap();
    let _lock = holder.begin(Durability::ProcessCrash).unwrap();
    let options = OpenOptions { busy_timeout: Duration::ZERO, ..OpenOptions::default() };
    let mut other = SqliteStore::open(folder.file(), options).unwrap();
    let busy = other.begin(Durability::ProcessCrash).err().unwrap();
    assert!(matches!(busy, StoreError::Busy(_)), "{busy:?}");
}
