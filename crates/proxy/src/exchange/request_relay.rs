//! From the agent to the upstream.
//!
//! Body bytes go on as they come. Only the newest piece waits once the body is complete: the
//! upstream cannot begin without it, so the verdict costs no time that the transfer did not take
//! anyway, and a refusal is a dropped connection.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use crate::buffer_pool::{Buffer, BufferPool};
use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::framing::{BodyFramer, Framing, FramingError};
use crate::head;
use crate::upstream::UpstreamConn;

/// Room for a body that is not kept whole.
const STREAMING_BUFFER_BYTES: usize = 256 * 1024;

/// One request on its way.
#[derive(Debug)]
pub(crate) struct RequestRelay {
    head: Vec<u8>,
    head_sent: usize,
    framing: Framing,
    framer: BodyFramer,
    body: Option<Buffer>,
    /// `body` holds all of it, from the first byte on.
    whole: bool,
    /// How much of `body` has been sent.
    sent: usize,
    /// Size of the newest piece.
    newest: usize,
    /// The client waits for a word from the upstream before it sends the body.
    eager: bool,
    released: bool,
    flushed: bool,
    /// Bytes that went through so far.
    moved: u64,
}

/// Why an upload ended early.
#[derive(Debug)]
pub(crate) enum RequestError {
    ClientGone,
    BadBody(FramingError),
    /// The upstream takes no more; it may have answered already.
    UpstreamClosed,
}

impl From<ClientDisconnected> for RequestError {
    fn from(_: ClientDisconnected) -> Self {
        Self::ClientGone
    }
}

/// How far it got.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestProgress {
    /// The last piece has been received and waits for [`RequestRelay::release_tail`].
    TailHeld,
    /// Everything has been flushed to the upstream.
    Sent,
}

impl RequestRelay {
    /// `keep` bounds the bodies that are kept whole (to look at them, or to send them again).
    pub(crate) fn new(head: Vec<u8>, framing: Framing, eager: bool, keep: usize, client: &mut ClientConn) -> Self {
        let expected = match framing {
            Framing::Empty => None,
            Framing::Length(length) => Some(usize::try_from(length).unwrap_or(usize::MAX)),
            Framing::Chunked | Framing::UntilClose => Some(0),
        };
        let mut framer = BodyFramer::new(framing);
        let ahead = match framing {
            Framing::Length(length) if expected.is_some_and(|size| size <= keep) => client.take_buffered_body(length),
            _ => None,
        };
        // A body whose length is known is never malformed.
        let newest = ahead.as_ref().map_or(0, |ahead| framer.advance(ahead.data(), |_| {}).unwrap_or(0));
        let buffers = client.buffers();
        let room =
            ahead.or_else(|| expected.filter(|size| *size <= keep).and_then(|size| buffers.try_alloc_body(size)));
        let whole = room.is_some() || expected.is_none();
        let body = room.or_else(|| expected.map(|_| buffers.alloc_unbudgeted(STREAMING_BUFFER_BYTES)));
        Self {
            head,
            head_sent: 0,
            framing,
            framer,
            body,
            whole,
            sent: 0,
            newest,
            eager,
            released: false,
            flushed: false,
            moved: 0,
        }
    }

    /// Lets the newest piece go.
    pub(crate) fn release_tail(&mut self) {
        self.released = true;
    }

    /// Whether all of the request has been read from the client.
    pub(crate) fn is_complete(&self) -> bool {
        self.framer.is_done()
    }

    /// Whether the body is to be kept whole, as far as anybody knows yet.
    pub(crate) fn is_fully_buffered(&self) -> bool {
        self.whole
    }

    /// Whether the client sends its body only after a go-ahead, and has had none.
    pub(crate) fn awaits_continue(&self) -> bool {
        self.eager && !self.is_complete() && self.body.as_ref().is_none_or(Buffer::is_empty)
    }

    /// Whether all of it is on its way.
    pub(crate) fn is_sent(&self) -> bool {
        self.released && self.flushed && self.is_complete()
    }

    /// How many bytes have gone through.
    pub(crate) fn bytes_relayed(&self) -> u64 {
        self.moved
    }

