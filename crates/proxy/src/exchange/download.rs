//! From the upstream to the agent, as it comes.

use std::task::{Context, Poll, ready};

use crate::buffer::{Buffer, STREAM};
use crate::client::{Client, Gone};
use crate::exchange::Asked;
use crate::framing::{Framer, Framing};
use crate::head::{MAX_BYTES, ResponseHead, Room};
use crate::inspect::{Opening, Turn};
use crate::upstream::Link;

/// Most bytes of a promise we fill up to end an answer early.
const MOST_FILLED: u64 = 256 * 1024;

/// One answer on its way.
#[derive(Debug)]
pub(crate) struct Download {
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
    shown: Framer,
    /// The upstream can be asked again on its connection.
    reusable: bool,
    /// Bytes that went through so far.
    moved: u64,
    /// What the head said, until the turn is told.
    untold: Option<Opening>,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Downloaded {
    /// Its first bytes are on their way to the client: now the turn can be told, see [`Download::opening`].
    Begun,
    /// More of it was put by than should be.
    Behind,
    Ended(End),
}

#[derive(Debug)]
enum State {
    Head,
    Body(Framer),
    Done(End),
}

/// How a complete answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Both connections can go on.
    KeepAlive,
    /// The answer ended with the connection.
    Close,
    /// From here on the connection is another protocol's.
    Upgraded,
}

/// Why there is no complete answer.
#[derive(Debug)]
pub(crate) enum DownloadError {
    ClientGone,
    /// The upstream closed or reset before it said a word.
    NoWord,
    /// The upstream closed or reset in the middle.
    Truncated,
    Garbage(String),
}

impl From<Gone> for DownloadError {
    fn from(_: Gone) -> Self {
        Self::ClientGone
    }
}

