//! The direction from the upstream to the agent.

use std::task::{Context, Poll, ready};

use crate::buffer_pool::{Buffer, STREAM_BUFFER_BYTES};
use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::exchange::ResponseFraming;
use crate::framing::{BodyFramer, Framing};
use crate::head::{HeaderStorage, MAX_HEAD_BYTES, ResponseHead};
use crate::inspect::{ExchangeInspection, ResponseMeta};
use crate::socket::Socket;

/// Longest rest of a chunk that is padded to end a response early.
const MAX_PADDED_ENDING_BYTES: u64 = 256 * 1024;

/// One response in flight.
#[derive(Debug)]
pub(crate) struct ResponseRelay {
    /// The request was a `HEAD`.
    headless: bool,
    /// The connection closes after this response.
    closing: bool,
    /// The client asked for another protocol.
    upgrading: bool,
    buffer: Option<Buffer>,
    state: State,
    /// The rewritten head, or the bytes of a cut.
    head: Vec<u8>,
    head_sent: usize,
    /// How much of `buffer` may be written to the client, and how much of that has been.
    ready: usize,
    written: usize,
    /// The framing of what the client has received, which is what the inspection reads.
    inspected: BodyFramer,
    /// The upstream's connection can be reused.
    reusable: bool,
    /// Bytes written so far.
    relayed: u64,
    /// Body metadata from the head, until the inspection takes it.
    meta: Option<ResponseMeta>,
}

/// How far a response got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseProgress {
    /// The head was written: the inspection can start, see [`ResponseRelay::take_response_meta`].
    HeadSent,
    Ended(ResponseEnd),
}

#[derive(Debug)]
enum State {
    Head,
    Body(BodyFramer),
    Done(ResponseEnd),
}

/// How a complete response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseEnd {
    /// Both connections stay open.
    KeepAlive,
    /// The connection closes.
    Close,
    /// The connection switches protocols.
    Upgraded,
}

/// Why there is no complete response.
#[derive(Debug)]
pub(crate) enum ResponseError {
    ClientGone,
    /// The upstream closed or reset before it sent anything.
    ClosedBeforeResponse,
    /// The upstream closed or reset in the middle.
    Truncated,
    Malformed(String),
}

impl From<ClientDisconnected> for ResponseError {
    fn from(_: ClientDisconnected) -> Self {
        Self::ClientGone
    }
}

impl ResponseRelay {
    pub(crate) fn new(framing: ResponseFraming) -> Self {
        Self {
            headless: framing.headless,
            closing: framing.closing,
            upgrading: framing.upgrading,
            buffer: None,
            state: State::Head,
            head: Vec::new(),
            head_sent: 0,
            ready: 0,
            written: 0,
            inspected: BodyFramer::new(Framing::Empty),
            reusable: false,
            relayed: 0,
            meta: None,
        }
    }

