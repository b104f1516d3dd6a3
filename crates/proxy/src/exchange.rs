//! One request and its answer.
//!
//! Both directions move in one task, driven by one poll: what is ready is passed on at once, what
//! is not makes nobody else wait. There is no channel and no second task between reading a byte
//! and writing it.

mod download;
mod quiet;
mod upload;

pub(crate) use quiet::Quiet;
pub(crate) use upload::Upload;

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::client::Client;
use crate::clock::{Alarm, Clock};
use crate::framing::BadFraming;
use crate::inspect::Turn;
use crate::judge::Later;
use crate::upstream::{Link, Trouble, Upstream};
use download::{Download, DownloadError, Downloaded, End};
use upload::{UploadError, Uploaded};

/// How long an upstream may answer at once. To look at a request before would be in the way of its answer: one from the
/// same machine may be there before the looking is done. Then both are looked at when the answer has gone on.
const AT_ONCE: Duration = Duration::from_millis(20);

/// One request and its answer, while they are on their way.
pub(crate) struct Exchange<'a> {
    client: &'a mut Client,
    beside: &'a mut Beside,
    upstream: &'a Upstream,
    link: Link,
    up: Upload,
    down: Download,
    turn: Onlooker,
    /// Nobody has looked at the request yet, or at all of what has come of its answer.
    unread: bool,
    /// The upstream takes no more of the request.
    deaf: bool,
}

/// Whoever looks on. An answer that nobody ended broke off.
struct Onlooker(Option<Turn>);

impl Drop for Onlooker {
    fn drop(&mut self) {
        if let Some(turn) = self.0.take() {
            turn.answer_ends(false);
        }
    }
}

/// What an exchange waits for beside its bytes. It is kept from one exchange of a connection to the next.
pub(crate) struct Beside {
    pub(crate) quiet: Quiet,
    /// Rings when a session's standing changes: one that was stopped for good ends at once.
    bell: Option<Later<()>>,
    /// Rings when the upstream takes its time over a request.
    leisure: Alarm,
}

impl Beside {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { quiet: Quiet::new(clock), bell: None, leisure: clock.alarm() }
    }
}

/// What becomes of the client's connection.
#[derive(Debug)]
pub(crate) enum Next {
    /// It can ask again.
    KeepAlive,
    /// That was the last answer.
    Close,
    /// The two sides speak another protocol now; these bytes came early.
    Upgraded(Link, Vec<u8>),
}

/// Why the client did not get the upstream's whole answer.
#[derive(Debug)]
pub(crate) enum Failure {
    ClientGone,
    /// The answer broke off in the middle; all that is left is to break off too.
    Broken(Trouble),
    /// Nothing was answered yet: the request is handed back, for words of our own.
    Upstream(Trouble, Box<Upload>),
    /// The session is held back, and nothing of this request counts for the upstream.
    Held(Box<Upload>, Turn),
    /// The request breaks its own framing.
    BadBody(BadFraming),
}

/// What the two directions came to.
#[derive(Debug)]
enum Moved {
    Held,
    Answered(End),
}

#[derive(Debug)]
pub(crate) enum Stop {
    /// The session is held back.
    Held,
    Up(UploadError),
    Down(DownloadError),
    /// The upstream was to be asked once more.
    Upstream(Trouble),
    Quiet,
    /// The session was stopped for good.
    Stopped,
}

