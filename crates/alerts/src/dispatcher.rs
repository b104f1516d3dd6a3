//! Routing, and one worker thread per channel.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

use belay_store::{DueWork, Result};

use crate::attempt::{Outbox, deliver_next, transact};
use crate::channel::Channel;

/// Messages routed in one transaction.
const MAX_ROUTED: usize = 256;

/// Delivers alerts. The work itself is in the store; a worker is only woken.
pub struct Dispatcher {
    outbox: Arc<dyn Outbox>,
    workers: Vec<Worker>,
    stop: Arc<AtomicBool>,
    /// Disconnected when the last worker has ended.
    running: Receiver<Infallible>,
    /// Whether deliveries to channels that are no longer configured were skipped.
    reconciled: bool,
}

struct Worker {
    channel: Arc<dyn Channel>,
    /// Holds one signal: a second one adds nothing, since a worker delivers all that is due.
    wake: SyncSender<()>,
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").field("channels", &self.channel_names()).finish_non_exhaustive()
    }
}

impl Dispatcher {
    /// Starts the workers. They wait until [`Dispatcher::poll`] wakes them.
    pub fn start(channels: Vec<Box<dyn Channel>>, outbox: Arc<dyn Outbox>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (alive, running) = channel::<Infallible>();
        let mut workers = Vec::with_capacity(channels.len());
        for channel in channels {
            let channel: Arc<dyn Channel> = Arc::from(channel);
            if let Some(problem) = channel.problem() {
                tracing::warn!(channel = channel.name(), problem = problem.reason, "channel cannot deliver alerts");
            }
            let (wake, woken) = sync_channel(1);
            let (delivering, outbox) = (Arc::clone(&channel), Arc::clone(&outbox));
            let (stop, alive) = (Arc::clone(&stop), alive.clone());
            std::thread::Builder::new().name(format!("alerts-{}", channel.name())).spawn(move || {
                let _alive = alive;
                deliver_when_woken(&*delivering, &*outbox, &woken, &stop);
            })?;
            workers.push(Worker { channel, wake });
        }
        Ok(Self { outbox, workers, stop, running, reconciled: false })
    }

    /// Routes new messages, and wakes the workers of channels with due deliveries. Never waits for a channel.
    pub fn poll(&mut self) -> Result<()> {
        let now = self.outbox.now();
        let names = self.channel_names();
        if !self.reconciled {
            transact(&*self.outbox, |transaction| transaction.skip_other_channels(&names, now))?;
        }
        let mut due = self.due_work()?;
        if due.unrouted {
            transact(&*self.outbox, |transaction| transaction.route_messages(&names, now, MAX_ROUTED))?;
            due = self.due_work()?;
        }
        drop(names);
        self.reconciled = true;
        for worker in self.workers.iter().filter(|worker| due.channels.iter().any(|name| name == worker.channel.name()))
        {
            if let Err(TrySendError::Disconnected(())) = worker.wake.try_send(()) {
                tracing::error!(channel = worker.channel.name(), "the worker of this channel panicked; restart belay");
            }
        }
        Ok(())
    }

    /// Ends the workers after their delivery in flight; `false` if one is still in flight after `grace`. Such a delivery
    /// stays claimed in the store and is repeated after its lease.
    pub fn shutdown(self, grace: Duration) -> bool {
        self.stop.store(true, Ordering::Release);
        drop(self.workers);
        matches!(self.running.recv_timeout(grace), Err(RecvTimeoutError::Disconnected))
    }

    fn channel_names(&self) -> Vec<&str> {
        self.workers.iter().map(|worker| worker.channel.name()).collect()
    }

    fn due_work(&self) -> Result<DueWork> {
        let mut due = DueWork::default();
        let now = self.outbox.now();
        self.outbox.read(&mut |store| {
            due = store.due_work(now)?;
            Ok(())
        })?;
        Ok(due)
    }
}

fn deliver_when_woken(channel: &dyn Channel, outbox: &dyn Outbox, woken: &Receiver<()>, stop: &AtomicBool) {
    while woken.recv().is_ok() {
        while !stop.load(Ordering::Acquire) {
            match deliver_next(channel, outbox) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(channel = channel.name(), %error, "cannot use the outbox; the next poll tries again");
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
