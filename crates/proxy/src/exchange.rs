//! One request and its answer.
//!
//! Both directions move in one task, driven by one poll: what is ready is passed on at once, what
//! is not makes nobody else wait. There is no channel and no second task between reading a byte
//! and writing it.

mod idle_timeout;
mod request_relay;
mod response_relay;

pub(crate) use idle_timeout::IdleTimeout;
pub(crate) use request_relay::RequestRelay;

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::client_conn::ClientConn;
use crate::clock::{Alarm, Clock};
use crate::framing::FramingError;
use crate::inspect::ExchangeInspection;
use crate::supervisor::BoxFuture;
use crate::upstream::{Upstream, UpstreamConn, UpstreamError};
use request_relay::{RequestError, RequestProgress};
use response_relay::{ResponseEnd, ResponseError, ResponseProgress, ResponseRelay};

/// How long an upstream may answer at once. To look at a request before would be in the way of its answer: one from the
/// same machine may be there before the looking is done. Then both are looked at when the answer has gone on.
const AT_ONCE: Duration = Duration::from_millis(20);

/// One request and its answer, while they are on their way.
pub(crate) struct Exchange<'a> {
    client: &'a mut ClientConn,
    beside: &'a mut Beside,
    upstream: &'a Upstream,
    link: UpstreamConn,
    up: RequestRelay,
    down: ResponseRelay,
    turn: InspectionGuard,
    /// Nobody has looked at the request yet, or at all of what has come of its answer.
    unread: bool,
    /// The upstream takes no more of the request.
    deaf: bool,
}

/// Whoever looks on. An answer that nobody ended broke off.
struct InspectionGuard(Option<ExchangeInspection>);

impl Drop for InspectionGuard {
    fn drop(&mut self) {
        if let Some(turn) = self.0.take() {
            turn.finish_response(false);
        }
    }
}

/// What an exchange waits for beside its bytes. It is kept from one exchange of a connection to the next.
pub(crate) struct Beside {
    pub(crate) quiet: IdleTimeout,
    /// Rings when a session's standing changes: one that was stopped for good ends at once.
    bell: Option<BoxFuture<()>>,
    /// Rings when the upstream takes its time over a request.
    leisure: Alarm,
}

impl Beside {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { quiet: IdleTimeout::new(clock), bell: None, leisure: clock.alarm() }
    }
}

/// What becomes of the client's connection.
#[derive(Debug)]
pub(crate) enum ConnectionState {
    /// It can ask again.
    KeepAlive,
    /// That was the last answer.
    Close,
    /// The two sides speak another protocol now; these bytes came early.
    Upgraded(UpstreamConn, Vec<u8>),
}

/// Why the client did not get the upstream's whole answer.
#[derive(Debug)]
pub(crate) enum ExchangeError {
    ClientGone,
    /// The answer broke off in the middle; all that is left is to break off too.
    Broken(UpstreamError),
    /// Nothing was answered yet: the request is handed back, for words of our own.
    Upstream(UpstreamError, Box<RequestRelay>),
    /// The session is held back, and nothing of this request counts for the upstream.
    Held(Box<RequestRelay>, ExchangeInspection),
    /// The request breaks its own framing.
    BadBody(FramingError),
}

/// What the two directions came to.
#[derive(Debug)]
enum Progress {
    Held,
    Answered(ResponseEnd),
}

#[derive(Debug)]
pub(crate) enum StopReason {
    /// The session is held back.
    Held,
    Up(RequestError),
    Down(ResponseError),
    /// The upstream was to be asked once more.
    Upstream(UpstreamError),
    IdleTimeout,
    /// The session was stopped for good.
    Stopped,
}

