//! Incremental decoder of server-sent events.
//!
//! The decoder accepts a stream in arbitrary pieces and passes on each event when it is complete. An event that arrives in
//! one piece is not copied. The stream itself is never changed or delayed.

/// Maximum length of an event; longer ones are skipped.
pub const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Its `event` field; empty if missing.
    pub name: &'a [u8],
    /// Its `data`; several lines are joined by line feeds.
    pub data: &'a [u8],
}

/// Decodes one stream.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The start of an incomplete event.
    pending: Vec<u8>,
    /// Bytes of `pending` already searched for the end.
    searched: usize,
    /// The event is too long; skip to its end.
    skipping: bool,
    /// Whether the first event has been seen; only before it may a byte order mark occur.
    begun: bool,
    joined: Vec<u8>,
    /// Number of skipped events.
    skipped: u64,
}

impl SseDecoder {
    /// Consumes bytes and passes every complete event to `each`, until it returns `false`.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(SseEvent<'_>)) {
        if self.pending.is_empty() && !self.skipping {
            let mut rest = bytes;
            while let Some(end) = end_of_event(rest, 0) {
                show(first_or_later(&mut self.begun, &rest[..end]), &mut self.joined, &mut each);
                rest = &rest[end..];
            }
            bytes = rest;
        } else {
            self.pending.extend_from_slice(bytes);
            bytes = &[];
            let pending = std::mem::take(&mut self.pending);
            let mut rest = pending.as_slice();
            let mut from = self.searched;
            while let Some(end) = end_of_event(rest, from) {
                if self.skipping {
                    self.skipping = false;
                } else {
                    show(first_or_later(&mut self.begun, &rest[..end]), &mut self.joined, &mut each);
                }
                rest = &rest[end..];
                from = 0;
            }
            let kept = rest.len();
            self.pending = pending;
            self.pending.drain(..self.pending.len() - kept);
        }
        self.pending.extend_from_slice(bytes);
        // The last bytes may be the beginning of an empty line.
        self.searched = self.pending.len().saturating_sub(3);
        if self.pending.len() > MAX_EVENT_BYTES {
            self.skipped += u64::from(!self.skipping);
            self.skipping = true;
            self.pending.drain(..self.searched);
            self.searched = 0;
        }
        if self.pending.is_empty() && self.pending.capacity() > 64 * 1024 {
            self.pending = Vec::new();
        }
    }

    /// Number of events skipped because they were too long.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Buffered bytes of an incomplete event.
    pub fn buffered_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Whether the position is between two events, so that another one could be inserted.
    pub fn is_at_event_boundary(&self) -> bool {
        self.pending.is_empty() && !self.skipping
    }
}

/// The end of the first event, including its empty line. The search starts at `from`.
fn end_of_event(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let found = at + memchr::memchr2(b'\n', b'\r', bytes.get(at..)?)?;
        // After one line end: whether the next line is empty.
        let line_end = found + line_end_len(bytes, found)?;
        match line_end_len(bytes, line_end) {
            Some(len) if len > 0 => return Some(line_end + len),
            Some(_) => at = line_end,
            None => return None,
        }
    }
}

/// The length of the line end at `at`: 0 if there is none, `None` if that is not known yet.
fn line_end_len(bytes: &[u8], at: usize) -> Option<usize> {
    match (bytes.get(at)?, bytes.get(at + 1)) {
        (b'\n', _) => Some(1),
        (b'\r', Some(b'\n')) => Some(2),
        (b'\r', Some(_)) => Some(1),
        (b'\r', None) => None,
        _ => Some(0),
    }
}

/// An event without the byte order mark that a stream may begin with.
fn first_or_later<'b>(begun: &mut bool, block: &'b [u8]) -> &'b [u8] {
    match std::mem::replace(begun, true) {
        true => block,
        false => block.strip_prefix(b"\xef\xbb\xbf").unwrap_or(block),
    }
}

/// Passes on the event in `block` if it has data.
fn show(block: &[u8], joined: &mut Vec<u8>, each: &mut impl FnMut(SseEvent<'_>)) {
    let mut name: &[u8] = &[];
    let mut data: Option<&[u8]> = None;
    let mut several = false;
    let mut rest = block;
    while !rest.is_empty() {
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..])),
            None => (line, &[][..]),
        };
        match field {
            b"event" => name = value,
            b"data" => match data {
                None => data = Some(value),
                Some(first) => {
                    if !several {
                        joined.clear();
                        joined.extend_from_slice(first);
                        several = true;
                    }
                    joined.push(b'\n');
                    joined.extend_from_slice(value);
                }
            },
            _ => {}
        }
    }
    match data {
        Some(_) if several => each(SseEvent { name, data: joined }),
        Some(data) => each(SseEvent { name, data }),
        None => {}
    }
}

#[cfg(test)]
mod tests;
