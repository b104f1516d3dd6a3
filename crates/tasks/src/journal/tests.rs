use std::io::Write as _;

use thiserror::Error;

use super::*;

/// A sum that never falls below zero.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sum(i64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Added {
    by: i64,
}

#[derive(Debug, Error)]
#[error("{0} is below zero")]
struct BelowZero(i64);

impl Journalled for Sum {
    type Record = Added;
    type Error = BelowZero;

    fn apply(&mut self, _: Timestamp, record: &Added) -> Result<(), BelowZero> {
        let sum = self.0 + record.by;
        if sum < 0 {
            return Err(BelowZero(sum));
        }
        self.0 = sum;
        Ok(())
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("journal.jsonl")
    }

    fn open(&self) -> Journal<Sum> {
        Journal::open(&self.path(), Sum::default()).unwrap()
    }

    fn append(&self, text: &str) {
        OpenOptions::new().append(true).open(self.path()).unwrap().write_all(text.as_bytes()).unwrap();
    }
}

#[test]
fn the_state_is_what_the_journal_says() {
    let dir = Dir::new();
    let mut journal = dir.open();
    journal.record(at(1), Added { by: 3 }).unwrap();
    journal.record(at(2), Added { by: -1 }).unwrap();
    let text = std::fs::read_to_string(dir.path()).unwrap();
    assert_eq!(text.lines().next(), Some(r#"{"at":"1970-01-01T00:00:00.001Z","by":3}"#));
    drop(journal);
    let mut journal = dir.open();
    assert_eq!((journal.state(), journal.entries().len()), (&Sum(2), 2));
    journal.record(at(3), Added { by: 5 }).unwrap();
    let (state, entries) = Journal::read(&dir.path(), Sum::default()).unwrap();
    assert_eq!((state, entries.last()), (Sum(7), Some(&Entry { at: at(3), record: Added { by: 5 } })));
}

#[test]
fn a_record_that_does_not_fit_is_not_written() {
    let dir = Dir::new();
    let mut journal = dir.open();
    let error = journal.record(at(1), Added { by: -1 }).unwrap_err();
    assert!(matches!(error, JournalError::Misfit(BelowZero(-1))), "{error}");
    assert_eq!((journal.state(), journal.entries().len()), (&Sum(0), 0));
    assert_eq!(std::fs::read_to_string(dir.path()).unwrap(), "");
}

#[test]
fn a_last_line_that_a_crash_cut_off_is_dropped() {
    let dir = Dir::new();
    dir.open().record(at(1), Added { by: 3 }).unwrap();
    let whole = std::fs::read(dir.path()).unwrap();
    for cut in ["{", r#"{"at":"1970-01-01T00:00:00.002Z","by":1}"#, "\u{0}\u{0}"] {
        dir.append(cut);
        assert_eq!(Journal::read(&dir.path(), Sum::default()).unwrap().0, Sum(3), "{cut}");
        let mut journal = dir.open();
        assert_eq!(std::fs::read(dir.path()).unwrap(), whole, "{cut}");
        journal.record(at(2), Added { by: 1 }).unwrap();
        assert_eq!(dir.open().state(), &Sum(4), "{cut}");
        std::fs::write(dir.path(), &whole).unwrap();
    }
}

#[test]
fn a_damaged_line_is_named() {
    let dir = Dir::new();
    dir.open().record(at(1), Added { by: 3 }).unwrap();
    for (line, why) in [("{}\n", "missing field"), (r#"{"at":"1970-01-01T00:00:00Z","by":-9}"#, "-6 is below zero")] {
        let whole = std::fs::read(dir.path()).unwrap();
        dir.append(&format!("{}\n", line.trim()));
        let error = Journal::open(&dir.path(), Sum::default()).unwrap_err().to_string();
        assert!(error.contains("journal.jsonl is damaged at line 2") && error.contains(why), "{error}");
        std::fs::write(dir.path(), whole).unwrap();
    }
}

#[test]
fn a_journal_that_cannot_be_written_keeps_its_state() {
    let dir = Dir::new();
    let mut journal = dir.open();
    journal.record(at(1), Added { by: 3 }).unwrap();
    // The disk is full.
    journal.file = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let error = journal.record(at(2), Added { by: 4 }).unwrap_err();
    assert!(matches!(error, JournalError::Write { .. }), "{error}");
    assert_eq!((journal.state(), journal.entries().len(), dir.open().state()), (&Sum(3), 1, &Sum(3)));
}

#[test]
fn a_journal_that_is_a_link_is_refused() {
    let dir = Dir::new();
    let elsewhere = dir.0.path().join("elsewhere");
    std::fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, dir.path()).unwrap();
    assert!(Journal::open(&dir.path(), Sum::default()).is_err());
}
