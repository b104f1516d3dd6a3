//! Connections for reading, beside the writer.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use belay_store::{OpenOptions, Result, SqliteStore, Store};

/// Connections kept open.
const MAX_IDLE_CONNECTIONS: usize = 4;

/// Lends connections to the store.
#[derive(Debug)]
pub(crate) struct ReadPool {
    path: PathBuf,
    idle: Mutex<Vec<SqliteStore>>,
}

impl ReadPool {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    pub(crate) fn get(&self) -> Result<PooledStore<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let store = match idle {
            Some(store) => store,
            None => SqliteStore::open(&self.path, OpenOptions { read_only: true, ..OpenOptions::default() })?,
        };
        Ok(PooledStore { store: Some(store), home: self })
    }
}

/// A connection on loan.
#[derive(Debug)]
pub(crate) struct PooledStore<'r> {
    store: Option<SqliteStore>,
    home: &'r ReadPool,
}

impl Deref for PooledStore<'_> {
    type Target = dyn Store + 'static;

    fn deref(&self) -> &(dyn Store + 'static) {
        #[expect(clippy::expect_used, reason = "it is taken only by drop")]
        self.store.as_ref().expect("a reader has its store")
    }
}

impl Drop for PooledStore<'_> {
    fn drop(&mut self) {
        let mut idle = self.home.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.extend(self.store.take());
        }
    }
}