impl Download {
    pub(crate) fn new(asked: Asked) -> Self {
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
            shown: Framer::new(Framing::Empty),
            reusable: false,
            moved: 0,
            untold: None,
        }
    }

    /// Whether the client has got anything of the answer itself, or is about to.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// Whether all of the answer is known, and at most has to be written out.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    /// Whether the upstream's connection is clean and open.
    pub(crate) fn is_reusable(&self) -> bool {
        self.reusable && self.buf.as_ref().is_none_or(Buffer::is_empty)
    }

    /// How many bytes have gone through.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    /// What the upstream said beyond the answer: the first bytes of another protocol.
    pub(crate) fn leftover(&self) -> &[u8] {
        self.buf.as_ref().map_or(&[], Buffer::data)
    }

    /// Relays as much as there is, and shows it to the turn once it is on its way.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut Client,
        link: &mut Link,
        turn: &mut Option<Turn>,
    ) -> Poll<Result<Downloaded, DownloadError>> {
        loop {
            ready!(self.poll_pass_on(cx, client))?;
            if self.untold.is_some() && turn.is_some() {
                return Poll::Ready(Ok(Downloaded::Begun));
            }
            self.show(turn);
            if turn.as_ref().is_some_and(Turn::is_behind) {
                return Poll::Ready(Ok(Downloaded::Behind));
            }
            if self.end_if_due(turn) {
                continue;
            }
            if let State::Done(end) = self.state {
                return Poll::Ready(Ok(Downloaded::Ended(end)));
            }
            let buf = self.buf.get_or_insert_with(|| client.buffers().fixed(STREAM));
            if buf.spare().is_empty() {
                *buf = buf.doubled().ok_or_else(|| DownloadError::Garbage("its head does not end".to_owned()))?;
            }
            let room = buf.spare();
            match link.poll_fill(cx, room) {
                Poll::Pending => {
                    if buf.is_empty() {
                        self.buf = None;
                    }
                    return Poll::Pending;
                }
                Poll::Ready(Ok(n @ 1..)) => buf.filled(n),
                Poll::Ready(_) => self.state = State::Done(self.ended_by_upstream()?),
            }
            self.understand()?;
        }
    }

    /// What the answer's head said.
    pub(crate) fn opening(&mut self) -> Option<Opening> {
        self.untold.take()
    }

    /// Ends the answer here with events of our own, if the turn wants that and the framing allows it.
    pub(crate) fn end_if_due(&mut self, turn: &mut Option<Turn>) -> bool {
        if !matches!(self.state, State::Body(_)) || self.ready > 0 {
            return false;
        }
        let Some(turn) = turn else { return false };
        let promised = self.shown.promised();
        if promised > MOST_FILLED {
            return false;
        }
        let Some((last, why)) = turn.ending(promised as usize) else { return false };
        let Some(ending) = self.shown.ending(&last) else { return false };
        turn.cut_off(why);
        let close = self.closing || self.shown.may_close();
        (self.head, self.head_sent) = (ending, 0);
        self.state = State::Done(if close { End::Close } else { End::KeepAlive });
        (self.buf, self.reusable) = (None, false);
        true
    }

    /// Shows what the client has got, and makes room.
    fn show(&mut self, turn: &mut Option<Turn>) {
        let Some(buf) = &mut self.buf else { return };
        if let Some(turn) = turn {
            // It was walked before: it cannot be malformed now.
            let _ = self.shown.advance(&buf.data()[..self.ready], |payload| turn.answer_goes_on(payload));
        }
        buf.consume(self.ready);
        (self.ready, self.written) = (0, 0);
    }

    fn ended_by_upstream(&mut self) -> Result<End, DownloadError> {
        self.reusable = false;
        match &self.state {
            State::Body(framer) if framer.may_close() => Ok(End::Close),
            State::Head if self.head.is_empty() && self.leftover().is_empty() => Err(DownloadError::NoWord),
            _ => Err(DownloadError::Truncated),
        }
    }

    /// Writes out what is ready.
    fn poll_pass_on(&mut self, cx: &mut Context<'_>, client: &mut Client) -> Poll<Result<(), DownloadError>> {
        let data = self.buf.as_ref().map_or(&[][..], Buffer::data);
        while self.head_sent < self.head.len() || self.written < self.ready {
            let sent = client.poll_send(cx, &self.head[self.head_sent..], &data[self.written..self.ready]);
            let n = ready!(sent).map_err(|_| DownloadError::ClientGone)?;
            if n == 0 {
                return Poll::Ready(Err(DownloadError::ClientGone));
            }
            let of_head = n.min(self.head.len() - self.head_sent);
            self.head_sent += of_head;
            self.written += n - of_head;
            self.moved += n as u64;
        }
        Poll::Ready(Ok(()))
    }

    /// Finds out what of the new bytes may go on.
    fn understand(&mut self) -> Result<(), DownloadError> {
        loop {
            let Some(buf) = &mut self.buf else { return Ok(()) };
            match &mut self.state {
                State::Done(_) => return Ok(()),
                State::Body(framer) => {
                    let fresh = &buf.data()[self.ready..];
                    let taken = framer.advance(fresh, |_| {}).map_err(|bad| DownloadError::Garbage(bad.to_string()))?;
                    self.ready += taken;
                    if framer.is_done() {
                        self.state = State::Done(if self.closing { End::Close } else { End::KeepAlive });
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
    fn read_head(&mut self) -> Result<bool, DownloadError> {
        let Some(buf) = &mut self.buf else { return Ok(false) };
        let mut room = Room::new();
        let parsed = ResponseHead::parse(buf.data(), &mut room);
        let Some(head) = parsed.map_err(|bad| DownloadError::Garbage(bad.to_string()))? else { return Ok(false) };
        let len = head.len();
        let garbage = |problem: &str| Err(DownloadError::Garbage(problem.to_owned()));
        if head.status == 101 && !self.upgrading {
            return garbage("it went on in another protocol, for which nobody had asked");
        }
        if head.is_interim() {
            head.relay(false, &mut self.head);
            if self.head.len() > MAX_BYTES {
                return garbage("it announces an answer again and again, and gives none");
            }
        } else {
            let framing = head.framing(if self.headless { "HEAD" } else { "" });
            let goes_on = framing != Framing::UntilClose && head.has_a_plain_end();
            self.closing |= !goes_on;
            self.reusable = head.keep_alive() && goes_on;
            head.relay(self.closing, &mut self.head);
            let framer = Framer::new(framing);
            self.shown = framer;
            self.untold = Some(Opening {
                status: head.status,
                kind: head.header("content-type").unwrap_or_default().to_owned(),
                encoding: head.encoding(),
            });
            self.state = match head.status {
                101 => State::Done(End::Upgraded),
                _ if framer.is_done() && self.closing => State::Done(End::Close),
                _ if framer.is_done() => State::Done(End::KeepAlive),
                _ => State::Body(framer),
            };
        }
        buf.consume(len);
        Ok(true)
    }
}
