//! One connection of an agent, request after request.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use belay_net::PeerUser;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::admission::{Admission, admit};
use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::connection_limit::ConnectionGuard;
use crate::dispatch::{Dispatch, OutgoingRequest, dispatch_next};
use crate::exchange::{ConnectionState, Exchange, ExchangeError, IdleTimeout, RequestRelay, ResponseFraming};
use crate::local_response::LocalResponse;
use crate::local_service::PrefixedIo;
use crate::relay::Relay;
use crate::socket::Socket;
use crate::{messages, tls_listener};

/// How long a client may stay connected between requests.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a client may take to send one head, or the rest of a body that is discarded.
const HEAD_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves a connection until either side closes it.
pub(crate) async fn serve_connection(
    relay: Arc<Relay>,
    io: TcpStream,
    tls: Option<TlsAcceptor>,
    mut connection: ConnectionGuard,
) {
    // Small writes must not wait for each other. A socket without the option still works.
    let _ = io.set_nodelay(true);
    // Before anything is read: a peer that closes its socket after sending is no longer known.
    let (peer, io) = match tls {
        None => ((relay.identify_peer)(&io), Socket::Plain(io)),
        Some(acceptor) => match connection.while_idle(tls_listener::accept(&acceptor, io)).await {
            Some(Some(io)) => (PeerUser::Remote, io),
            Some(None) | None => return,
        },
    };
    let mut client = ClientConn::new(io, relay.buffers.clone());
    let mut idle = IdleTimeout::new(KEEP_ALIVE_TIMEOUT);
    while let Some(Ok(dispatch)) = connection.while_idle(next_dispatch(&relay, peer, &mut client, &mut idle)).await {
        let _in_flight = relay.track_request();
        let state = match dispatch {
            Dispatch::Local => {
                let (io, first) = client.into_parts();
                let unread = relay.local.serve(PrefixedIo::new(first, io), peer).await;
                drop(connection);
                if let (Some(io), Ok(_slot)) = (unread, relay.rejections.try_acquire()) {
                    io.close().await;
                }
                return;
            }
            Dispatch::Refuse { response, request_framing, response_framing } => {
                let request = RequestRelay::new(Vec::new(), request_framing, false, 0, &mut client);
                respond_locally(&mut client, request, &response, response_framing).await
            }
            Dispatch::Reject { response, headless } => {
                drop(connection);
                return reject(&relay, client, &response.to_bytes(true, headless)).await;
            }
            Dispatch::Relay(outgoing) => relay_one(&relay, &mut client, &mut idle, outgoing).await,
        };
        match state {
            Ok(ConnectionState::KeepAlive) => {}
            Ok(ConnectionState::Close) => return client.close().await,
            Ok(ConnectionState::Upgraded(mut upstream, early)) => {
                let (io, ahead) = client.into_parts();
                let mut io = PrefixedIo::new(ahead, io);
                if tokio::io::AsyncWriteExt::write_all(&mut io, &early).await.is_ok() {
                    let _ = tokio::io::copy_bidirectional(&mut io, &mut upstream).await;
                }
                return;
            }
            Err(ClientDisconnected) => return,
        }
    }
}

/// Answers a connection beyond the limit.
pub(crate) async fn refuse_connection(relay: Arc<Relay>, io: TcpStream) {
    let client = ClientConn::new(Socket::Plain(io), relay.buffers.clone());
    reject(&relay, client, &messages::too_many_connections().to_bytes(true, false)).await;
}

/// Answers a client without reading what it sends, and closes the connection. The connection does not count towards the
/// limit any more; only some of these clients get the time to read the answer.
async fn reject(relay: &Relay, mut client: ClientConn, response: &[u8]) {
    if let Ok(_slot) = relay.rejections.try_acquire()
        && client.send(response).await.is_ok()
    {
        client.close().await;
    }
}

