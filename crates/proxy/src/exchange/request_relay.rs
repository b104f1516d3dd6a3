//! The direction from the agent to the upstream.
//!
//! Body bytes are sent as they arrive. Only the last piece of a complete body waits for the hold check: the upstream cannot
//! start without it, so the check costs no time, and a refusal is a dropped connection.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use crate::buffer_pool::{Buffer, BufferPool};
use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::framing::{BodyFramer, Framing, FramingError};
use crate::head;
use crate::socket::Socket;

/// Size of the buffer for a body that is not fully buffered.
const STREAMING_BUFFER_BYTES: usize = 256 * 1024;

/// One request in flight.
#[derive(Debug)]
pub(crate) struct RequestRelay {
    head: Vec<u8>,
    head_sent: usize,
    framing: Framing,
    framer: BodyFramer,
    body: Option<Buffer>,
    /// `body` starts with the first byte of the request's body.
    fully_buffered: bool,
    /// How much of `body` has been sent.
    sent: usize,
    /// Size of the piece that was received last.
    last_piece: usize,
    /// The client waits for `100 Continue` before it sends the body.
    expects_continue: bool,
    released: bool,
    flushed: bool,
    /// Bytes sent so far.
    relayed: u64,
}

/// Why the request could not be relayed.
#[derive(Debug)]
pub(crate) enum RequestError {
    ClientGone,
    BadBody(FramingError),
    /// The upstream accepts no more; it may have responded already.
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
    /// Bodies up to `max_buffered` bytes are fully buffered, to inspect them and to send them again.
    pub(crate) fn new(
        head: Vec<u8>,
        framing: Framing,
        expects_continue: bool,
        max_buffered: usize,
        client: &mut ClientConn,
    ) -> Self {
        let expected = match framing {
            Framing::Empty => None,
            Framing::Length(length) => Some(usize::try_from(length).unwrap_or(usize::MAX)),
            Framing::Chunked | Framing::UntilClose => Some(0),
        };
        let mut framer = BodyFramer::new(framing);
        let ahead = match framing {
            Framing::Length(length) if expected.is_some_and(|size| size <= max_buffered) => {
                client.take_buffered_body(length)
            }
            _ => None,
        };
        // A body whose length is known is never malformed.
        let last_piece = ahead.as_ref().map_or(0, |ahead| framer.advance(ahead.data(), |_| {}).unwrap_or(0));
        let buffers = client.buffers();
        let buffer = ahead
            .or_else(|| expected.filter(|size| *size <= max_buffered).and_then(|size| buffers.try_alloc_body(size)));
        let fully_buffered = buffer.is_some() || expected.is_none();
        let body = buffer.or_else(|| expected.map(|_| buffers.alloc_unbudgeted(STREAMING_BUFFER_BYTES)));
        Self {
            head,
            head_sent: 0,
            framing,
            framer,
            body,
            fully_buffered,
            sent: 0,
            last_piece,
            expects_continue,
            released: false,
            flushed: false,
            relayed: 0,
        }
    }

    /// Sends the last piece.
    pub(crate) fn release_tail(&mut self) {
        self.released = true;
    }

    /// Whether all of the request has been read from the client.
    pub(crate) fn is_complete(&self) -> bool {
        self.framer.is_done()
    }

    /// Whether everything received so far is buffered.
    pub(crate) fn is_fully_buffered(&self) -> bool {
        self.fully_buffered
    }

    /// Whether the client still waits for `100 Continue`.
    pub(crate) fn awaits_continue(&self) -> bool {
        self.expects_continue && !self.is_complete() && self.body.as_ref().is_none_or(Buffer::is_empty)
    }

    /// Whether everything has been flushed to the upstream.
    pub(crate) fn is_sent(&self) -> bool {
        self.released && self.flushed && self.is_complete()
    }

    /// Bytes sent so far.
    pub(crate) fn bytes_relayed(&self) -> u64 {
        self.relayed
    }

    /// The body without its framing, if it is complete and fully buffered.
    pub(crate) fn decoded_body(&self) -> Option<Cow<'_, [u8]>> {
        if !self.fully_buffered || !self.is_complete() {
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

    /// Replaces the body with one without content encoding. Only before anything was sent.
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
        (self.body, self.last_piece) = (Some(body), framed.len());
        self.restart()
    }

    /// Whether the request can still be sent from its first byte.
    pub(crate) fn can_restart(&self) -> bool {
        self.fully_buffered || self.relayed == 0
    }

