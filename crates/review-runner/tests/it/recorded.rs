//! Tasks that an earlier version wrote are shown as they were then.
//!
//! `recorded/` holds three of them, with what `belay review show --json` and `belay review list --json` printed:
//! - `r-3kq7vn`: rounds, gates, a usage limit, a pause, an interruption, waivers; its result landed
//! - `r-b8xw2d`: every other way in which a step or a person ends something; cancelled, then archived
//! - `r-m5tc9h`: in place, waited for a directory, was interrupted, and builds
//!
//! Since then `folder` was renamed: the files keep the old name, and what was printed has the new one.

use std::path::Path;
use std::time::{Duration, SystemTime};

use belay_ipc::ReviewsRequest;
use belay_ipc::views::ReviewSummaryView;
use belay_review_runner::read;
use serde_json::{Map, Value};

/// The recorded tasks in a directory of the test, so that the times of their files are known.
struct Recorded(tempfile::TempDir);

impl Recorded {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(&source(), dir.path());
        Self(dir)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn list(&self) -> Value {
        serde_json::to_value(read::list(self.root(), &ReviewsRequest::default())).unwrap()
    }
}

fn source() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/recorded")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn expected(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(source().join(name)).unwrap()).unwrap()
}

#[test]
fn a_recorded_task_is_shown_as_it_was() {
    let recorded = Recorded::new();
    let views: Map<String, Value> = read::task_dirs(recorded.root())
        .iter()
        .map(|dir| (dir.id().to_owned(), serde_json::to_value(read::view(dir).unwrap()).unwrap()))
        .collect();
    let expected = expected("views.json");
    for (id, view) in &views {
        assert_eq!(*view, expected[id], "{id}");
    }
    assert_eq!(views.len(), expected.as_object().unwrap().len());
}

#[test]
fn a_recorded_task_is_listed_as_it_was_from_its_summary_and_from_its_journal() {
    let recorded = Recorded::new();
    let later = SystemTime::now() + Duration::from_secs(60);
    for dir in read::task_dirs(recorded.root()) {
        std::fs::File::options().write(true).open(dir.path().join("meta.json")).unwrap().set_modified(later).unwrap();
        assert!(dir.read_summary::<ReviewSummaryView>().is_some(), "{}", dir.id());
    }
    assert_eq!(recorded.list(), expected("list.json"));
    for dir in read::task_dirs(recorded.root()) {
        std::fs::remove_file(dir.path().join("meta.json")).unwrap();
    }
    assert_eq!(recorded.list(), expected("list.json"));
}

/// Programs read the journal over HTTP.
#[test]
fn a_recorded_journal_is_written_as_it_was() {
    let recorded = Recorded::new();
    for dir in read::task_dirs(recorded.root()) {
        let text = std::fs::read_to_string(dir.path().join("journal.jsonl")).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            serde_json::to_value(dir.read_journal::<belay_review::Task>().unwrap()).unwrap(),
            Value::Array(lines),
            "{}",
            dir.id()
        );
    }
}