    /// The body without its framing, when all of it is here and was kept.
    pub(crate) fn decoded_body(&self) -> Option<Cow<'_, [u8]>> {
        if !self.whole || !self.is_complete() {
            return None;
        }
        let raw = self.body.as_ref().map_or(&[][..], Buffer::data);
        if self.framing != Framing::Chunked {
            return Some(Cow::Borrowed(raw));
        }
        let mut payload = Vec::with_capacity(raw.len());
        BodyFramer::new(Framing::Chunked).advance(raw, |piece| payload.extend_from_slice(piece)).ok()?;
        Some(Cow::Owned(payload))
    }

    /// Another body instead, one that is not packed. Only before anything was sent.
    pub(crate) fn replace_body(&mut self, payload: &[u8], buffers: &BufferPool) -> bool {
        let framed = match self.framing {
            Framing::Chunked => [format!("{:x}\r\n", payload.len()).as_bytes(), payload, b"\r\n0\r\n\r\n"].concat(),
            _ => payload.to_vec(),
        };
        let Some(mut body) = buffers.try_alloc_body(framed.len()) else { return false };
        body.extend_from_slice(&framed);
        if self.framing != Framing::Chunked {
            head::set_content_length(&mut self.head, payload.len());
        }
        head::remove_content_encoding(&mut self.head);
        (self.body, self.newest) = (Some(body), framed.len());
        self.restart()
    }

    /// Whether it can still be sent from the first byte on: all of it is kept, or nothing has gone yet.
    pub(crate) fn can_restart(&self) -> bool {
        self.whole || self.moved == 0
    }

    /// Starts again from the first byte; `false` when that is no longer possible.
    pub(crate) fn restart(&mut self) -> bool {
        (self.head_sent, self.flushed) = (0, false);
        if self.whole {
            self.sent = 0;
        }
        self.can_restart()
    }

    /// Receives and sends as much as goes.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientConn,
        link: &mut UpstreamConn,
    ) -> Poll<Result<RequestProgress, RequestError>> {
        loop {
            let received = self.poll_receive(cx, client)?.is_ready();
            let full = self.body.as_mut().is_some_and(|body| body.spare_capacity_mut().is_empty());
            let sent = self.poll_send(cx, link)?;
            if self.is_complete() {
                if !self.released {
                    return Poll::Ready(Ok(RequestProgress::TailHeld));
                }
                ready!(sent);
                return Poll::Ready(Ok(RequestProgress::Sent));
            }
            let has_room_again = full && self.sent > 0;
            if !received && !has_room_again {
                return Poll::Pending;
            }
        }
    }

    /// Receives as much as can be kept, and sends nothing of it: the whole body, or as little as possible of one that
    /// is too large, so that nothing is lost when it may go.
    pub(crate) fn poll_collect(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientConn,
    ) -> Poll<Result<(), RequestError>> {
        while self.whole && !self.is_complete() {
            let received = self.poll_receive(cx, client);
            if self.whole || received.is_ready() {
                ready!(received)?;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Receives the rest and forgets it: the answer is ours.
    pub(crate) fn poll_drain(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientConn,
    ) -> Poll<Result<(), RequestError>> {
        while !self.is_complete() {
            if let Some(body) = &mut self.body {
                let all = body.len();
                body.consume(all);
            }
            self.sent = 0;
            ready!(self.poll_receive(cx, client))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Ready when something came in.
    fn poll_receive(&mut self, cx: &mut Context<'_>, client: &mut ClientConn) -> Poll<Result<(), RequestError>> {
        if self.is_complete() {
            return Poll::Pending;
        }
        self.make_room();
        let Some(body) = &mut self.body else { return Poll::Pending };
        let mut room = body.spare_capacity_mut();
        if room.is_empty() {
            // The upstream is slow; once it has taken something there is room again.
            return Poll::Pending;
        }
        if let Ok(promised @ 1..) = usize::try_from(self.framer.remaining_in_chunk())
            && promised < room.len()
        {
            room = &mut room[..promised];
        }
        let n = ready!(client.poll_read(cx, room)).map_err(|_| RequestError::ClientGone)?;
        if n == 0 {
            return Poll::Ready(Err(RequestError::ClientGone));
        }
        body.advance(n);
        Poll::Ready(self.walk(n, client))
    }

    /// Looks for the end in the `n` bytes that came last.
    fn walk(&mut self, n: usize, client: &mut ClientConn) -> Result<(), RequestError> {
        let Some(body) = &mut self.body else { return Ok(()) };
        let before = body.len() - n;
        let taken = self.framer.advance(&body.data()[before..], |_| {}).map_err(RequestError::BadBody)?;
        if taken < n {
            client.unread(&body.data()[before + taken..])?;
            body.truncate(before + taken);
        }
        self.newest = taken;
        Ok(())
    }

    fn make_room(&mut self) {
        let Some(body) = &mut self.body else { return };
        if !body.spare_capacity_mut().is_empty() {
            return;
        }
        if self.whole
            && let Some(larger) = body.grow()
        {
            *body = larger;
            return;
        }
        self.whole = false;
        body.consume(self.sent);
        body.compact();
        self.sent = 0;
    }

    /// Ready when everything that may go has gone.
    fn poll_send(&mut self, cx: &mut Context<'_>, link: &mut UpstreamConn) -> Poll<Result<(), RequestError>> {
        let data = self.body.as_ref().map_or(&[][..], Buffer::data);
        let held = if self.is_complete() && !self.released { self.newest } else { 0 };
        let end = data.len() - held;
        let head_may_go = self.released || self.eager || self.head_sent > 0 || end > 0;
        if !head_may_go {
            return Poll::Ready(Ok(()));
        }
        while self.head_sent < self.head.len() || self.sent < end {
            let sent = link.poll_write_vectored(cx, &self.head[self.head_sent..], &data[self.sent..end]);
            let n = ready!(sent).map_err(|_| RequestError::UpstreamClosed)?;
            let of_head = n.min(self.head.len() - self.head_sent);
            self.head_sent += of_head;
            self.sent += n - of_head;
            self.moved += n as u64;
            self.flushed = false;
        }
        if !self.flushed {
            ready!(Pin::new(link).poll_flush(cx)).map_err(|_| RequestError::UpstreamClosed)?;
            self.flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}
