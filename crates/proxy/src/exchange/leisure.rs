//! When there is time to look.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// How long an upstream may answer at once.
const AT_ONCE: Duration = Duration::from_millis(2);

/// Fires when an upstream did not answer at once. To look at a request before would be in the way of its answer: one from
/// the same machine may be there before the looking is done. Then the request is looked at when its answer has gone on.
#[derive(Debug, Default)]
pub(crate) struct Leisure(Option<Pin<Box<Sleep>>>);

impl Leisure {
    /// A request is about to go.
    pub(super) fn begin(&mut self) {
        let due = Instant::now() + AT_ONCE;
        match &mut self.0 {
            Some(timer) => timer.as_mut().reset(due),
            None => self.0 = Some(Box::pin(sleep_until(due))),
        }
    }

    /// Ready when there is time. To be asked only between [`Leisure::begin`] and the first time it is.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().map_or(Poll::Ready(()), |timer| timer.as_mut().poll(cx))
    }
}
