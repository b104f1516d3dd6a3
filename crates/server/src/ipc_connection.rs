//! One connection: lines in, lines out.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use belay_ipc::lines::SHRINK_ABOVE_BYTES;
use belay_ipc::{ErrorBody, ErrorCode, Line, LineReader, MAX_LINE_BYTES};

use crate::ops::{self, AfterReply};
use crate::state::DaemonState;

/// A caller that does not read its answers is left alone after this.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves until the other side hangs up or we leave.
pub(crate) fn serve_connection(mut stream: UnixStream, shared: &DaemonState) {
    if let Err(error) = stream.set_write_timeout(Some(WRITE_TIMEOUT)) {
        tracing::warn!(%error, "a connection cannot be bounded in time");
        return;
    }
    let mut lines = LineReader::new(MAX_LINE_BYTES);
    let mut out = Vec::new();
    loop {
        let next = match lines.next(&mut stream) {
            Ok(Some(Line::Complete(line))) => {
                shared.lifecycle.mark_active();
                ops::handle_line(shared, line, &mut out)
            }
            Ok(Some(Line::TooLong)) => {
                let message = format!("a line may be {MAX_LINE_BYTES} bytes long; this one was longer");
                ops::write_error(
                    &mut out,
                    None,
                    &ErrorBody::new(ErrorCode::TooLong, message).hint("send fewer events at once"),
                );
                AfterReply::Line
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "a connection broke");
                return;
            }
        };
        if let Err(error) = stream.write_all(&out) {
            tracing::debug!(%error, "an answer could not be delivered");
            return;
        }
        out.clear();
        out.shrink_to(SHRINK_ABOVE_BYTES);
        match next {
            AfterReply::Line => {}
            AfterReply::Stop => shared.lifecycle.shutdown.set("asked to"),
            AfterReply::Follow(what) => {
                ops::stream_events(shared, &mut stream, &what);
                return;
            }
        }
    }
}
