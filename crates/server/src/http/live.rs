//! `GET /api/v1/live`: server-sent events about changed sessions.
//!
//! The id of an event is its position in the log. A client that reconnects sends it as `Last-Event-ID` (or starts with
//! `?after=`) and gets what it missed, or `reload` if that is too much.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use belay_ipc::{ErrorBody, ErrorCode};
use hyper::body::Frame;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use super::api::{ApiQuery, parse_query};
use super::blocking;
use super::error::ApiError;
use crate::follower::newest_position;
use crate::live::{self, LiveBatch, LiveSubscription};
use crate::state::DaemonState;

/// Proxies and browsers drop connections that are silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Batches that may wait for a slow client.
const MAX_BUFFERED: usize = 16;

/// How long a client may take to accept a batch. A sleeping laptop does not.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LiveQuery {
    /// Position in the log that the page shows.
    after: Option<u64>,
    /// Only this session: `agent:native-id`.
    session: Option<String>,
}

pub(super) async fn live(
    State(daemon): State<Arc<DaemonState>>,
    headers: HeaderMap,
    query: ApiQuery<LiveQuery>,
) -> Result<Response, ApiError> {
    let query = parse_query(query)?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let state = Arc::clone(&daemon);
    let Some(subscription) = blocking(&daemon, move |_| Ok(live::subscribe(&state))).await? else {
        return Err(ErrorBody::new(ErrorCode::Busy, "too many live streams are open").hint("close other tabs").into());
    };
    // Subscribed first, so that nothing is missed between the replay and the first notice.
    let after = last.or(query.after);
    let missed = match after {
        Some(after) => blocking(&daemon, move |daemon| Ok(live::replay(&*daemon.readers.get()?, after)?)).await?,
        None => Some(LiveBatch::default()),
    };
    let newest = blocking(&daemon, |daemon| Ok(newest_position(&*daemon.readers.get()?)?)).await?;
    // What was committed since the replay comes with the first batch.
    let position = after.filter(|_| missed.is_some()).map_or(newest, |after| after.min(newest));
    let (sender, receiver) = mpsc::channel(MAX_BUFFERED);
    let start = StreamStart { missed, position, session: query.session };
    tokio::spawn(async move {
        // An error means that the client is gone or too slow.
        let _ = feed(&daemon, subscription, start, &sender).await;
    });
    let body = Body::new(LiveBody(receiver));
    Ok(([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")], body).into_response())
}

struct StreamStart {
    /// `None`: too much was missed.
    missed: Option<LiveBatch>,
    position: u64,
    session: Option<String>,
}

struct Gone;

async fn feed(
    daemon: &DaemonState,
    mut subscription: LiveSubscription,
    start: StreamStart,
    client: &mpsc::Sender<Bytes>,
) -> Result<(), Gone> {
    let Some(missed) = start.missed else { return send(client, control("reload", start.position)).await };
    let session = start.session.as_deref();
    let mut position = missed.position().unwrap_or(start.position);
    // Not the position after the replay: a client that loses the connection here has not got it.
    send(client, control("ready", start.position)).await?;
    send(client, missed.text(0, session)).await?;
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    heartbeat.reset();
    loop {
        let next = tokio::select! {
            next = subscription.batches.recv() => next,
            _ = heartbeat.tick() => {
                send(client, Bytes::from_static(b":\n\n")).await?;
                continue;
            }
            () = client.closed() => return Ok(()),
            () = daemon.lifecycle.shutdown.wait() => return send(client, control("stopped", position)).await,
        };
        match next {
            Ok(batch) => {
                // Without what was part of the replay.
                send(client, batch.text(position, session)).await?;
                position = batch.position().unwrap_or(0).max(position);
            }
            Err(RecvError::Lagged(_)) => return send(client, control("reload", position)).await,
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}

async fn send(client: &mpsc::Sender<Bytes>, events: Bytes) -> Result<(), Gone> {
    if events.is_empty() {
        return Ok(());
    }
    match tokio::time::timeout(SEND_TIMEOUT, client.send(events)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Gone),
    }
}

/// `ready` with the position, `reload`, or `stopped`.
fn control(name: &str, position: u64) -> Bytes {
    format!("id: {position}\nevent: {name}\ndata: {position}\n\n").into()
}

/// A response body that a task feeds.
struct LiveBody(mpsc::Receiver<Bytes>);

impl hyper::body::Body for LiveBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