/// How an answer has to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// With `HEAD`: there is no body, whatever the head says.
    pub(crate) headless: bool,
    /// The client said it will close.
    pub(crate) closing: bool,
    /// For another protocol.
    pub(crate) upgrading: bool,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(
        client: &'a mut Client,
        beside: &'a mut Beside,
        upstream: &'a Upstream,
        link: Link,
        up: Upload,
        turn: Option<Turn>,
        asked: Asked,
    ) -> Self {
        let down = Download::new(asked);
        let unread = turn.is_some();
        Self { client, beside, upstream, link, up, down, turn: Onlooker(turn), unread, deaf: false }
    }

    /// Moves both directions until the answer is complete. `reused` tells that the upstream may have
    /// closed the connection before it saw the request: then it is asked once more on a fresh one.
    pub(crate) async fn run(&mut self, mut reused: bool) -> Result<End, Stop> {
        self.beside.quiet.begin(self.upstream.quiet);
        // Whether all of it may go was asked before a connection was sought, and that took no time.
        if reused && self.up.is_complete() {
            self.let_go();
        }
        loop {
            match poll_fn(|cx| self.poll(cx)).await {
                Ok(Moved::Held) if self.is_held() => return Err(Stop::Held),
                Ok(Moved::Held) => self.let_go(),
                Ok(Moved::Answered(end)) => return Ok(end),
                Err(Stop::Down(DownloadError::NoWord)) if reused && self.up.rewind() => {
                    reused = false;
                    self.deaf = false;
                    self.link = self.upstream.link(true).await.map_err(Stop::Upstream)?.0;
                }
                Err(Stop::Stopped) if self.ends() => {}
                Err(stop) => return Err(stop),
            }
        }
    }

    fn is_held(&mut self) -> bool {
        let Some(turn) = &mut self.turn.0 else { return false };
        // Who only has to be asked began when there was nothing to ask; to send a request again that can no longer be
        // would be the worse.
        turn.is_held(self.up.payload().as_deref()) && (self.up.can_begin_again() || turn.is_barred())
    }

    fn let_go(&mut self) {
        self.up.release();
        if self.unread {
            self.beside.leisure.set(AT_ONCE);
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Moved, Stop>> {
        while !self.deaf {
            match self.up.poll(cx, self.client, &mut self.link) {
                Poll::Ready(Ok(Uploaded::Held)) if !self.down.has_begun() => return Poll::Ready(Ok(Moved::Held)),
                // Whoever answers before it has heard all may still want the rest.
                Poll::Ready(Ok(Uploaded::Held)) => self.up.release(),
                Poll::Ready(Ok(Uploaded::Sent)) | Poll::Pending => break,
                Poll::Ready(Err(UploadError::UpstreamClosed)) => self.deaf = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Stop::Up(error))),
            }
        }
        loop {
            match self.down.poll(cx, self.client, &mut self.link, &mut self.turn.0) {
                Poll::Ready(Ok(Downloaded::Begun)) => self.begin(),
                Poll::Ready(Ok(Downloaded::Behind)) => self.read(),
                Poll::Ready(Ok(Downloaded::Ended(end))) => return Poll::Ready(Ok(Moved::Answered(end))),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Stop::Down(error))),
                Poll::Pending => break,
            }
        }
        if self.unread && self.up.is_sent() && self.beside.leisure.poll(cx).is_ready() {
            self.read();
        }
        if (self.up.is_complete() || self.deaf) && self.client.poll_gone(cx).is_ready() {
            return Poll::Ready(Err(Stop::Up(UploadError::ClientGone)));
        }
        while let Some(turn) = &self.turn.0 {
            let bell = self.beside.bell.get_or_insert_with(|| turn.changed());
            if bell.as_mut().poll(cx).is_pending() {
                break;
            }
            self.beside.bell = None;
            // An answer that only has to be written out is as good as over.
            if turn.is_stopped() && !self.down.is_over() {
                return Poll::Ready(Err(Stop::Stopped));
            }
        }
        match self.beside.quiet.poll(cx, self.up.moved() + self.down.moved()) {
            Poll::Ready(()) => Poll::Ready(Err(Stop::Quiet)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// The answer has begun. Whoever looks at it has to know the question first; if nobody had the time for it, both can
    /// wait until the upstream takes its time, or all is over.
    fn begin(&mut self) {
        let may_wait = self.unread && self.up.is_sent() && self.turn.0.as_ref().is_some_and(Turn::may_put_by);
        if !may_wait {
            self.read();
        }
        match (&mut self.turn.0, self.down.opening()) {
            (Some(turn), Some(opening)) if may_wait => {
                turn.put_by(self.up.payload(), self.up.is_short(), opening, self.client.buffers().charge());
            }
            (Some(turn), Some(opening)) => turn.answer_begins(&opening, self.client.buffers().charge()),
            _ => {}
        }
    }

    /// Whether an answer that has begun can be ended properly. Only whoever has looked at it can tell.
    fn ends(&mut self) -> bool {
        if self.down.has_begun() {
            self.read();
        }
        self.down.end_if_due(&mut self.turn.0)
    }

    /// Looks at the request, as far as it is here, and at what has come of its answer, if nobody has yet.
    fn read(&mut self) {
        if std::mem::take(&mut self.unread)
            && let Some(turn) = &mut self.turn.0
        {
            turn.observe(self.up.payload().as_deref());
            turn.catch_up();
        }
    }

    /// What it came to.
    pub(crate) fn close(self, ended: Result<End, Stop>) -> Result<Next, Failure> {
        match ended {
            Ok(end) => Ok(self.finish(end)),
            Err(stop) => Err(self.failure(stop)),
        }
    }

    fn finish(mut self, end: End) -> Next {
        if let Some(turn) = self.turn.0.take() {
            turn.answer_ends(true);
        }
        match end {
            End::Upgraded => {
                let early = self.down.leftover().to_vec();
                Next::Upgraded(self.link, early)
            }
            // An answer that came before the end of the question leaves both connections unclean.
            _ if !self.up.is_complete() || self.deaf => Next::Close,
            _ => {
                if self.down.is_reusable() && self.up.is_sent() {
                    self.upstream.keep(self.link);
                }
                if end == End::Close { Next::Close } else { Next::KeepAlive }
            }
        }
    }

    fn failure(mut self, stop: Stop) -> Failure {
        // What was asked is worth knowing, whatever became of it.
        if self.up.is_sent() || self.down.has_begun() {
            self.read();
        }
        if matches!(stop, Stop::Held | Stop::Stopped)
            && !self.down.has_begun()
            && let Some(mut turn) = self.turn.0.take()
        {
            turn.revoke();
            return Failure::Held(Box::new(self.up), turn);
        }
        let host = self.upstream.base.authority.clone();
        let trouble = match stop {
            Stop::Up(UploadError::BadBody(bad)) => return Failure::BadBody(bad),
            Stop::Up(_) | Stop::Down(DownloadError::ClientGone) | Stop::Held | Stop::Stopped => {
                return Failure::ClientGone;
            }
            Stop::Upstream(trouble) => trouble,
            Stop::Down(DownloadError::NoWord | DownloadError::Truncated) => Trouble::Closed { host },
            Stop::Down(DownloadError::Garbage(problem)) => Trouble::Garbage { host, problem },
            Stop::Quiet => Trouble::Stalled { host, after: self.upstream.quiet },
        };
        if self.down.has_begun() { Failure::Broken(trouble) } else { Failure::Upstream(trouble, Box::new(self.up)) }
    }
}
