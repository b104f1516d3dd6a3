//! Connections for reading, beside the writer.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use belay_store::{Access, Result, Store, StoreUrl};

/// Connections kept open.
const MAX_IDLE_CONNECTIONS: usize = 4;

/// Lends connections to the store.
pub(crate) struct ReadPool {
    url: StoreUrl,
    idle: Mutex<Vec<Box<dyn Store>>>,
}

impl std::fmt::Debug for ReadPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadPool").field("url", &self.url).finish_non_exhaustive()
    }
}

impl ReadPool {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { url: StoreUrl::local(path), idle: Mutex::default() }
    }

    pub(crate) fn get(&self) -> Result<PooledStore<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let store = match idle {
            Some(store) => store,
            None => belay_store::open(&self.url, Access::Read)?,
        };
        Ok(PooledStore { store: Some(store), home: self })
    }
}

/// A connection on loan.
pub(crate) struct PooledStore<'r> {
    store: Option<Box<dyn Store>>,
    home: &'r ReadPool,
}

impl Deref for PooledStore<'_> {
    type Target = dyn Store + 'static;

    fn deref(&self) -> &(dyn Store + 'static) {
        #[expect(clippy::expect_used, reason = "it is taken only by drop")]
        self.store.as_deref().expect("a reader has its store")
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
