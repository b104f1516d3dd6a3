//! From the upstream to the agent, as it comes.

use std::task::{Context, Poll, ready};

use crate::buffer_pool::{Buffer, STREAM_BUFFER_BYTES};
use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::exchange::ResponseFraming;
use crate::framing::{BodyFramer, Framing};
use crate::head::{HeaderStorage, MAX_HEAD_BYTES, ResponseHead};
use crate::inspect::{ExchangeInspection, ResponseMeta};
use crate::upstream::UpstreamConn;

/// Most bytes of a promise we fill up to end an answer early.
const MAX_PADDED_ENDING_BYTES: u64 = 256 * 1024;

/// One answer on its way.
#[derive(Debug)]
pub(crate) struct ResponseRelay {
    /// The request was a `HEAD`.
    headless: bool,
    /// The client wants no further answer on this connection.
    closing: bool,
    /// The client wants to go on in another protocol.
    upgrading: bool,
    buf: Option<Buffer>,
    state: State,
    /// The rewritten head, later perhaps an end of our own.
    head: Vec<u8>,
    head_sent: usize,
    /// How much of `buf` the client may have, and how much of that it has.
    ready: usize,
    written: usize,
    /// Walks behind the client: what it has got is shown to whoever looks on.
    shown: BodyFramer,
    /// The upstream can be asked again on its connection.
    reusable: bool,
    /// Bytes that went through so far.
    moved: u64,
    /// What the head said, until the turn is told.
    untold: Option<ResponseMeta>,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseProgress {
    /// Its first bytes are on their way to the client: now the turn can be told, see [`Download::opening`].
    HeadSent,
    Ended(ResponseEnd),
}

#[derive(Debug)]
enum State {
    Head,
    Body(BodyFramer),
    Done(ResponseEnd),
}

/// How a complete answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseEnd {
    /// Both connections can go on.
    KeepAlive,
    /// The answer ended with the connection.
    Close,
    /// From here on the connection is another protocol's.
    Upgraded,
}

/// Why there is no complete answer.
#[derive(Debug)]
pub(crate) enum ResponseError {
    ClientGone,
    /// The upstream closed or reset before it said a word.
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
    pub(crate) fn new(asked: ResponseFraming) -> Self {
        Self {
            headless: asked.headless,
            closing: asked.closing,
            upgrading: asked.upgrading,
            buf: None,
            state: State::Head,
            head: Vec::new(),
            head_sent: 0,
            ready: 0,
            written: 0,
            shown: BodyFramer::new(Framing::Empty),
            reusable: false,
            moved: 0,
            untold: None,
        }
    }

    /// Whether the client has got anything of the answer itself, or is about to.
    pub(crate) fn has_started(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// Whether all of the answer is known, and at most has to be written out.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    /// Whether the upstream's connection is clean and open.
    pub(crate) fn is_reusable(&self) -> bool {
        self.reusable && self.buf.as_ref().is_none_or(Buffer::is_empty)
    }

    /// How many bytes have gone through.
    pub(crate) fn bytes_relayed(&self) -> u64 {
        self.moved
    }

    /// What the upstream said beyond the answer: the first bytes of another protocol.
    pub(crate) fn unread_upstream_bytes(&self) -> &[u8] {
        self.buf.as_ref().map_or(&[], Buffer::data)
    }

    /// Relays as much as there is, and shows it to the turn once it is on its way.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientConn,
        link: &mut UpstreamConn,
        turn: &mut Option<ExchangeInspection>,
    ) -> Poll<Result<ResponseProgress, ResponseError>> {
        loop {
            ready!(self.poll_pass_on(cx, client))?;
            if self.untold.is_some() && turn.is_some() {
                return Poll::Ready(Ok(ResponseProgress::HeadSent));
            }
            self.show(turn);
            if self.cut_if_due(turn) {
                continue;
            }
            if let State::Done(end) = self.state {
                return Poll::Ready(Ok(ResponseProgress::Ended(end)));
            }
            let buf = self.buf.get_or_insert_with(|| client.buffers().alloc_unbudgeted(STREAM_BUFFER_BYTES));
            if buf.spare_capacity_mut().is_empty() {
                *buf = buf.grow().ok_or_else(|| ResponseError::Malformed("its head does not end".to_owned()))?;
            }
            let room = buf.spare_capacity_mut();
            match link.poll_read(cx, room) {
                Poll::Pending => {
                    if buf.is_empty() {
                        self.buf = None;
                    }
                    return Poll::Pending;
                }
                Poll::Ready(Ok(n @ 1..)) => buf.advance(n),
                Poll::Ready(_) => self.state = State::Done(self.ended_by_upstream()?),
            }
            self.understand()?;
        }
    }

