//! Splitting a file into lines in bounded memory.
//!
//! Lines live in one buffer that grows to the longest line met, never beyond [`MAX_LINE`]; what is
//! longer is passed over without being held. Buffers above [`LARGE`] are rare and taken in turns,
//! so that many readers side by side stay within what one of them may use.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{LineError, LineParser, ReadError, ReadStats, TranscriptEventBuilder};

/// Longest line that is looked at.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// What a reader holds without asking.
const LARGE_BUFFER_BYTES: usize = 1024 * 1024;

/// Read at once.
const CHUNK: usize = 256 * 1024;

static LARGE_BUFFER_LOCK: Mutex<()> = Mutex::new(());

/// Reads a file line by line through a dialect.
pub fn read_lines(
    path: &Path,
    dialect: &mut dyn LineParser,
    teller: &mut TranscriptEventBuilder<'_>,
) -> Result<ReadStats, ReadError> {
    let file = File::open(path).map_err(|source| ReadError::io(path, source))?;
    split(file, dialect, teller).map_err(|source| ReadError::io(path, source))
}

/// As [`read_lines`], from anything that can be read.
pub(super) fn split(
    mut input: impl Read,
    dialect: &mut dyn LineParser,
    teller: &mut TranscriptEventBuilder<'_>,
) -> std::io::Result<ReadStats> {
    let mut tally = ReadStats::default();
    let mut buffer = vec![0; CHUNK];
    let mut held = 0;
    let mut scanned = 0;
    let mut skipping = false;
    let mut turn: Option<MutexGuard<'static, ()>> = None;
    loop {
        if held == buffer.len() {
            // A line longer than the buffer.
            if buffer.len() >= MAX_LINE {
                skipping = true;
                held = 0;
                scanned = 0;
            } else {
                let size = (buffer.len() * 2).min(MAX_LINE);
                if size > LARGE_BUFFER_BYTES && turn.is_none() {
                    turn = Some(LARGE_BUFFER_LOCK.lock().unwrap_or_else(PoisonError::into_inner));
                }
                buffer.resize(size, 0);
            }
        }
        let read = match input.read(&mut buffer[held..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        tally.bytes += read as u64;
        teller.progress(read as u64);
        let filled = held + read;
        let mut start = 0;
        while let Some(found) = memchr::memchr(b'\n', &buffer[scanned..filled]) {
            let end = scanned + found;
            if skipping {
                skipping = false;
                tally.lines += 1;
                tally.record_error(LineError::TooLong);
            } else {
                process_line(&buffer[start..end], dialect, teller, &mut tally);
            }
            start = end + 1;
            scanned = start;
        }
        if skipping {
            held = 0;
        } else {
            buffer.copy_within(start..filled, 0);
            held = filled - start;
        }
        scanned = held;
        if turn.is_some() && held < CHUNK {
            buffer.truncate(CHUNK);
            buffer.shrink_to_fit();
            turn = None;
        }
    }
    if skipping {
        tally.lines += 1;
        tally.record_error(LineError::TooLong);
    } else if held > 0 {
        process_line(&buffer[..held], dialect, teller, &mut tally);
    }
    dialect.end(teller);
    Ok(tally)
}

pub(super) fn process_line(
    line: &[u8],
    dialect: &mut dyn LineParser,
    teller: &mut TranscriptEventBuilder<'_>,
    tally: &mut ReadStats,
) {
    let line = match line {
        [b'\xef', b'\xbb', b'\xbf', rest @ ..] if tally.lines == 0 => rest,
        line => line,
    };
    let line = line.trim_ascii();
    tally.lines += 1;
    if line.is_empty() {
        return;
    }
    // Agents cut texts in the middle of a character now and then; the rest of such a line is fine.
    let text = match simdutf8::basic::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(line),
    };
    let damaged = matches!(text, Cow::Owned(_));
    teller.start_record(format_args!("line-{}", tally.lines));
    match dialect.line(&text, teller) {
        Ok(()) => {}
        Err(LineError::Malformed) if damaged || memchr::memchr(0, line).is_some() => {
            tally.record_error(LineError::Binary)
        }
        Err(flaw) => tally.record_error(flaw),
    }
}
