//! Pool of read-only connections to the store.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Mutex;

use belay_store::{Access, Result, Store, StoreUrl};

use crate::sync::lock;

/// Idle connections retained.
const MAX_IDLE_CONNECTIONS: usize = 4;

/// Pool of read-only connections.
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
        let idle = lock(&self.idle).pop();
        let store = match idle {
            Some(store) => store,
            None => belay_store::open(&self.url, Access::Read)?,
        };
        Ok(PooledStore { store: Some(store), pool: self })
    }
}

/// A connection that returns to the pool when dropped.
pub(crate) struct PooledStore<'r> {
    store: Option<Box<dyn Store>>,
    pool: &'r ReadPool,
}

impl Deref for PooledStore<'_> {
    type Target = dyn Store + 'static;

    fn deref(&self) -> &(dyn Store + 'static) {
        #[expect(clippy::expect_used, reason = "only `drop` takes it")]
        self.store.as_deref().expect("store is present until drop")
    }
}

impl Drop for PooledStore<'_> {
    fn drop(&mut self) {
        let mut idle = lock(&self.pool.idle);
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.extend(self.store.take());
        }
    }
}
