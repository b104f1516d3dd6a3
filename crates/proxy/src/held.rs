//! A request of a session that is held back.
//!
//! The request is kept open for a while: a person who is told at once can let it go, and the agent
//! never learns that anything happened. After that it is refused, in the one way its agent takes
//! as final.

use std::future::poll_fn;
use std::time::Duration;

use belay_core::{Time, Verdict};
use tokio::time::{Instant, sleep_until, timeout};

use crate::answer::Answer;
use crate::client::{Client, Gone};
use crate::exchange::Upload;
use crate::inspect::{Turn, now};
use crate::relay::Relay;
use crate::words;

/// How long a client may take over the body of a request that is held.
const COLLECT: Duration = Duration::from_secs(600);

/// What becomes of the request.
#[derive(Debug)]
pub(crate) enum Admission {
    Go,
    Answer(Answer),
}

/// Asks whether a request may go, and waits for a person where that can help.
pub(crate) async fn admit(
    relay: &Relay,
    client: &mut Client,
    upload: &mut Upload,
    turn: &mut Turn,
) -> Result<Admission, Gone> {
    // One that is too large to keep waits where it is: whose it is the head has to tell.
    if upload.is_whole() && upload.awaits_go_ahead() {
        // Whose request it is may stand in the body. The upstream's own go-ahead will be one too many,
        // and that is allowed.
        client.send(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let collect = timeout(COLLECT, poll_fn(|cx| upload.poll_collect(cx, client)));
    if !matches!(collect.await, Ok(Ok(()))) {
        return Err(Gone);
    }
    let mut asked = Instant::now();
    let deadline = asked + relay.hold;
    let mut question = turn.ask(upload.payload().as_deref());
    loop {
        let verdict = match question {
            Some(question) => question.await.unwrap_or_else(|_| turn.verdict_as_it_stands()),
            // The request is nobody's: then nobody holds it either.
            None => Verdict::Go,
        };
        let (waits, until) = match &verdict {
            Verdict::Go | Verdict::Nudge { .. } => {
                if let Verdict::Nudge { finding, message } = &verdict
                    && relay.nudge
                    && let Some(body) = upload.payload().and_then(|body| turn.with_note(&body, &words::note(message)))
                    && upload.replace(&body, &relay.buffers)
                {
                    turn.delivered(finding);
                }
                return Ok(if upload.rewind() {
                    turn.clear();
                    Admission::Go
                } else {
                    Admission::Answer(words::too_large_to_keep())
                });
            }
            Verdict::Hold { until, .. } => (!turn.is_legacy() && turn.may_wait(), *until),
            Verdict::Stop { .. } => (false, None),
        };
        if !waits || asked >= deadline {
            turn.refused();
            let status = turn.legacy_status().await;
            return Ok(Admission::Answer(words::held(turn, &verdict, &status)));
        }
        wait(client, turn, lifts(until).map_or(deadline, |lifts| lifts.min(deadline))).await?;
        // Also when the time is up: a person may have changed what the session waits for.
        asked = Instant::now();
        question = turn.ask_again();
    }
}

/// When a cooldown that lasts will be over.
fn lifts(until: Option<Time>) -> Option<Instant> {
    // A moment more: its last millisecond still counts. And if the clock of whoever judges is late, it is asked at leisure.
    let left = match until?.since(now()) {
        Duration::ZERO => Duration::from_secs(1),
        left => left + Duration::from_millis(1),
    };
    Some(Instant::now() + left)
}

/// Waits until the session is no longer held, is stopped for good, or the time is up.
async fn wait(client: &mut Client, turn: &mut Turn, up: Instant) -> Result<(), Gone> {
    loop {
        let changed = turn.changed();
        if !turn.is_held(None) || turn.is_stopped() {
            return Ok(());
        }
        tokio::select! {
            () = changed => {}
            () = sleep_until(up) => return Ok(()),
            gone = poll_fn(|cx| client.poll_gone(cx)) => return Err(gone),
        }
    }
}
