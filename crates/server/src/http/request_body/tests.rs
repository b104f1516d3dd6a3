use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use hyper::body::Frame;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::*;

/// A body that never ends, and counts how often it is read.
struct Endless(Arc<AtomicUsize>);

impl HttpBody for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Poll::Pending
    }
}

/// Sends a body to a service that returns it; the status of the response.
fn send(memory: &BodyMemory, length: Option<usize>, body: Body) -> impl Future<Output = StatusCode> + use<> {
    let echo = Router::new()
        .route("/", post(|body: Bytes| async move { body }))
        .layer(axum::middleware::from_fn_with_state(memory.clone(), read));
    let mut request = axum::http::Request::post("/");
    if let Some(length) = length {
        request = request.header(CONTENT_LENGTH, length);
    }
    let request = request.body(body).unwrap();
    async move { TowerToHyperService::new(echo).call(request).await.unwrap().status() }
}

fn free_bytes(memory: &BodyMemory) -> usize {
    memory.units.available_permits() * UNIT_BYTES
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_in_time_is_refused() {
    let memory = BodyMemory::with_charge(|_| Ok(None));
    let (began, read) = (tokio::time::Instant::now(), Arc::default());
    let status = send(&memory, Some(10), Body::new(Endless(Arc::clone(&read)))).await;
    assert_eq!((status, began.elapsed()), (StatusCode::REQUEST_TIMEOUT, READ_TIMEOUT));
    assert_eq!(free_bytes(&memory), MAX_TOTAL_BYTES, "its memory is free again");
    assert_eq!(send(&memory, Some(2), Body::from("{}")).await, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn all_bodies_share_a_fixed_amount_of_memory() {
    let memory = BodyMemory::with_charge(|_| Ok(None));
    let read = Arc::<AtomicUsize>::default();
    // A body of unknown length takes as much as the largest.
    let large: Vec<_> = (0..MAX_TOTAL_BYTES / MAX_BODY_BYTES)
        .map(|_| tokio::spawn(send(&memory, None, Body::new(Endless(Arc::clone(&read))))))
        .collect();
    while read.load(Ordering::Relaxed) < large.len() {
        tokio::task::yield_now().await;
    }
    assert_eq!(free_bytes(&memory), MAX_TOTAL_BYTES % MAX_BODY_BYTES);
    // The next one waits unread until the others have timed out; its own wait counts towards the same limit.
    let unread = Arc::<AtomicUsize>::default();
    let next = tokio::spawn(send(&memory, Some(MAX_BODY_BYTES), Body::new(Endless(Arc::clone(&unread)))));
    tokio::time::sleep(READ_TIMEOUT / 2).await;
    assert_eq!(unread.load(Ordering::Relaxed), 0);
    for request in large {
        assert_eq!(request.await.unwrap(), StatusCode::REQUEST_TIMEOUT);
    }
    assert_eq!(next.await.unwrap(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(free_bytes(&memory), MAX_TOTAL_BYTES);
}

#[tokio::test]
async fn bodies_count_towards_the_budget_of_the_relay() {
    let memory = BodyMemory::with_charge(|bytes| if bytes > 4 { Err(busy()) } else { Ok(None) });
    assert_eq!(send(&memory, Some(4), Body::from("body")).await, StatusCode::OK);
    assert_eq!(send(&memory, Some(5), Body::from("large")).await, busy().into_response().status());
    assert_eq!(free_bytes(&memory), MAX_TOTAL_BYTES);
}
