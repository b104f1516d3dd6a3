//! A request of a session that is held back.
//!
//! The request is kept open for a while: a person who is told at once can let it go, and the agent
//! never learns that anything happened. After that it is refused, in the one way its agent takes
//! as final.

use std::future::poll_fn;
use std::time::Duration;

use belay_core::Verdict;
use tokio::time::{Instant, sleep_until, timeout};

use crate::answer::Answer;
use crate::client::{Client, Gone};
use crate::exchange::Upload;
use crate::inspect::Turn;
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
    let deadline = Instant::now() + relay.hold;
    let mut question = turn.ask(upload.payload().as_deref());
    loop {
        // Whoever judges has gone or the request is nobody's: then nobody holds it either.
        let verdict = match question {
            Some(question) => question.await.unwrap_or_default(),
            None => Verdict::Go,
        };
        let waits = match &verdict {
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
            Verdict::Hold { .. } => !turn.is_legacy() && turn.may_wait(),
            Verdict::Stop { .. } => false,
        };
        if !waits || !wait(client, turn, deadline).await? {
            turn.refused();
            let status = turn.legacy_status().await;
            return Ok(Admission::Answer(words::held(turn, &verdict, &status)));
        }
        question = turn.ask_again();
    }
}

/// Waits until the session is no longer held, or is stopped for good. `false` when the time is up.
async fn wait(client: &mut Client, turn: &mut Turn, deadline: Instant) -> Result<bool, Gone> {
    loop {
        let changed = turn.changed();
        if !turn.is_held(None) || turn.is_stopped() {
            return Ok(true);
        }
        tokio::select! {
            () = changed => {}
            () = sleep_until(deadline) => return Ok(false),
            gone = poll_fn(|cx| client.poll_gone(cx)) => return Err(gone),
        }
    }
}
