//! Sends a response piece by piece with the scripted delays and faults.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{Semaphore, mpsc};

use crate::compress::{Compressor, compress};
use crate::record::{ExchangeEnd, RequestTicket};
use crate::script::Delivery;

/// A scripted disconnect.
#[derive(Debug, thiserror::Error)]
#[error("connection cut by the script")]
pub(crate) struct ScriptedDisconnect;

/// A response body fed by a task. A scripted disconnect ends it with [`ScriptedDisconnect`].
#[derive(Debug)]
pub(crate) struct ScriptedBody {
    feed: mpsc::Receiver<Result<Bytes, ScriptedDisconnect>>,
    length: Option<u64>,
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = ScriptedDisconnect;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ScriptedDisconnect>>> {
        self.feed.poll_recv(cx).map_ok(Frame::data)
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

pub(crate) enum Content {
    Whole(Vec<u8>),
    Events(Box<dyn Iterator<Item = String> + Send>),
}

/// Applies the delivery options before the status line.
pub(crate) async fn before_head(
    pace: &Delivery,
    release: &Semaphore,
    ticket: RequestTicket,
) -> Result<RequestTicket, ScriptedDisconnect> {
    tokio::time::sleep(pace.delay).await;
    if pace.hold_after == Some(0) {
        hold(release).await;
    }
    if pace.drop_after == Some(0) {
        ticket.settle(ExchangeEnd::Dropped);
        return Err(ScriptedDisconnect);
    }
    Ok(ticket)
}

/// Each [`Semaphore`] permit releases one held response.
async fn hold(release: &Semaphore) {
    if let Ok(permit) = release.acquire().await {
        permit.forget();
    }
}

/// Starts sending; must be called within a runtime.
pub(crate) fn send(content: Content, pace: Delivery, release: Arc<Semaphore>, ticket: RequestTicket) -> ScriptedBody {
    // A capacity of one: a slow reader slows the model down, and the ticket counts what was sent.
    let (feed, receiver) = mpsc::channel(1);
    let (length, pieces): (_, Box<dyn Iterator<Item = Vec<u8>> + Send>) = match content {
        Content::Whole(bytes) => (Some(bytes.len() as u64), Box::new(std::iter::once(bytes))),
        Content::Events(events) => {
            let events: Box<dyn Iterator<Item = Vec<u8>> + Send> = Box::new(events.map(String::into_bytes));
            match pace.packed.and_then(Compressor::new) {
                Some(packer) => (None, Box::new(compress(packer, events))),
                None => (None, events),
            }
        }
    };
    let split = pace.split.unwrap_or(usize::MAX).max(1);
    let pieces = pieces.flat_map(move |piece| piece.chunks(split).map(Bytes::copy_from_slice).collect::<Vec<_>>());
    tokio::spawn(async move {
        let gone = feed.clone();
        tokio::select! {
            // `biased`: a response that has just been sent completely does not count as disconnected.
            biased;
            () = deliver(pieces, feed, &pace, &release, ticket) => {}
            () = gone.closed() => {}
        }
    });
    ScriptedBody { feed: receiver, length }
}

async fn deliver(
    mut pieces: impl Iterator<Item = Bytes>,
    feed: mpsc::Sender<Result<Bytes, ScriptedDisconnect>>,
    pace: &Delivery,
    release: &Semaphore,
    mut ticket: RequestTicket,
) {
    for sent in 0.. {
        if sent > 0 && pace.hold_after == Some(sent) {
            hold(release).await;
        }
        if pace.drop_after == Some(sent) {
            let _ = feed.send(Err(ScriptedDisconnect)).await;
            return ticket.settle(ExchangeEnd::Dropped);
        }
        let Some(piece) = pieces.next() else { break };
        if sent > 0 && !pace.piece_delay.is_zero() {
            tokio::time::sleep(pace.piece_delay).await;
        }
        if feed.send(Ok(piece)).await.is_err() {
            return;
        }
        ticket.sent_one();
    }
    ticket.settle(ExchangeEnd::Answered);
}
