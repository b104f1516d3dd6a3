//! Bounded, redacted external text.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::redact::{names_env_file, redact, redact_env_values};

/// Maximum size of an excerpt. The full text stays in the agent's transcript.
pub const EXCERPT_BYTES: usize = 2048;

/// A redacted piece of some longer text, at most [`EXCERPT_BYTES`] long: its head and its tail,
/// because errors tend to stand at the end. Every constructor, reading from the wire included,
/// redacts; so a secret cannot reach the store, a log or an alert through a typed event.
#[derive(Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Excerpt(String);

impl Excerpt {
    pub fn new(text: &str) -> Self {
        Self::with_limit(text, EXCERPT_BYTES)
    }

    /// Like [`Excerpt::new`] with a smaller limit.
    pub fn with_limit(text: &str, limit: usize) -> Self {
        let limit = limit.min(EXCERPT_BYTES);
        if text.len() <= limit {
            return Self(shorten(redact(text), limit));
        }
        // Omitted text is not searched for secrets, except for a margin around the cuts: a secret and the name before
        // it are complete if their lines are. A private key has many lines.
        let (head, tail) = rooms(limit);
        let (head, tail) = (line_end(text, head), line_start(text, text.len().saturating_sub(tail)));
        if tail <= head || has_private_key(text) {
            return Self(shorten(redact(text), limit));
        }
        let (head, tail) = (redact(&text[..head]), redact(&text[tail..]));
        Self(join(&head, &tail, limit))
    }

    /// An excerpt of a tool's input. If it names an environment file, every value is redacted.
    pub fn of_input(input: &str, limit: usize) -> Self {
        match names_env_file(input) {
            true => Self::with_limit(&redact_env_values(input), limit),
            false => Self::with_limit(input, limit),
        }
    }

    /// An excerpt of a text that shows an environment file: every value is redacted.
    pub(crate) fn of_env_file(text: &str) -> Self {
        Self::new(&redact_env_values(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a private key in the text may have many lines: PEM or PuTTY.
fn has_private_key(text: &str) -> bool {
    ["PRIVATE KEY", "Private-Lines: "]
        .iter()
        .any(|mark| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some())
}

/// Marks omitted text.
const ELISION_MARK: &str = "\n[...]\n";

/// Lines longer than this are cut anywhere.
const MAX_LINE_BYTES: usize = 4096;

/// Head and tail of a text that is longer than the limit.
fn shorten(text: Cow<'_, str>, limit: usize) -> String {
    if text.len() <= limit { text.into_owned() } else { join(&text, &text, limit) }
}

/// Sizes of head and tail: two thirds to one third.
fn rooms(limit: usize) -> (usize, usize) {
    let head = limit * 2 / 3;
    match (limit - head).checked_sub(ELISION_MARK.len()) {
        Some(tail) => (head, tail),
        // Too small for both.
        None => (limit, 0),
    }
}

/// The beginning of one text and the end of another.
fn join(head: &str, tail: &str, limit: usize) -> String {
    match rooms(limit) {
        (room, 0) => before_cut(head, room).to_owned(),
        (head_room, tail_room) => {
            format!("{}{ELISION_MARK}{}", before_cut(head, head_room), ceil(tail, tail.len().saturating_sub(tail_room)))
        }
    }
}

/// What every mark of redacted text starts with.
const REDACTION_MARK: &str = "[redacted:";

/// The first `room` bytes, without half of a redaction mark: that would look like a secret itself.
fn before_cut(text: &str, room: usize) -> &str {
    let head = floor(text, room);
    match head.rfind('[') {
        Some(mark) if text[mark..].starts_with(REDACTION_MARK) && !head[mark..].contains(']') => &head[..mark],
        _ => head,
    }
}

/// The end of the line at `at`.
fn line_end(text: &str, at: usize) -> usize {
    let from = at.min(text.len());
    let to = (from + MAX_LINE_BYTES).min(text.len());
    text.floor_char_boundary(memchr::memchr(b'\n', &text.as_bytes()[from..to]).map_or(to, |end| from + end))
}

/// The start of the line at `at`.
fn line_start(text: &str, at: usize) -> usize {
    let from = at.saturating_sub(MAX_LINE_BYTES);
    text.ceil_char_boundary(memchr::memrchr(b'\n', &text.as_bytes()[from..at]).map_or(from, |start| from + start + 1))
}

/// The longest prefix of at most `at` bytes that ends on a character.
pub(crate) fn floor(text: &str, at: usize) -> &str {
    &text[..text.floor_char_boundary(at)]
}

/// The longest suffix from `at` on that starts on a character.
pub(crate) fn ceil(text: &str, at: usize) -> &str {
    &text[text.ceil_char_boundary(at)..]
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Excerpt {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl<'de> Deserialize<'de> for Excerpt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self::new(&text))
    }
}

#[cfg(test)]
mod tests;
