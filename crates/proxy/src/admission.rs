//! A request of a session that is held back.
//!
//! The request is kept open for a while: a person who is told at once can let it go, and the agent
//! never learns that anything happened. After that it is refused, in the one way its agent takes
//! as final.

use std::future::poll_fn;
use std::time::Duration;

use belay_core::{Timestamp, Verdict};
use tokio::time::{Instant, sleep_until, timeout};

use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::exchange::RequestRelay;
use crate::inspect::{ExchangeInspection, now};
use crate::local_response::LocalResponse;
use crate::messages;
use crate::relay::Relay;

/// How long a client may take over the body of a request that is held.
const BODY_READ_TIMEOUT: Duration = Duration::from_secs(600);

/// What becomes of the request.
#[derive(Debug)]
pub(crate) enum Admission {
    Go,
    Refuse(LocalResponse),
}

/// Asks whether a request may go, and waits for a person where that can help.
pub(crate) async fn admit(
    relay: &Relay,
    client: &mut ClientConn,
    upload: &mut RequestRelay,
    turn: &mut ExchangeInspection,
) -> Result<Admission, ClientDisconnected> {
    // One that is too large to keep waits where it is: whose it is the head has to tell.
    if upload.is_fully_buffered() && upload.awaits_continue() {
        // Whose request it is may stand in the body. The upstream's own go-ahead will be one too many,
        // and that is allowed.
        client.send(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let collect = timeout(BODY_READ_TIMEOUT, poll_fn(|cx| upload.poll_collect(cx, client)));
    if !matches!(collect.await, Ok(Ok(()))) {
        return Err(ClientDisconnected);
    }
    let mut asked = Instant::now();
    let deadline = asked + relay.hold;
    let mut question = turn.request_verdict(upload.decoded_body().as_deref());
    loop {
        let verdict = match question {
            Some(question) => question.await.unwrap_or_else(|_| turn.fallback_verdict()),
            // The request is nobody's: then nobody holds it either.
            None => Verdict::Go,
        };
        let (waits, until) = match &verdict {
            Verdict::Go | Verdict::Nudge { .. } => {
                if let Verdict::Nudge { finding, message } = &verdict
                    && relay.nudge
                    && let Some(body) =
                        upload.decoded_body().and_then(|body| turn.with_nudge(&body, &messages::nudge_text(message)))
                    && upload.replace_body(&body, &relay.buffers)
                {
                    turn.record_nudge_delivery(finding);
                }
                return Ok(if upload.restart() {
                    turn.grant();
                    Admission::Go
                } else {
                    Admission::Refuse(messages::request_too_large_to_hold())
                });
            }
            Verdict::Hold { until, .. } => (!turn.is_loop_watchdog_client() && turn.may_hold_open(), *until),
            Verdict::Stop { .. } => (false, None),
        };
        if !waits || asked >= deadline {
            turn.record_refusal();
            let status = turn.loop_watchdog_status().await;
            return Ok(Admission::Refuse(messages::held_response(turn, &verdict, &status)));
        }
        wait(client, turn, lifts(until).map_or(deadline, |lifts| lifts.min(deadline))).await?;
        // Also when the time is up: a person may have changed what the session waits for.
        asked = Instant::now();
        question = turn.request_verdict_again();
    }
}

/// When a cooldown that lasts will be over.
fn lifts(until: Option<Timestamp>) -> Option<Instant> {
    // A moment more: its last millisecond still counts. And if the clock of whoever judges is late, it is asked at leisure.
    let left = match until?.saturating_since(now()) {
        Duration::ZERO => Duration::from_secs(1),
        left => left + Duration::from_millis(1),
    };
    Some(Instant::now() + left)
}

/// Waits until the session is no longer held, is stopped for good, or the time is up.
async fn wait(client: &mut ClientConn, turn: &mut ExchangeInspection, up: Instant) -> Result<(), ClientDisconnected> {
    loop {
        let changed = turn.hold_state_changed();
        if !turn.must_wait(None) || turn.is_killed() {
            return Ok(());
        }
        tokio::select! {
            () = changed => {}
            () = sleep_until(up) => return Ok(()),
            gone = poll_fn(|cx| client.poll_disconnected(cx)) => return Err(gone),
        }
    }
}