    /// What the answer's head said.
    pub(crate) fn take_response_meta(&mut self) -> Option<ResponseMeta> {
        self.untold.take()
    }

    /// Ends the answer here with events of our own, if the turn wants that and the framing allows it.
    pub(crate) fn cut_if_due(&mut self, turn: &mut Option<ExchangeInspection>) -> bool {
        if !matches!(self.state, State::Body(_)) || self.ready > 0 {
            return false;
        }
        let Some(turn) = turn else { return false };
        let promised = self.shown.remaining_in_chunk();
        if promised > MAX_PADDED_ENDING_BYTES {
            return false;
        }
        let Some((last, why)) = turn.cut_bytes(promised as usize) else { return false };
        let Some(ending) = self.shown.final_chunk(&last) else { return false };
        turn.mark_cut(why);
        let close = self.closing || self.shown.ends_at_close();
        (self.head, self.head_sent) = (ending, 0);
        self.state = State::Done(if close { ResponseEnd::Close } else { ResponseEnd::KeepAlive });
        (self.buf, self.reusable) = (None, false);
        true
    }

    /// Shows what the client has got, and makes room.
    fn show(&mut self, turn: &mut Option<ExchangeInspection>) {
        let Some(buf) = &mut self.buf else { return };
        if let Some(turn) = turn {
            // It was walked before: it cannot be malformed now.
            let _ = self.shown.advance(&buf.data()[..self.ready], |payload| turn.read_response(payload));
        }
        buf.consume(self.ready);
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

    /// Writes out what is ready.
    fn poll_pass_on(&mut self, cx: &mut Context<'_>, client: &mut ClientConn) -> Poll<Result<(), ResponseError>> {
        let data = self.buf.as_ref().map_or(&[][..], Buffer::data);
        while self.head_sent < self.head.len() || self.written < self.ready {
            let sent = client.poll_write_vectored(cx, &self.head[self.head_sent..], &data[self.written..self.ready]);
            let n = ready!(sent).map_err(|_| ResponseError::ClientGone)?;
            if n == 0 {
                return Poll::Ready(Err(ResponseError::ClientGone));
            }
            let of_head = n.min(self.head.len() - self.head_sent);
            self.head_sent += of_head;
            self.written += n - of_head;
            self.moved += n as u64;
        }
        Poll::Ready(Ok(()))
    }

    /// Finds out what of the new bytes may go on.
    fn understand(&mut self) -> Result<(), ResponseError> {
        loop {
            let Some(buf) = &mut self.buf else { return Ok(()) };
            match &mut self.state {
                State::Done(_) => return Ok(()),
                State::Body(framer) => {
                    let fresh = &buf.data()[self.ready..];
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

    /// Reads one head; `false` when more of it has to come first.
    fn read_head(&mut self) -> Result<bool, ResponseError> {
        let Some(buf) = &mut self.buf else { return Ok(false) };
        let mut room = HeaderStorage::new();
        let parsed = ResponseHead::parse(buf.data(), &mut room);
        let Some(head) = parsed.map_err(|bad| ResponseError::Malformed(bad.to_string()))? else { return Ok(false) };
        let len = head.len();
        let garbage = |problem: &str| Err(ResponseError::Malformed(problem.to_owned()));
        if head.status == 101 && !self.upgrading {
            return garbage("it went on in another protocol, for which nobody had asked");
        }
        if head.is_interim() {
            head.write_rewritten(false, &mut self.head);
            if self.head.len() > MAX_HEAD_BYTES {
                return garbage("it announces an answer again and again, and gives none");
            }
        } else {
            let framing = head.framing(if self.headless { "HEAD" } else { "" });
            let goes_on = framing != Framing::UntilClose && head.has_unambiguous_length();
            self.closing |= !goes_on;
            self.reusable = head.keep_alive() && goes_on;
            head.write_rewritten(self.closing, &mut self.head);
            let framer = BodyFramer::new(framing);
            self.shown = framer;
            self.untold = Some(ResponseMeta {
                status: head.status,
                content_type: head.header("content-type").unwrap_or_default().to_owned(),
                encoding: head.content_encoding(),
            });
            self.state = match head.status {
                101 => State::Done(ResponseEnd::Upgraded),
                _ if framer.is_done() && self.closing => State::Done(ResponseEnd::Close),
                _ if framer.is_done() => State::Done(ResponseEnd::KeepAlive),
                _ => State::Body(framer),
            };
        }
        buf.consume(len);
        Ok(true)
    }
}
