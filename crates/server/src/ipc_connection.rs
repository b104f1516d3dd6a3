//! One connection to the socket: request lines in, response lines out.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use belay_ipc::lines::SHRINK_ABOVE_BYTES;
use belay_ipc::{ErrorBody, ErrorCode, Line, LineReader, MAX_LINE_BYTES};

use crate::ops::{self, AfterReply};
use crate::request_memory::MeteredStream;
use crate::state::DaemonState;
use crate::tickets;

/// A client that does not read its responses is disconnected after this.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves requests until the client disconnects or the process shuts down.
pub(crate) fn serve_connection(stream: UnixStream, daemon: &Arc<DaemonState>) {
    if let Err(error) = stream.set_write_timeout(Some(WRITE_TIMEOUT)) {
        tracing::warn!(%error, "cannot set a write timeout");
        return;
    }
    let peer = belay_ipc::same_user::peer_pid(&stream);
    let mut stream = MeteredStream::new(stream, daemon);
    let mut lines = LineReader::new(MAX_LINE_BYTES);
    let mut out = Vec::new();
    loop {
        let next = match lines.next(&mut stream) {
            Ok(Some(Line::Complete(line))) => {
                daemon.lifecycle.mark_active();
                ops::handle_line(daemon, peer, line, &mut out)
            }
            Ok(Some(Line::TooLong)) => {
                let message = format!("the line is longer than {MAX_LINE_BYTES} bytes");
                ops::write_error(
                    &mut out,
                    None,
                    &ErrorBody::new(ErrorCode::TooLong, message).hint("send fewer events per request"),
                );
                AfterReply::Line
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "connection failed");
                return;
            }
        };
        if let AfterReply::AwaitAnswer(id) = next {
            return tickets::respond_when_answered(daemon, stream.into_inner(), id);
        }
        if let Err(error) = stream.get_mut().write_all(&out) {
            tracing::debug!(%error, "response not delivered");
            return;
        }
        out.clear();
        out.shrink_to(SHRINK_ABOVE_BYTES);
        lines.shrink();
        if let Err(error) = stream.end_request() {
            tracing::debug!(%error, "connection failed");
            return;
        }
        match next {
            AfterReply::Line | AfterReply::AwaitAnswer(_) => {}
            AfterReply::Stop => daemon.lifecycle.shutdown.set("stop requested"),
            AfterReply::Follow(what) => {
                ops::stream_events(daemon, stream.get_mut(), &what);
                return;
            }
        }
    }
}
