//! One request and its response.
//!
//! One task polls both directions: bytes that are ready move immediately, and neither direction waits for the other.
//! There is no channel and no second task between reading a byte and writing it.

mod idle;
mod request_relay;
mod response_relay;

pub(crate) use idle::IdleTimeout;
pub(crate) use request_relay::RequestRelay;

use std::future::poll_fn;
use std::task::{Context, Poll};

use crate::client_conn::ClientConn;
use crate::framing::FramingError;
use crate::inspect::ExchangeInspection;
use crate::socket::Socket;
use crate::supervisor::BoxFuture;
use crate::upstream::{Upstream, UpstreamError};
use request_relay::{RequestError, RequestProgress};
use response_relay::{ResponseEnd, ResponseError, ResponseProgress, ResponseRelay};

/// One request and its response in flight.
pub(crate) struct Exchange<'a> {
    client: &'a mut ClientConn,
    idle: &'a mut IdleTimeout,
    upstream: &'a Upstream,
    upstream_conn: Socket,
    request: RequestRelay,
    response: ResponseRelay,
    /// Dropping it records an interrupted response.
    inspection: Option<ExchangeInspection>,
    /// Resolves when a hold state changes: a kill ends the exchange.
    hold_change: Option<BoxFuture<()>>,
    /// The upstream accepts no more of the request.
    upload_closed: bool,
}

/// What happens to the client's connection after an exchange.
#[derive(Debug)]
pub(crate) enum ConnectionState {
    KeepAlive,
    Close,
    /// Both sides switched protocols. The bytes are the first ones from the upstream.
    Upgraded(Socket, Vec<u8>),
}

/// Why the client did not get the upstream's complete response.
#[derive(Debug)]
pub(crate) enum ExchangeError {
    ClientGone,
    /// The response was interrupted; the client's connection must be closed as well.
    Interrupted(UpstreamError),
    /// No response has started: Belay answers the request itself.
    Upstream(UpstreamError, Box<RequestRelay>),
    /// The session is held, and no response has started.
    Held(Box<RequestRelay>, Box<ExchangeInspection>),
    /// The request violates its own framing.
    BadBody(FramingError),
}

#[derive(Debug)]
enum Progress {
    /// The request is complete except for its last piece, which waits for the hold check.
    TailHeld,
    Responded(ResponseEnd),
}

/// Why an exchange ended early.
#[derive(Debug)]
pub(crate) enum StopReason {
    Held,
    Request(RequestError),
    Response(ResponseError),
    /// The second attempt could not connect.
    Upstream(UpstreamError),
    IdleTimeout,
    Killed,
}

