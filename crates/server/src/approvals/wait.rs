//! A hook that waits for an answer: one task per connection, no thread.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use belay_core::Timestamp;
use belay_core::event::ApprovalEnding;
use belay_ipc::{AwaitAnswerResponse, Response, ResponseBody};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot::Receiver;

use crate::state::DaemonState;

/// Hands the connection of a hook over to a task that responds once the prompt `id` is answered, or not any more. A prompt
/// that has ended is answered at once.
pub(crate) fn answer_when_decided(shared: &Arc<DaemonState>, stream: UnixStream, id: String) {
    let waits = shared.approvals.registry.receiver(&id);
    if waits.is_some() {
        // From now on it can be answered: pages that were told about the prompt before show it without buttons.
        shared.live.tell("approval");
    }
    let state = Arc::clone(shared);
    shared.lifecycle.runtime.spawn(async move {
        if let Err(error) = wait_and_respond(&state, stream, &id, waits).await {
            tracing::debug!(%error, id, "an answer was not delivered");
        }
    });
}

async fn wait_and_respond(
    shared: &DaemonState,
    stream: UnixStream,
    id: &str,
    waits: Option<(Receiver<String>, Timestamp)>,
) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let mut stream = tokio::net::UnixStream::from_std(stream)?;
    let registry = &shared.approvals.registry;
    let stdout = match waits {
        None => String::new(),
        Some((answer, until)) => tokio::select! {
            answer = answer => answer.unwrap_or_default(),
            () = tokio::time::sleep(until.saturating_since(belay_clock::now())) => {
                registry.end(id, ApprovalEnding::TimedOut, belay_clock::now());
                String::new()
            }
            () = closed(&stream) => {
                registry.end(id, ApprovalEnding::Abandoned, belay_clock::now());
                return Ok(());
            }
        },
    };
    let reply = Response { id: None, body: ResponseBody::Ok(AwaitAnswerResponse { stdout }) };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// A hook that waits sends nothing, so anything readable means that it is gone.
async fn closed(stream: &tokio::net::UnixStream) {
    loop {
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read(&mut [0; 1]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => return,
        }
    }
}
