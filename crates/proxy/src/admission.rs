//! Requests of held sessions.
//!
//! The request stays open for a while: a person who is alerted can lift the hold, and the agent notices nothing but a
//! delay. After that it is refused in the form that its agent treats as final.

use std::future::poll_fn;
use std::time::Duration;

use belay_clock::now;
use belay_core::{Timestamp, Verdict};
use tokio::time::{Instant, sleep_until, timeout};

use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::exchange::RequestRelay;
use crate::inspect::ExchangeInspection;
use crate::local_response::LocalResponse;
use crate::messages;
use crate::relay::Relay;

/// How long a client may take to send the body of a held request.
const BODY_READ_TIMEOUT: Duration = Duration::from_secs(600);

/// Whether a request may reach its upstream.
#[derive(Debug)]
pub(crate) enum Admission {
    Go,
    Refuse(LocalResponse),
}

/// Asks for a verdict on a request, and waits for an operator if the session is held.
pub(crate) async fn admit(
    relay: &Relay,
    client: &mut ClientConn,
    request: &mut RequestRelay,
    inspection: &mut ExchangeInspection,
) -> Result<Admission, ClientDisconnected> {
    // A body that is too large to buffer stays unread; then only the head can name the session.
    if request.is_fully_buffered() && request.awaits_continue() {
        // The body may name the session. The upstream's own `100 Continue` will follow, which is allowed.
        client.send(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let collect = timeout(BODY_READ_TIMEOUT, poll_fn(|cx| request.poll_collect(cx, client)));
    if !matches!(collect.await, Ok(Ok(()))) {
        return Err(ClientDisconnected);
    }
    let mut asked_at = Instant::now();
    let deadline = asked_at + relay.hold;
    let mut pending = inspection.request_verdict(request.decoded_body().as_deref());
    loop {
        let verdict = match pending {
            Some(pending) => pending.await.unwrap_or_else(|_| inspection.fallback_verdict()),
            // A request without a session cannot be held.
            None => Verdict::Go,
        };
        let (waits, until) = match &verdict {
            Verdict::Go | Verdict::Nudge { .. } => {
                if let Verdict::Nudge { finding, message } = &verdict
                    && relay.nudge
                    && let Some(body) = request
                        .decoded_body()
                        .and_then(|body| inspection.with_nudge(&body, &messages::nudge_text(message)))
                    && request.replace_body(&body, &relay.buffers)
                {
                    inspection.record_nudge_delivery(finding);
                }
                return Ok(if request.restart() {
                    inspection.grant();
                    Admission::Go
                } else {
                    Admission::Refuse(messages::request_too_large_to_hold())
                });
            }
            Verdict::Hold { until, .. } => (inspection.may_hold_open(), *until),
            Verdict::Stop { .. } => (false, None),
        };
        if let Some(refusal) = inspection.supervisor_refusal(&verdict).await {
            inspection.record_refusal();
            return Ok(Admission::Refuse(refusal));
        }
        if !waits || asked_at >= deadline {
            inspection.record_refusal();
            return Ok(Admission::Refuse(messages::held_response(inspection, &verdict)));
        }
        wait(client, inspection, cooldown_end(until).map_or(deadline, |end| end.min(deadline))).await?;
        // Ask at the deadline as well: a person may have changed what the session waits for.
        asked_at = Instant::now();
        pending = inspection.request_verdict_again();
    }
}

/// When a cooldown ends.
fn cooldown_end(until: Option<Timestamp>) -> Option<Instant> {
    // The last millisecond still counts. If the supervisor's clock is late, ask once a second.
    let left = match until?.saturating_since(now()) {
        Duration::ZERO => Duration::from_secs(1),
        left => left + Duration::from_millis(1),
    };
    Some(Instant::now() + left)
}

/// Waits until the session is no longer held, is killed, or until the deadline.
async fn wait(
    client: &mut ClientConn,
    inspection: &mut ExchangeInspection,
    up: Instant,
) -> Result<(), ClientDisconnected> {
    loop {
        let changed = inspection.hold_state_changed();
        if !inspection.must_wait(None) || inspection.is_killed() {
            return Ok(());
        }
        tokio::select! {
            () = changed => {}
            () = sleep_until(up) => return Ok(()),
            gone = poll_fn(|cx| client.poll_disconnected(cx)) => return Err(gone),
        }
    }
}
