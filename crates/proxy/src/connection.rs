//! One connection of an agent, request after request.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::TcpStream;

use crate::admission::{Admission, admit};
use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::dispatch::{Dispatch, HeadCache, OutgoingRequest, RoutePlan, dispatch_next};
use crate::exchange::{Beside, ConnectionState, Exchange, ExchangeError, IdleTimeout, RequestRelay, ResponseFraming};
use crate::local_response::LocalResponse;
use crate::local_service::PrefixedIo;
use crate::messages;
use crate::relay::Relay;

/// How long a client may stay connected without asking anything.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a client may take over one head, or over the rest of a body that nobody wants.
const HEAD_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves a connection until either side has had enough.
pub(crate) async fn serve_connection(relay: Arc<Relay>, io: TcpStream, peer: SocketAddr) {
    // Small writes must not wait for each other; a socket that cannot do it still works.
    let _ = io.set_nodelay(true);
    let mut client = ClientConn::new(io, relay.buffers.clone());
    let mut beside = Beside::new(&relay.clock);
    let mut known = None;
    while let Ok(plan) = next_plan(&relay, &mut client, &mut known, &mut beside.quiet).await {
        let _busy = relay.track_request();
        let next = match plan {
            Dispatch::Local => {
                let (io, first) = client.into_parts();
                return relay.ours.serve(PrefixedIo::new(first, io), peer).await;
            }
            Dispatch::Refuse { answer, framing, asked } => {
                let upload = RequestRelay::new(Vec::new(), framing, false, 0, &mut client);
                say(&mut client, upload, &answer, asked).await
            }
            Dispatch::Relay(outgoing) => relay_one(&relay, &mut client, &mut beside, outgoing).await,
        };
        match next {
            Ok(ConnectionState::KeepAlive) => {}
            Ok(ConnectionState::Close) => return client.close().await,
            Ok(ConnectionState::Upgraded(mut link, early)) => {
                let (io, ahead) = client.into_parts();
                let mut io = PrefixedIo::new(ahead, io);
                if tokio::io::AsyncWriteExt::write_all(&mut io, &early).await.is_ok() {
                    let _ = tokio::io::copy_bidirectional(&mut io, &mut link).await;
                }
                return;
            }
            Err(ClientDisconnected) => return,
        }
    }
}

/// Reads the next head and decides what to do about it.
async fn next_plan(
    relay: &Relay,
    client: &mut ClientConn,
    known: &mut Option<HeadCache>,
    quiet: &mut IdleTimeout,
) -> Result<Dispatch, ClientDisconnected> {
    if client.buffered().is_empty() {
        quiet.reset(KEEP_ALIVE_TIMEOUT);
        let read = |cx: &mut Context<'_>| match client.poll_fill_buffer(cx) {
            Poll::Pending => quiet.poll_expired(cx, 0).map(|()| Err(ClientDisconnected)),
            read => read,
        };
        poll_fn(read).await?;
    }
    if let Some(plan) = dispatch_next(relay, client, known)? {
        return Ok(plan);
    }
    let rest = async {
        loop {
            poll_fn(|cx| client.poll_fill_buffer(cx)).await?;
            if let Some(plan) = dispatch_next(relay, client, known)? {
                return Ok(plan);
            }
        }
    };
    tokio::time::timeout(HEAD_READ_TIMEOUT, rest).await.map_err(|_| ClientDisconnected)?
}

async fn relay_one(
    relay: &Relay,
    client: &mut ClientConn,
    beside: &mut Beside,
    out: OutgoingRequest,
) -> Result<ConnectionState, ClientDisconnected> {
    let OutgoingRequest { way: RoutePlan { upstream, eager, asked, .. }, head, framing, mut turn } = out;
    let mut upload = RequestRelay::new(head, framing, eager, relay.keep, client);
    if turn.is_some() {
        relay.inspector.wait_for_capacity().await;
    }
    let result = loop {
        if let Some(known) = &mut turn
            && known.is_held(upload.decoded_body().as_deref())
        {
            match admit(relay, client, &mut upload, known).await? {
                Admission::Go => {}
                Admission::Answer(answer) => return say(client, upload, &answer, asked).await,
            }
        }
        let link = tokio::select! {
            biased;
            link = upstream.acquire(false) => link,
            gone = poll_fn(|cx| client.poll_disconnected(cx)) => return Err(gone),
        };
        let (link, reused) = match link {
            Ok(link) => link,
            Err(trouble) => break Err(ExchangeError::Upstream(trouble, Box::new(upload))),
        };
        let mut exchange = Exchange::new(client, beside, &upstream, link, upload, turn, asked);
        let ended = exchange.run(reused).await;
        match exchange.finish(ended) {
            Err(ExchangeError::Held(held, known)) => (upload, turn) = (*held, Some(known)),
            result => break result,
        }
    };
    match result {
        Ok(next) => Ok(next),
        Err(ExchangeError::ClientGone | ExchangeError::Held(..)) => Err(ClientDisconnected),
        Err(ExchangeError::Broken(trouble)) => {
            tracing::warn!(upstream = upstream.name, code = trouble.code(), "answer broke off: {trouble}");
            Err(ClientDisconnected)
        }
        Err(ExchangeError::Upstream(trouble, upload)) => {
            tracing::warn!(upstream = upstream.name, code = trouble.code(), "{trouble}");
            say(client, *upload, &messages::upstream_error(&upstream.base.url(), &trouble), asked).await
        }
        Err(ExchangeError::BadBody(bad)) => {
            let answer = messages::error_response(
                400,
                "bad_request",
                &format!("Belay could not understand this request: {bad}."),
            );
            client.send(&answer.to_bytes(true, asked.headless)).await?;
            Ok(ConnectionState::Close)
        }
    }
}

/// Answers in the upstream's place, once the request has been read: a client that still sends
/// would not listen.
async fn say(
    client: &mut ClientConn,
    mut upload: RequestRelay,
    answer: &LocalResponse,
    asked: ResponseFraming,
) -> Result<ConnectionState, ClientDisconnected> {
    // Without a go-ahead there is nothing to read, and nobody knows whether the body will come.
    let refused_early = upload.awaits_continue() && client.buffered().is_empty();
    let drain = tokio::time::timeout(HEAD_READ_TIMEOUT, poll_fn(|cx| upload.poll_drain(cx, client)));
    let drained = refused_early || matches!(drain.await, Ok(Ok(())));
    let close = asked.closing || refused_early || !drained;
    client.send(&answer.to_bytes(close, asked.headless)).await?;
    Ok(if close { ConnectionState::Close } else { ConnectionState::KeepAlive })
}