    /// Whether the client has received anything of the final response, or is about to.
    pub(crate) fn has_started(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// Whether the response is complete and at most has to be written out.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    /// Whether the upstream's connection is clean and open.
    pub(crate) fn is_reusable(&self) -> bool {
        self.reusable && self.buffer.as_ref().is_none_or(Buffer::is_empty)
    }

    /// Bytes written so far.
    pub(crate) fn bytes_relayed(&self) -> u64 {
        self.relayed
    }

    /// Bytes after the response: the first ones of another protocol.
    pub(crate) fn unread_upstream_bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], Buffer::data)
    }

    /// Relays as much as possible, and inspects each piece after it was written.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientConn,
        upstream: &mut Socket,
        inspection: &mut Option<ExchangeInspection>,
    ) -> Poll<Result<ResponseProgress, ResponseError>> {
        loop {
            ready!(self.poll_write(cx, client))?;
            if self.meta.is_some() && inspection.is_some() {
                return Poll::Ready(Ok(ResponseProgress::HeadSent));
            }
            self.inspect(inspection);
            if self.cut_if_due(inspection) {
                continue;
            }
            if let State::Done(end) = self.state {
                return Poll::Ready(Ok(ResponseProgress::Ended(end)));
            }
            let buffer = self.buffer.get_or_insert_with(|| client.buffers().alloc_unbudgeted(STREAM_BUFFER_BYTES));
            if buffer.spare_capacity_mut().is_empty() {
                *buffer = buffer.grow().ok_or_else(|| ResponseError::Malformed("its head does not end".to_owned()))?;
            }
            let spare = buffer.spare_capacity_mut();
            match upstream.poll_read_slice(cx, spare) {
                Poll::Pending => {
                    if buffer.is_empty() {
                        self.buffer = None;
                    }
                    return Poll::Pending;
                }
                Poll::Ready(Ok(n @ 1..)) => buffer.advance(n),
                Poll::Ready(_) => self.state = State::Done(self.ended_by_upstream()?),
            }
            self.parse()?;
        }
    }

    /// Body metadata from the head.
    pub(crate) fn take_response_meta(&mut self) -> Option<ResponseMeta> {
        self.meta.take()
    }

    /// Ends the response here if the inspection asks for it and the framing allows it.
    pub(crate) fn cut_if_due(&mut self, inspection: &mut Option<ExchangeInspection>) -> bool {
        if !matches!(self.state, State::Body(_)) || self.ready > 0 {
            return false;
        }
        let Some(inspection) = inspection else { return false };
        let promised = self.inspected.remaining_in_chunk();
        if promised > MAX_PADDED_ENDING_BYTES {
            return false;
        }
        let Some((last, why)) = inspection.cut_bytes(promised as usize) else { return false };
        let Some(ending) = self.inspected.final_chunk(&last) else { return false };
        inspection.mark_cut(why);
        let close = self.closing || self.inspected.ends_at_close();
        (self.head, self.head_sent) = (ending, 0);
        self.state = State::Done(if close { ResponseEnd::Close } else { ResponseEnd::KeepAlive });
        (self.buffer, self.reusable) = (None, false);
        true
    }

    /// Inspects and discards what the client has received.
    fn inspect(&mut self, inspection: &mut Option<ExchangeInspection>) {
        let Some(buffer) = &mut self.buffer else { return };
        if let Some(inspection) = inspection {
            // The framing was checked before.
            let _ = self.inspected.advance(&buffer.data()[..self.ready], |payload| inspection.read_response(payload));
        }
        buffer.consume(self.ready);
        (self.ready, self.written) = (0, 0);
    }

    fn ended_by_upstream(&mut self) -> Result<ResponseEnd, ResponseError> {
        self.reusable = false;
        match &self.state {
            State::Body(framer) if framer.ends_at_close() => Ok(ResponseEnd::Close),
            State::Head if self.head.is_empty() && self.unread_upstream_bytes().is_empty() => {
                Err(ResponseError::ClosedBeforeResponse)
            }
            _ => Err(ResponseError::Truncated),
        }
    }

    /// Writes what is ready to the client, and flushes it.
    fn poll_write(&mut self, cx: &mut Context<'_>, client: &mut ClientConn) -> Poll<Result<(), ResponseError>> {
        let data = self.buffer.as_ref().map_or(&[][..], Buffer::data);
        while self.head_sent < self.head.len() || self.written < self.ready {
            let sent = client.poll_write_parts(cx, &self.head[self.head_sent..], &data[self.written..self.ready]);
            let n = ready!(sent).map_err(|_| ResponseError::ClientGone)?;
            if n == 0 {
                return Poll::Ready(Err(ResponseError::ClientGone));
            }
            let of_head = n.min(self.head.len() - self.head_sent);
            self.head_sent += of_head;
            self.written += n - of_head;
            self.relayed += n as u64;
        }
        // Only encrypted bytes can still be buffered.
        client.poll_flush(cx).map_err(|_| ResponseError::ClientGone)
    }

    /// Parses the new bytes: finds the head and the end of the body.
    fn parse(&mut self) -> Result<(), ResponseError> {
        loop {
            let Some(buffer) = &mut self.buffer else { return Ok(()) };
            match &mut self.state {
                State::Done(_) => return Ok(()),
                State::Body(framer) => {
                    let fresh = &buffer.data()[self.ready..];
                    let taken =
                        framer.advance(fresh, |_| {}).map_err(|bad| ResponseError::Malformed(bad.to_string()))?;
                    self.ready += taken;
                    if framer.is_done() {
                        self.state =
                            State::Done(if self.closing { ResponseEnd::Close } else { ResponseEnd::KeepAlive });
                    }
                    return Ok(());
                }
                State::Head => {
                    if !self.read_head()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads one head. `false` if it is incomplete.
    fn read_head(&mut self) -> Result<bool, ResponseError> {
        let Some(buffer) = &mut self.buffer else { return Ok(false) };
        let mut storage = HeaderStorage::new();
        let parsed = ResponseHead::parse(buffer.data(), &mut storage);
        let Some(head) = parsed.map_err(|bad| ResponseError::Malformed(bad.to_string()))? else { return Ok(false) };
        let len = head.len();
        let malformed = |problem: &str| Err(ResponseError::Malformed(problem.to_owned()));
        if head.status == 101 && !self.upgrading {
            return malformed("it switched to a protocol that was not requested");
        }
        if head.is_interim() {
            head.write_rewritten(false, &mut self.head);
            if self.head.len() > MAX_HEAD_BYTES {
                return malformed("it sent too many 1xx responses without a final one");
            }
        } else {
            let framing = head.framing(if self.headless { "HEAD" } else { "" });
            let goes_on = framing != Framing::UntilClose && head.has_unambiguous_length();
            self.closing |= !goes_on;
            self.reusable = head.keep_alive() && goes_on;
            head.write_rewritten(self.closing, &mut self.head);
            let framer = BodyFramer::new(framing);
            self.inspected = framer;
            self.meta = Some(ResponseMeta {
                status: head.status,
                content_type: head.header("content-type").unwrap_or_default().to_owned(),
                encoding: head.content_encoding(),
                retry_after: head.header("retry-after").and_then(|seconds| seconds.trim().parse().ok()),
                limits: head.limit_headers(),
            });
            self.state = match head.status {
                101 => State::Done(ResponseEnd::Upgraded),
                _ if framer.is_done() && self.closing => State::Done(ResponseEnd::Close),
                _ if framer.is_done() => State::Done(ResponseEnd::KeepAlive),
                _ => State::Body(framer),
            };
        }
        buffer.consume(len);
        Ok(true)
    }
}
