//! Runs the conformance suite on the SQLite backend.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use belay_store::conformance::Fixture;
use belay_store::{OpenOptions, SqliteStore, Store};

struct SqliteFixture(tempfile::TempDir);

impl Fixture for SqliteFixture {
    fn open(&self) -> Box<dyn Store> {
        open(&self.address())
    }

    fn address(&self) -> String {
        self.0.path().join("state/belay.db").to_str().unwrap().to_owned()
    }

    fn child_test(&self) -> &'static str {
        "sqlite_conformance::child"
    }
}

fn fresh() -> SqliteFixture {
    SqliteFixture(tempfile::tempdir().unwrap())
}

fn open(address: &str) -> Box<dyn Store> {
    Box::new(SqliteStore::open(address, OpenOptions::default()).unwrap())
}

belay_store::conformance!(fresh, open);