    /// Starts again from the first byte. `false` if that is no longer possible.
    pub(crate) fn restart(&mut self) -> bool {
        (self.head_sent, self.flushed) = (0, false);
        if self.fully_buffered {
            self.sent = 0;
        }
        self.can_restart()
    }

    /// Receives and sends as much as possible.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientConn,
        upstream: &mut Socket,
    ) -> Poll<Result<RequestProgress, RequestError>> {
        loop {
            let received = self.poll_receive(cx, client)?.is_ready();
            let full = self.body.as_mut().is_some_and(|body| body.spare_capacity_mut().is_empty());
            let sent = self.poll_send(cx, upstream)?;
            if self.is_complete() {
                if !self.released {
                    return Poll::Ready(Ok(RequestProgress::TailHeld));
                }
                ready!(sent);
                return Poll::Ready(Ok(RequestProgress::Sent));
            }
            let has_capacity_again = full && self.sent > 0;
            if !received && !has_capacity_again {
                return Poll::Pending;
            }
        }
    }

    /// Receives the body without sending it. Stops early if the body is too large to buffer, so that nothing is lost
    /// when the request is admitted.
    pub(crate) fn poll_collect(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientConn,
    ) -> Poll<Result<(), RequestError>> {
        while self.fully_buffered && !self.is_complete() {
            let received = self.poll_receive(cx, client);
            if self.fully_buffered || received.is_ready() {
                ready!(received)?;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Receives and discards the rest: Belay responds itself.
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

    /// Ready when something was received.
    fn poll_receive(&mut self, cx: &mut Context<'_>, client: &mut ClientConn) -> Poll<Result<(), RequestError>> {
        if self.is_complete() {
            return Poll::Pending;
        }
        self.make_capacity();
        let Some(body) = &mut self.body else { return Poll::Pending };
        let mut spare = body.spare_capacity_mut();
        if spare.is_empty() {
            // The upstream is slow. Sending makes capacity again.
            return Poll::Pending;
        }
        if let Ok(promised @ 1..) = usize::try_from(self.framer.remaining_in_chunk())
            && promised < spare.len()
        {
            spare = &mut spare[..promised];
        }
        let n = ready!(client.poll_read(cx, spare)).map_err(|_| RequestError::ClientGone)?;
        if n == 0 {
            return Poll::Ready(Err(RequestError::ClientGone));
        }
        body.advance(n);
        Poll::Ready(self.find_end(n, client))
    }

    /// Finds the end of the body in the last `n` bytes.
    fn find_end(&mut self, n: usize, client: &mut ClientConn) -> Result<(), RequestError> {
        let Some(body) = &mut self.body else { return Ok(()) };
        let before = body.len() - n;
        let taken = self.framer.advance(&body.data()[before..], |_| {}).map_err(RequestError::BadBody)?;
        if taken < n {
            client.unread(&body.data()[before + taken..])?;
            body.truncate(before + taken);
        }
        self.last_piece = taken;
        Ok(())
    }

    fn make_capacity(&mut self) {
        let Some(body) = &mut self.body else { return };
        if !body.spare_capacity_mut().is_empty() {
            return;
        }
        if self.fully_buffered
            && let Some(larger) = body.grow()
        {
            *body = larger;
            return;
        }
        self.fully_buffered = false;
        body.consume(self.sent);
        body.compact();
        self.sent = 0;
    }

    /// Ready when everything that may be sent has been sent.
    fn poll_send(&mut self, cx: &mut Context<'_>, upstream: &mut Socket) -> Poll<Result<(), RequestError>> {
        let data = self.body.as_ref().map_or(&[][..], Buffer::data);
        let held = if self.is_complete() && !self.released { self.last_piece } else { 0 };
        let end = data.len() - held;
        let may_send_head = self.released || self.expects_continue || self.head_sent > 0 || end > 0;
        if !may_send_head {
            return Poll::Ready(Ok(()));
        }
        while self.head_sent < self.head.len() || self.sent < end {
            let sent = upstream.poll_write_parts(cx, &self.head[self.head_sent..], &data[self.sent..end]);
            let n = ready!(sent).map_err(|_| RequestError::UpstreamClosed)?;
            let of_head = n.min(self.head.len() - self.head_sent);
            self.head_sent += of_head;
            self.sent += n - of_head;
            self.relayed += n as u64;
            self.flushed = false;
        }
        if !self.flushed {
            ready!(Pin::new(upstream).poll_flush(cx)).map_err(|_| RequestError::UpstreamClosed)?;
            self.flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}
