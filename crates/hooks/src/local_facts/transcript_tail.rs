//! Reads the new lines of an agent's session file: token usage, exit codes and usage limits.
//!
//! Each call continues at the last offset and reads a bounded number of complete lines. How much each call reads does
//! not affect the result: every fact carries the agent's own id and counts once.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use belay_agents::hook::{HookPoint, HookProtocol, ParsedHook, Unreported};
use belay_agents::transcript::{self, TranscriptEventBuilder};
use belay_core::event::{Body, Event, Source};
use belay_core::{Digest, SessionKey};
use belay_fs::Links;

/// Maximum number of bytes read per hook call.
const MAX_READ_BYTES: u64 = 1024 * 1024;

/// How much of the end of an unknown file is read: more at the end of a turn.
const INITIAL_TAIL_BYTES: u64 = 64 * 1024;
const INITIAL_TAIL_BYTES_AT_TURN_END: u64 = MAX_READ_BYTES;

/// Maximum number of tracked files.
const MAX_TRACKED_FILES: usize = 128;

/// The new facts in a file.
#[derive(Debug, Default)]
pub(super) struct TailUpdate {
    pub(super) events: Vec<Event>,
    /// Exit codes of commands by call id.
    pub(super) exit_codes: Vec<(String, i32)>,
}

/// The read position in each session's file.
#[derive(Debug, Default)]
pub(super) struct TranscriptTails(Mutex<HashMap<Digest, TailPosition>>);

struct TailPosition {
    /// Empty until the agent reports the path.
    path: PathBuf,
    offset: u64,
    /// The position is inside a line, whose rest is skipped.
    amid: bool,
    reader: Option<Box<dyn transcript::LineParser + Send>>,
}

impl std::fmt::Debug for TailPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tail").field("path", &self.path).field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl TranscriptTails {
    /// Starts a session: a new file is read from the start, a resumed one from its end.
    pub(super) fn begin(&self, parsed: &ParsedHook, new: bool) {
        let Some(session) = &parsed.session else { return };
        let path = parsed.transcript.as_deref().map(PathBuf::from).unwrap_or_default();
        let end = std::fs::metadata(&path).map_or(0, |found| found.len());
        self.keep(session, TailPosition { path, offset: if new { 0 } else { end }, amid: false, reader: None });
    }

    /// Reads the lines added since the last call.
    pub(super) fn read(&self, protocol: &dyn HookProtocol, parsed: &ParsedHook, links: Links) -> TailUpdate {
        let (Some(session), Some(path), Some(format)) = (&parsed.session, &parsed.transcript, protocol.transcript())
        else {
            return TailUpdate::default();
        };
        let path = Path::new(path);
        let Ok(end) = std::fs::metadata(path).map(|found| found.len()) else { return TailUpdate::default() };
        let known = self.take(session).filter(|tail| tail.path == path || tail.path.as_os_str().is_empty());
        let mut tail = known.filter(|tail| tail.offset <= end).unwrap_or_else(|| {
            let turn = matches!(parsed.point, HookPoint::TurnEnd | HookPoint::SessionEnd);
            let offset = end.saturating_sub(if turn { INITIAL_TAIL_BYTES_AT_TURN_END } else { INITIAL_TAIL_BYTES });
            TailPosition { path: PathBuf::new(), offset, amid: offset > 0, reader: None }
        });
        tail.path = path.to_owned();
        let piece = if tail.offset < end { piece(path, tail.offset, links).unwrap_or_default() } else { Vec::new() };
        let whole = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut told = TailUpdate::default();
        if whole == 0 && piece.len() as u64 == MAX_READ_BYTES {
            // A line longer than the read limit is skipped.
            tail.offset += MAX_READ_BYTES;
            tail.amid = true;
        } else if let Some(mut reader) = tail.reader.take().or_else(|| format.line_parser(path)) {
            let mut sink = |mut event: Event| {
                if is_news(&event.body) && event.session == *session {
                    let is_response = matches!(event.body, Body::ModelAnswered(_) | Body::Learned(_));
                    if is_response && !protocol.has_api_response_ids() {
                        // Without a common id, it is matched with the proxy's report like a response that a hook reports.
                        event.source = Source::Hook;
                    }
                    told.events.push(event);
                }
            };
            let mut builder = TranscriptEventBuilder::new(session.clone(), &mut sink);
            let mut signs = Vec::new();
            for line in piece[..whole].split_inclusive(|byte| *byte == b'\n') {
                let place = tail.offset;
                tail.offset += line.len() as u64;
                if std::mem::take(&mut tail.amid) {
                    continue;
                }
                let line = String::from_utf8_lossy(line.trim_ascii());
                if line.is_empty() {
                    continue;
                }
                told.exit_codes.extend(protocol.exit_code(&line));
                signs.extend(protocol.unreported(&line).map(|Unreported { at, body }| {
                    let id = format!("at-{place}.turn");
                    Event::new(id, session.clone(), Source::Transcript, at, body)
                }));
                builder.start_record(format_args!("at-{place}"));
                // Damaged and unknown lines are reported by the audit.
                let _ = reader.line(&line, &mut builder);
            }
            let is_complete = match parsed.point {
                HookPoint::SessionEnd => true,
                // A response that is reported without its text would not be completed later.
                HookPoint::TurnEnd => !protocol.writes_file_late(),
                _ => false,
            };
            if is_complete {
                reader.end(&mut builder);
            }
            told.events.extend(signs);
            tail.reader = Some(reader);
        }
        if parsed.point != HookPoint::SessionEnd {
            self.keep(session, tail);
        }
        told
    }

    fn take(&self, session: &SessionKey) -> Option<TailPosition> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&name(session))
    }

    fn keep(&self, session: &SessionKey, tail: TailPosition) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_TRACKED_FILES
            && let Some(any) = kept.keys().next().copied()
        {
            kept.remove(&any);
        }
        kept.insert(name(session), tail);
    }
}

fn name(session: &SessionKey) -> Digest {
    Digest::of_parts([session.agent.as_bytes(), session.id.as_bytes()])
}

fn piece(path: &Path, offset: u64, links: Links) -> std::io::Result<Vec<u8>> {
    let mut file = belay_fs::open_regular(path, links)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether hooks do not report this event themselves.
fn is_news(body: &Body) -> bool {
    match body {
        Body::ModelAnswered(answer) => answer.response.is_some(),
        Body::Learned(fact) => fact.response.is_some(),
        Body::LimitHit(_) => true,
        _ => false,
    }
}
