//! Splits a file into lines in bounded memory.
//!
//! The buffer grows to the longest line, at most [`MAX_LINE`]; longer lines are skipped without being buffered. A lock
//! limits buffers above [`LARGE_BUFFER_BYTES`] to one reader at a time, so that parallel readers stay within the memory
//! limit.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belay_fs::Links;

use super::{LineError, LineParser, ReadError, ReadStats, TranscriptEventBuilder};

/// Maximum length of a line; longer lines are skipped.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// Largest buffer that needs no lock.
const LARGE_BUFFER_BYTES: usize = 1024 * 1024;

/// Initial buffer size.
const CHUNK: usize = 256 * 1024;

static LARGE_BUFFER_LOCK: Mutex<()> = Mutex::new(());

/// Reads a file line by line.
pub fn read_lines(
    path: &Path,
    parser: &mut dyn LineParser,
    builder: &mut TranscriptEventBuilder<'_>,
) -> Result<ReadStats, ReadError> {
    let file = belay_fs::open_regular(path, Links::Follow).map_err(|source| ReadError::io(path, source))?;
    read_lines_from(file, parser, builder).map_err(|source| ReadError::io(path, source))
}

/// Like [`read_lines`], from any reader.
pub(super) fn read_lines_from(
    mut input: impl Read,
    parser: &mut dyn LineParser,
    builder: &mut TranscriptEventBuilder<'_>,
) -> std::io::Result<ReadStats> {
    let mut stats = ReadStats::default();
    let mut buffer = vec![0; CHUNK];
    let mut pending = 0;
    let mut scanned = 0;
    let mut skipping = false;
    let mut large_buffer_guard: Option<MutexGuard<'static, ()>> = None;
    loop {
        if pending == buffer.len() {
            // The line is longer than the buffer.
            if buffer.len() >= MAX_LINE {
                skipping = true;
                pending = 0;
                scanned = 0;
            } else {
                let size = (buffer.len() * 2).min(MAX_LINE);
                if size > LARGE_BUFFER_BYTES && large_buffer_guard.is_none() {
                    large_buffer_guard = Some(LARGE_BUFFER_LOCK.lock().unwrap_or_else(PoisonError::into_inner));
                }
                buffer.resize(size, 0);
            }
        }
        let read = match input.read(&mut buffer[pending..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        stats.bytes += read as u64;
        builder.progress(read as u64);
        let filled = pending + read;
        let mut start = 0;
        while let Some(found) = memchr::memchr(b'\n', &buffer[scanned..filled]) {
            let end = scanned + found;
            if skipping {
                skipping = false;
                stats.lines += 1;
                stats.record_error(LineError::TooLong);
            } else {
                process_line(&buffer[start..end], parser, builder, &mut stats);
            }
            start = end + 1;
            scanned = start;
        }
        if skipping {
            pending = 0;
        } else {
            buffer.copy_within(start..filled, 0);
            pending = filled - start;
        }
        scanned = pending;
        if large_buffer_guard.is_some() && pending < CHUNK {
            buffer.truncate(CHUNK);
            buffer.shrink_to_fit();
            large_buffer_guard = None;
        }
    }
    if skipping {
        stats.lines += 1;
        stats.record_error(LineError::TooLong);
    } else if pending > 0 {
        process_line(&buffer[..pending], parser, builder, &mut stats);
    }
    parser.end(builder);
    Ok(stats)
}

pub(super) fn process_line(
    line: &[u8],
    parser: &mut dyn LineParser,
    builder: &mut TranscriptEventBuilder<'_>,
    stats: &mut ReadStats,
) {
    let line = match line {
        [b'\xef', b'\xbb', b'\xbf', rest @ ..] if stats.lines == 0 => rest,
        line => line,
    };
    let line = line.trim_ascii();
    stats.lines += 1;
    if line.is_empty() {
        return;
    }
    // Agents sometimes truncate text inside a character; the rest of such a line is usable.
    let text = match simdutf8::basic::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(line),
    };
    let damaged = matches!(text, Cow::Owned(_));
    builder.start_record(format_args!("line-{}", stats.lines));
    match parser.line(&text, builder) {
        Ok(()) => {}
        Err(LineError::Malformed) if damaged || memchr::memchr(0, line).is_some() => {
            stats.record_error(LineError::Binary)
        }
        Err(error) => stats.record_error(error),
    }
}
