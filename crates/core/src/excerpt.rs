//! Text from outside: bounded, and free of secrets whichever way it was made.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// How much of one text is kept. The full text stays in the agent's own transcript.
pub const EXCERPT_BYTES: usize = 2048;

/// A redacted piece of some longer text, at most [`EXCERPT_BYTES`] long: its head and its tail,
/// because errors tend to stand at the end. Every constructor, reading from the wire included,
/// redacts; so a secret cannot reach the store, a log or an alert through a typed event.
#[derive(Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Excerpt(String);

impl Excerpt {
    pub fn new(text: &str) -> Self {
        Self::bounded(text, EXCERPT_BYTES)
    }

    /// As [`Excerpt::new`] with a tighter bound.
    pub fn bounded(text: &str, limit: usize) -> Self {
        let limit = limit.min(EXCERPT_BYTES);
        if text.len() <= limit {
            return Self(crate::redact::redact(text).into_owned());
        }
        // Redact a little beyond the cut, so that a secret across the edge is seen whole.
        const MARGIN: usize = 512;
        let head_len = limit * 2 / 3;
        let tail_len = limit - head_len - CUT.len().min(limit - head_len);
        let head = crate::redact::redact(floor(text, (head_len + MARGIN).min(text.len())));
        let tail = crate::redact::redact(ceil(text, text.len().saturating_sub(tail_len + MARGIN)));
        let head = floor(&head, head_len);
        let tail = ceil(&tail, tail.len().saturating_sub(tail_len));
        Self(format!("{head}{CUT}{tail}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Stands where text was left out.
const CUT: &str = "\n[...]\n";

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
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self::new(&text))
    }
}