/// How an answer has to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseFraming {
    /// With `HEAD`: there is no body, whatever the head says.
    pub(crate) headless: bool,
    /// The client said it will close.
    pub(crate) closing: bool,
    /// For another protocol.
    pub(crate) upgrading: bool,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(
        client: &'a mut ClientConn,
        beside: &'a mut Beside,
        upstream: &'a Upstream,
        link: UpstreamConn,
        up: RequestRelay,
        turn: Option<ExchangeInspection>,
        asked: ResponseFraming,
    ) -> Self {
        let down = ResponseRelay::new(asked);
        let unread = turn.is_some();
        Self { client, beside, upstream, link, up, down, turn: InspectionGuard(turn), unread, deaf: false }
    }

    /// Moves both directions until the answer is complete. `reused` tells that the upstream may have
    /// closed the connection before it saw the request: then it is asked once more on a fresh one.
    pub(crate) async fn run(&mut self, mut reused: bool) -> Result<ResponseEnd, StopReason> {
        self.beside.quiet.reset(self.upstream.quiet);
        // Whether all of it may go was asked before a connection was sought, and that took no time.
        if reused && self.up.is_complete() {
            self.let_go();
        }
        loop {
            match poll_fn(|cx| self.poll(cx)).await {
                Ok(Progress::Held) if self.is_held() => return Err(StopReason::Held),
                Ok(Progress::Held) => self.let_go(),
                Ok(Progress::Answered(end)) => return Ok(end),
                Err(StopReason::Down(ResponseError::ClosedBeforeResponse)) if reused && self.up.restart() => {
                    reused = false;
                    self.deaf = false;
                    self.link = self.upstream.acquire(true).await.map_err(StopReason::Upstream)?.0;
                }
                Err(StopReason::Stopped) if self.ends() => {}
                Err(stop) => return Err(stop),
            }
        }
    }

    fn is_held(&mut self) -> bool {
        let Some(turn) = &mut self.turn.0 else { return false };
        // Who only has to be asked began when there was nothing to ask; to send a request again that can no longer be
        // would be the worse.
        turn.is_held(self.up.decoded_body().as_deref()) && (self.up.can_restart() || turn.is_blocked())
    }

    fn let_go(&mut self) {
        self.up.release_tail();
        if self.unread {
            self.beside.leisure.set(AT_ONCE);
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Progress, StopReason>> {
        while !self.deaf {
            match self.up.poll(cx, self.client, &mut self.link) {
                Poll::Ready(Ok(RequestProgress::Held)) if !self.down.has_started() => {
                    return Poll::Ready(Ok(Progress::Held));
                }
                // Whoever answers before it has heard all may still want the rest.
                Poll::Ready(Ok(RequestProgress::Held)) => self.up.release_tail(),
                Poll::Ready(Ok(RequestProgress::Sent)) | Poll::Pending => break,
                Poll::Ready(Err(RequestError::UpstreamClosed)) => self.deaf = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(StopReason::Up(error))),
            }
        }
        loop {
            match self.down.poll(cx, self.client, &mut self.link, &mut self.turn.0) {
                Poll::Ready(Ok(ResponseProgress::HeadSent)) => self.begin(),
                Poll::Ready(Ok(ResponseProgress::Behind)) => self.read(),
                Poll::Ready(Ok(ResponseProgress::Ended(end))) => return Poll::Ready(Ok(Progress::Answered(end))),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(StopReason::Down(error))),
                Poll::Pending => break,
            }
        }
        if self.unread && self.up.is_sent() && self.beside.leisure.poll(cx).is_ready() {
            self.read();
        }
        if (self.up.is_complete() || self.deaf) && self.client.poll_disconnected(cx).is_ready() {
            return Poll::Ready(Err(StopReason::Up(RequestError::ClientGone)));
        }
        while let Some(turn) = &self.turn.0 {
            let bell = self.beside.bell.get_or_insert_with(|| turn.hold_state_changed());
            if bell.as_mut().poll(cx).is_pending() {
                break;
            }
            self.beside.bell = None;
            // An answer that only has to be written out is as good as over.
            if turn.is_killed() && !self.down.is_complete() {
                return Poll::Ready(Err(StopReason::Stopped));
            }
        }
        match self.beside.quiet.poll_expired(cx, self.up.bytes_relayed() + self.down.bytes_relayed()) {
            Poll::Ready(()) => Poll::Ready(Err(StopReason::IdleTimeout)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// The answer has begun. Whoever looks at it has to know the question first; if nobody had the time for it, both can
    /// wait until the upstream takes its time, or all is over.
    fn begin(&mut self) {
        let may_wait =
            self.unread && self.up.is_sent() && self.turn.0.as_ref().is_some_and(ExchangeInspection::may_put_by);
        if !may_wait {
            self.read();
        }
        match (&mut self.turn.0, self.down.take_response_meta()) {
            (Some(turn), Some(opening)) if may_wait => {
                turn.put_by(self.up.decoded_body(), self.up.is_short(), opening, self.client.buffers().new_charge());
            }
            (Some(turn), Some(opening)) => turn.start_response(&opening, self.client.buffers().new_charge()),
            _ => {}
        }
    }

    /// Whether an answer that has begun can be ended properly. Only whoever has looked at it can tell.
    fn ends(&mut self) -> bool {
        if self.down.has_started() {
            self.read();
        }
        self.down.cut_if_due(&mut self.turn.0)
    }

    /// Looks at the request, as far as it is here, and at what has come of its answer, if nobody has yet.
    fn read(&mut self) {
        if std::mem::take(&mut self.unread)
            && let Some(turn) = &mut self.turn.0
        {
            turn.read_request(self.up.decoded_body().as_deref());
            turn.catch_up();
        }
    }

    /// What it came to.
    pub(crate) fn finish(self, ended: Result<ResponseEnd, StopReason>) -> Result<ConnectionState, ExchangeError> {
        match ended {
            Ok(end) => Ok(self.succeed(end)),
            Err(stop) => Err(self.failure(stop)),
        }
    }

    fn succeed(mut self, end: ResponseEnd) -> ConnectionState {
        if let Some(turn) = self.turn.0.take() {
            turn.finish_response(true);
        }
        match end {
            ResponseEnd::Upgraded => {
                let early = self.down.unread_upstream_bytes().to_vec();
                ConnectionState::Upgraded(self.link, early)
            }
            // An answer that came before the end of the question leaves both connections unclean.
            _ if !self.up.is_complete() || self.deaf => ConnectionState::Close,
            _ => {
                if self.down.is_reusable() && self.up.is_sent() {
                    self.upstream.release(self.link);
                }
                if end == ResponseEnd::Close { ConnectionState::Close } else { ConnectionState::KeepAlive }
            }
        }
    }

    fn failure(mut self, stop: StopReason) -> ExchangeError {
        // What was asked is worth knowing, whatever became of it.
        if self.up.is_sent() || self.down.has_started() {
            self.read();
        }
        if matches!(stop, StopReason::Held | StopReason::Stopped)
            && !self.down.has_started()
            && let Some(mut turn) = self.turn.0.take()
        {
            turn.revoke_grant();
            return ExchangeError::Held(Box::new(self.up), turn);
        }
        let host = self.upstream.base.authority.clone();
        let trouble = match stop {
            StopReason::Up(RequestError::BadBody(bad)) => return ExchangeError::BadBody(bad),
            StopReason::Up(_)
            | StopReason::Down(ResponseError::ClientGone)
            | StopReason::Held
            | StopReason::Stopped => {
                return ExchangeError::ClientGone;
            }
            StopReason::Upstream(trouble) => trouble,
            StopReason::Down(ResponseError::ClosedBeforeResponse | ResponseError::Truncated) => {
                UpstreamError::Closed { host }
            }
            StopReason::Down(ResponseError::Malformed(problem)) => UpstreamError::InvalidResponse { host, problem },
            StopReason::IdleTimeout => UpstreamError::Stalled { host, after: self.upstream.quiet },
        };
        if self.down.has_started() {
            ExchangeError::Broken(trouble)
        } else {
            ExchangeError::Upstream(trouble, Box::new(self.up))
        }
    }
}
