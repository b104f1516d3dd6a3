//! Connections for reading, beside the writer.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use belay_store::{OpenOptions, Result, SqliteStore, Store};

/// Connections kept open.
const KEPT: usize = 4;

/// Lends connections to the store.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<SqliteStore>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    pub(crate) fn get(&self) -> Result<Reader<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let store = match idle {
            Some(store) => store,
            None => SqliteStore::open(&self.path, OpenOptions { read_only: true, ..OpenOptions::default() })?,
        };
        Ok(Reader { store: Some(store), home: self })
    }
}

/// A connection on loan.
#[derive(Debug)]
pub(crate) struct Reader<'r> {
    store: Option<SqliteStore>,
    home: &'r Readers,
}

impl Deref for Reader<'_> {
    type Target = dyn Store + 'static;

    fn deref(&self) -> &(dyn Store + 'static) {
        #[expect(clippy::expect_used, reason = "it is taken only by drop")]
        self.store.as_ref().expect("a reader has its store")
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut idle = self.home.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.extend(self.store.take());
        }
    }
}
