//! One connection: lines in, lines out.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::lines::{Line, Lines, SMALL};
use crate::ops::{self, Next};
use crate::protocol::{Code, MAX_LINE, Refusal};
use crate::resident::Shared;

/// A caller that does not read its answers is left alone after this.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

/// Serves until the other side hangs up or we leave.
pub(crate) fn serve(mut stream: UnixStream, shared: &Shared) {
    if let Err(error) = stream.set_write_timeout(Some(WRITE_PATIENCE)) {
        tracing::warn!(%error, "a connection cannot be bounded in time");
        return;
    }
    let mut lines = Lines::new(MAX_LINE);
    let mut out = Vec::new();
    loop {
        let next = match lines.next(&mut stream) {
            Ok(Some(Line::Whole(line))) => {
                shared.touch();
                ops::answer(shared, line, &mut out)
            }
            Ok(Some(Line::TooLong)) => {
                let message = format!("a line may be {MAX_LINE} bytes long; this one was longer");
                ops::refuse(&mut out, None, &Refusal::new(Code::TooLong, message).hint("send fewer events at once"));
                Next::Line
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
        out.shrink_to(SMALL);
        match next {
            Next::Line => {}
            Next::Stop => shared.stop.set("asked to"),
            Next::Follow(what) => {
                ops::follow(shared, &mut stream, &what);
                return;
            }
        }
    }
}
