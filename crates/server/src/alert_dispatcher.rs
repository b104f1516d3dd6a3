//! Runs the alert dispatcher in the resident process.

use std::sync::Arc;
use std::time::Duration;

use belay_alerts::{Channel, Dispatcher, Outbox};
use belay_clock::now;
use belay_core::Timestamp;
use belay_store::{Store, StoreError};

use crate::needs::NeedWatcher;
use crate::state::DaemonState;

/// How often the outbox is polled, and so the longest delay before a first attempt.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How long a delivery in flight may delay the shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// Dispatches until the shutdown.
pub(crate) fn run(daemon: &Arc<DaemonState>, channels: Vec<Box<dyn Channel>>, mut needs: NeedWatcher) {
    let outbox = Arc::new(DaemonOutbox(Arc::clone(daemon)));
    let mut dispatcher = match Dispatcher::start(channels, Arc::clone(&outbox) as Arc<dyn Outbox>) {
        Ok(dispatcher) => dispatcher,
        Err(error) => {
            tracing::error!(%error, "cannot start the alert dispatcher; alerts stay in the outbox");
            return;
        }
    };
    loop {
        if let Err(error) = needs.enqueue_new(daemon, &*outbox) {
            tracing::warn!(%error, "cannot enqueue alerts about review tasks");
        }
        if let Err(error) = dispatcher.poll() {
            tracing::warn!(%error, "cannot poll the outbox");
        }
        if daemon.lifecycle.shutdown.wait_for(POLL_INTERVAL) {
            break;
        }
    }
    if !dispatcher.shutdown(SHUTDOWN_GRACE) {
        tracing::info!("a delivery is in flight at shutdown; the next process repeats it");
    }
}

/// Whether an alert is not yet delivered to every channel, or not yet enqueued.
pub(crate) fn has_pending_alerts(daemon: &DaemonState) -> bool {
    if daemon.need_changes.are_pending() {
        return true;
    }
    let store = daemon.readers.get();
    store.is_ok_and(|store| store.pending_messages().is_ok_and(|pending| pending > 0))
}

struct DaemonOutbox(Arc<DaemonState>);

impl Outbox for DaemonOutbox {
    fn now(&self) -> Timestamp {
        now()
    }

    fn read(&self, work: &mut dyn FnMut(&dyn Store) -> belay_store::Result<()>) -> belay_store::Result<()> {
        work(&*self.0.readers.get()?)
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Store) -> belay_store::Result<()>) -> belay_store::Result<()> {
        self.0.decisions.committer.with_engine(|engine| match engine.store_mut() {
            Some(store) => work(store),
            None => Err(StoreError::Database("the store is not open".to_owned())),
        })
    }
}
