//! `GET /api/v1/live`: server-sent events about changed sessions.
//!
//! The id of an event is its position in the log. A client that reconnects sends it as `Last-Event-ID` (or starts with
//! `?after=`) and gets what it missed, or `reload` if that is too much.

use std::fmt::Write as _;
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
use crate::live::{self, LiveNotice, LiveSubscription};
use crate::state::DaemonState;

/// Proxies and browsers drop connections that are silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Events that may wait for a slow client.
const MAX_BUFFERED: usize = 16;

/// How long a client may take to accept an event. A sleeping laptop does not.
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
    State(shared): State<Arc<DaemonState>>,
    headers: HeaderMap,
    query: ApiQuery<LiveQuery>,
) -> Result<Response, ApiError> {
    let query = parse_query(query)?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let Some(subscription) = live::subscribe(&shared) else {
        return Err(ErrorBody::new(ErrorCode::Busy, "too many live streams are open").hint("close other tabs").into());
    };
    // Subscribed first, so that nothing is missed between the replay and the first notice.
    let missed = match last.or(query.after) {
        Some(after) => blocking(&shared, move |shared| Ok(live::replay(&*shared.readers.get()?, after)?)).await?,
        None => Some(Vec::new()),
    };
    let position = blocking(&shared, |shared| Ok(live::newest_position(&*shared.readers.get()?)?)).await?;
    let (sender, receiver) = mpsc::channel(MAX_BUFFERED);
    let start = StreamStart { missed, position, session: query.session };
    tokio::spawn(async move {
        // An error means that the client is gone or too slow.
        let _ = feed(&shared, subscription, start, &sender).await;
    });
    let body = Body::new(LiveBody(receiver));
    Ok(([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")], body).into_response())
}

struct StreamStart {
    /// `None`: too much was missed.
    missed: Option<Vec<LiveNotice>>,
    position: u64,
    session: Option<String>,
}

struct Gone;

async fn feed(
    shared: &DaemonState,
    mut subscription: LiveSubscription,
    start: StreamStart,
    client: &mpsc::Sender<Bytes>,
) -> Result<(), Gone> {
    let Some(missed) = start.missed else { return send(client, control("reload", start.position)).await };
    let mut position = missed.last().map_or(start.position, |notice| notice.position);
    let wanted = |notice: &LiveNotice| start.session.as_ref().is_none_or(|session| *session == notice.session);
    send(client, control("ready", position)).await?;
    for notice in missed.iter().filter(|notice| wanted(notice)) {
        send(client, change(notice)).await?;
    }
    loop {
        let next = tokio::select! {
            next = subscription.notices.recv() => next,
            () = tokio::time::sleep(HEARTBEAT) => {
                send(client, Bytes::from_static(b":\n\n")).await?;
                continue;
            }
            () = client.closed() => return Ok(()),
            () = shared.lifecycle.shutdown.wait() => return send(client, control("stopped", position)).await,
        };
        match next {
            Ok(notice) if notice.position == 0 => {
                if wanted(&notice) {
                    send(client, change(&notice)).await?;
                }
            }
            // Part of the replay.
            Ok(notice) if notice.position <= position => {}
            Ok(notice) => {
                position = notice.position;
                if wanted(&notice) {
                    send(client, change(&notice)).await?;
                }
            }
            Err(RecvError::Lagged(_)) => return send(client, control("reload", position)).await,
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}

async fn send(client: &mpsc::Sender<Bytes>, event: Bytes) -> Result<(), Gone> {
    match tokio::time::timeout(SEND_TIMEOUT, client.send(event)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Gone),
    }
}

/// `ready` with the position, `reload`, or `stopped`.
fn control(name: &str, position: u64) -> Bytes {
    format!("id: {position}\nevent: {name}\ndata: {position}\n\n").into()
}

fn change(notice: &LiveNotice) -> Bytes {
    let mut text = match notice.position {
        0 => String::new(),
        position => format!("id: {position}\n"),
    };
    text.push_str("event: change\ndata: ");
    // JSON has no line breaks.
    let _ = write!(text, "{}\n\n", serde_json::to_string(notice).unwrap_or_default());
    text.into()
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