/// How the response must be read and written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseFraming {
    /// The method was `HEAD`, so the response has no body, regardless of its headers.
    pub(crate) headless: bool,
    /// The client closes the connection after the response.
    pub(crate) closing: bool,
    /// The client asked for another protocol.
    pub(crate) upgrading: bool,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(
        client: &'a mut ClientConn,
        idle: &'a mut IdleTimeout,
        upstream: &'a Upstream,
        upstream_conn: Socket,
        request: RequestRelay,
        inspection: Option<ExchangeInspection>,
        framing: ResponseFraming,
    ) -> Self {
        Self {
            client,
            idle,
            upstream,
            upstream_conn,
            request,
            response: ResponseRelay::new(framing),
            hold_change: inspection.as_ref().map(ExchangeInspection::hold_state_changed),
            inspection,
            upload_closed: false,
        }
    }

    /// Relays both directions until the response is complete. The upstream may have closed a `reused` connection before
    /// it saw the request; the request is then sent again on a new connection.
    pub(crate) async fn run(&mut self, mut reused: bool) -> Result<ResponseEnd, StopReason> {
        self.idle.reset(self.upstream.quiet);
        // The hold check came just before, and a pooled connection took no time.
        if reused && self.request.is_complete() {
            self.request.release_tail();
        }
        loop {
            match poll_fn(|cx| self.poll(cx)).await {
                Ok(Progress::TailHeld) if self.is_held() => return Err(StopReason::Held),
                Ok(Progress::TailHeld) => self.request.release_tail(),
                Ok(Progress::Responded(end)) => return Ok(end),
                Err(StopReason::Response(ResponseError::ClosedBeforeResponse)) if reused && self.request.restart() => {
                    reused = false;
                    self.upload_closed = false;
                    self.upstream_conn = self.upstream.acquire(true).await.map_err(StopReason::Upstream)?.0;
                }
                Err(StopReason::Killed) if self.response.cut_if_due(&mut self.inspection) => {}
                Err(stop) => return Err(stop),
            }
        }
    }

    fn is_held(&mut self) -> bool {
        let Some(inspection) = &mut self.inspection else { return false };
        // A request that was not held when it started and can no longer be resent is not interrupted by a pending
        // check.
        inspection.must_wait(self.request.decoded_body().as_deref())
            && (self.request.can_restart() || inspection.is_blocked())
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Progress, StopReason>> {
        while !self.upload_closed {
            match self.request.poll(cx, self.client, &mut self.upstream_conn) {
                Poll::Ready(Ok(RequestProgress::TailHeld)) if !self.response.has_started() => {
                    return Poll::Ready(Ok(Progress::TailHeld));
                }
                // An upstream that responds early may still read the rest.
                Poll::Ready(Ok(RequestProgress::TailHeld)) => self.request.release_tail(),
                Poll::Ready(Ok(RequestProgress::Sent)) => {
                    self.read_request();
                    break;
                }
                Poll::Pending => break,
                Poll::Ready(Err(RequestError::UpstreamClosed)) => self.upload_closed = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(StopReason::Request(error))),
            }
        }
        loop {
            match self.response.poll(cx, self.client, &mut self.upstream_conn, &mut self.inspection) {
                Poll::Ready(Ok(ResponseProgress::HeadSent)) => self.start_response(),
                Poll::Ready(Ok(ResponseProgress::Ended(end))) => return Poll::Ready(Ok(Progress::Responded(end))),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(StopReason::Response(error))),
                Poll::Pending => break,
            }
        }
        if (self.request.is_complete() || self.upload_closed) && self.client.poll_disconnected(cx).is_ready() {
            return Poll::Ready(Err(StopReason::Request(RequestError::ClientGone)));
        }
        if self.poll_killed(cx).is_ready() {
            return Poll::Ready(Err(StopReason::Killed));
        }
        let progress = self.request.bytes_relayed() + self.response.bytes_relayed();
        self.idle.poll_expired(cx, progress).map(|()| Err(StopReason::IdleTimeout))
    }

    /// Ready when the session is killed. A response that only has to be written out may finish.
    fn poll_killed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (Some(inspection), Some(hold_change)) = (&self.inspection, &mut self.hold_change) else {
            return Poll::Pending;
        };
        while hold_change.as_mut().poll(cx).is_ready() {
            *hold_change = inspection.hold_state_changed();
            if inspection.is_killed() && !self.response.is_complete() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    /// Reads the request as far as it is buffered, unless it has been read before.
    fn read_request(&mut self) {
        if let Some(inspection) = &mut self.inspection
            && inspection.is_pending()
        {
            inspection.read_request(self.request.decoded_body().as_deref());
        }
    }

    fn start_response(&mut self) {
        // A response may start before its request is complete.
        self.read_request();
        if let (Some(inspection), Some(head)) = (&mut self.inspection, self.response.take_response_meta()) {
            inspection.start_response(&head, self.client.buffers().new_charge());
        }
    }

    pub(crate) fn finish(self, ended: Result<ResponseEnd, StopReason>) -> Result<ConnectionState, ExchangeError> {
        match ended {
            Ok(end) => Ok(self.succeed(end)),
            Err(stop) => Err(self.fail(stop)),
        }
    }

    fn succeed(self, end: ResponseEnd) -> ConnectionState {
        if let Some(inspection) = self.inspection {
            inspection.finish();
        }
        match end {
            ResponseEnd::Upgraded => {
                let early = self.response.unread_upstream_bytes().to_vec();
                ConnectionState::Upgraded(self.upstream_conn, early)
            }
            // A response that ended before its request leaves unread bytes in both connections.
            _ if !self.request.is_complete() || self.upload_closed => ConnectionState::Close,
            _ => {
                if self.response.is_reusable() && self.request.is_sent() {
                    self.upstream.release(self.upstream_conn);
                }
                if end == ResponseEnd::Close { ConnectionState::Close } else { ConnectionState::KeepAlive }
            }
        }
    }

    fn fail(mut self, stop: StopReason) -> ExchangeError {
        // Record the request regardless of its result.
        if self.request.is_sent() || self.response.has_started() {
            self.read_request();
        }
        if matches!(stop, StopReason::Held | StopReason::Killed)
            && !self.response.has_started()
            && let Some(mut inspection) = self.inspection.take()
        {
            inspection.revoke_grant();
            return ExchangeError::Held(Box::new(self.request), Box::new(inspection));
        }
        let host = self.upstream.base.authority.clone();
        let error = match stop {
            StopReason::Request(RequestError::BadBody(error)) => return ExchangeError::BadBody(error),
            StopReason::Request(_)
            | StopReason::Response(ResponseError::ClientGone)
            | StopReason::Held
            | StopReason::Killed => {
                return ExchangeError::ClientGone;
            }
            StopReason::Upstream(error) => error,
            StopReason::Response(ResponseError::ClosedBeforeResponse | ResponseError::Truncated) => {
                UpstreamError::Closed { host }
            }
            StopReason::Response(ResponseError::Malformed(problem)) => UpstreamError::InvalidResponse { host, problem },
            StopReason::IdleTimeout => UpstreamError::Stalled { host, after: self.upstream.quiet },
        };
        if self.response.has_started() {
            ExchangeError::Interrupted(error)
        } else {
            ExchangeError::Upstream(error, Box::new(self.request))
        }
    }
}
