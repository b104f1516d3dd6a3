//! A sleep that a termination signal interrupts.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end a command.
pub(super) struct SignalWaiter {
    runtime: tokio::runtime::Runtime,
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl SignalWaiter {
    pub(super) fn new() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let catch = |kind| {
            let _inside = runtime.enter();
            signal(kind)
        };
        let (terminate, interrupt, hangup) =
            (catch(SignalKind::terminate())?, catch(SignalKind::interrupt())?, catch(SignalKind::hangup())?);
        Ok(Self { runtime, terminate, interrupt, hangup })
    }

    /// Sleeps; returns the signal that interrupted it.
    pub(super) fn sleep(&mut self, time: Duration) -> Option<u8> {
        let Self { runtime, terminate, interrupt, hangup } = self;
        runtime.block_on(async {
            tokio::select! {
                () = tokio::time::sleep(time) => None,
                _ = terminate.recv() => Some(15),
                _ = interrupt.recv() => Some(2),
                _ = hangup.recv() => Some(1),
            }
        })
    }
}