/// Reads the next head and dispatches it.
async fn next_dispatch(
    relay: &Relay,
    peer: PeerUser,
    client: &mut ClientConn,
    idle: &mut IdleTimeout,
) -> Result<Dispatch, ClientDisconnected> {
    if client.buffered().is_empty() {
        idle.reset(KEEP_ALIVE_TIMEOUT);
        let read = |cx: &mut Context<'_>| match client.poll_fill_buffer(cx) {
            Poll::Pending => idle.poll_expired(cx, 0).map(|()| Err(ClientDisconnected)),
            read => read,
        };
        poll_fn(read).await?;
    }
    if let Some(dispatch) = dispatch_next(relay, peer, client) {
        return Ok(dispatch);
    }
    let rest = async {
        loop {
            poll_fn(|cx| client.poll_fill_buffer(cx)).await?;
            if let Some(dispatch) = dispatch_next(relay, peer, client) {
                return Ok(dispatch);
            }
        }
    };
    tokio::time::timeout(HEAD_READ_TIMEOUT, rest).await.map_err(|_| ClientDisconnected)?
}

async fn relay_one(
    relay: &Relay,
    client: &mut ClientConn,
    idle: &mut IdleTimeout,
    outgoing: OutgoingRequest,
) -> Result<ConnectionState, ClientDisconnected> {
    let OutgoingRequest { upstream, head, framing, expects_continue, response_framing, mut inspection } = outgoing;
    let mut request = RequestRelay::new(head, framing, expects_continue, relay.max_inspected, client);
    if inspection.is_some() {
        relay.inspector.wait_for_capacity().await;
    }
    let result = loop {
        if let Some(inspection) = &mut inspection
            && inspection.must_wait(request.decoded_body().as_deref())
        {
            match admit(relay, client, &mut request, inspection).await? {
                Admission::Go => {}
                Admission::Refuse(response) => {
                    return respond_locally(client, request, &response, response_framing).await;
                }
            }
        }
        let acquired = tokio::select! {
            biased;
            acquired = upstream.acquire(false) => acquired,
            gone = poll_fn(|cx| client.poll_disconnected(cx)) => return Err(gone),
        };
        let (conn, reused) = match acquired {
            Ok(acquired) => acquired,
            Err(error) => break Err(ExchangeError::Upstream(error, Box::new(request))),
        };
        let mut exchange = Exchange::new(client, idle, &upstream, conn, request, inspection, response_framing);
        let ended = exchange.run(reused).await;
        match exchange.finish(ended) {
            Err(ExchangeError::Held(held, held_inspection)) => (request, inspection) = (*held, Some(*held_inspection)),
            result => break result,
        }
    };
    match result {
        Ok(state) => Ok(state),
        Err(ExchangeError::ClientGone | ExchangeError::Held(..)) => Err(ClientDisconnected),
        Err(ExchangeError::Interrupted(error)) => {
            tracing::warn!(upstream = upstream.name, code = error.code(), "the response was interrupted: {error}");
            Err(ClientDisconnected)
        }
        Err(ExchangeError::Upstream(error, request)) => {
            tracing::warn!(upstream = upstream.name, code = error.code(), "{error}");
            let response = messages::upstream_error(&upstream.base.url(), &error);
            respond_locally(client, *request, &response, response_framing).await
        }
        Err(ExchangeError::BadBody(error)) => {
            let response = messages::bad_request(400, &error);
            client.send(&response.to_bytes(true, response_framing.headless)).await?;
            Ok(ConnectionState::Close)
        }
    }
}

/// Responds in the upstream's place, once the request has been read: many clients do not read while they still send.
async fn respond_locally(
    client: &mut ClientConn,
    mut request: RequestRelay,
    response: &LocalResponse,
    framing: ResponseFraming,
) -> Result<ConnectionState, ClientDisconnected> {
    // Without `100 Continue` the body may never come.
    let refused_early = request.awaits_continue() && client.buffered().is_empty();
    let drain = tokio::time::timeout(HEAD_READ_TIMEOUT, poll_fn(|cx| request.poll_drain(cx, client)));
    let drained = refused_early || matches!(drain.await, Ok(Ok(())));
    let close = framing.closing || refused_early || !drained;
    client.send(&response.to_bytes(close, framing.headless)).await?;
    Ok(if close { ConnectionState::Close } else { ConnectionState::KeepAlive })
}
