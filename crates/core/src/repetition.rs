//! Detects degenerate output while it streams: text that repeats itself.
//!
//! # Theory of operation
//!
//! The stream is read once, character by character, into words (`tokenizer`). Three things are watched,
//! each in constant memory and constant time per character:
//!
//! * **periods** (`period`): the words repeat with some period, from one word to a paragraph of
//!   about 1,500 bytes. An index of recent word sequences proposes periods, comparing each word with
//!   the one a period ago confirms or drops them. Numbers may count up from period to period.
//! * **recurrence** (`recurrence`): there is no strict period, but almost no sequence of words is new.
//! * **wordless output**: thousands of characters without a word.
//!
//! Tables, lists, code, data and separators repeat by nature. Where the text is structured (`text_layout`) the
//! thresholds are higher, and only exact periods count.
//!
//! The result does not depend on how the stream is split into chunks.

mod period;
mod recurrence;
mod text_layout;
mod tokenizer;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use period::PeriodTracker;
use recurrence::RecurrenceWindow;
use text_layout::TextLayout;
use tokenizer::Tokenizer;

/// When output counts as degenerate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepetitionRules {
    /// Minimum number of repeated bytes.
    pub bytes: u32,
    /// Minimum number of repetitions.
    pub rounds: u32,
    /// Maximum length of a period in bytes.
    pub longest_round: u32,
    /// Factor for code, tables, lists and data.
    pub structured_factor: u32,
    /// Window for recurrence in words; 0 turns it off.
    pub circle_words: u32,
    /// Minimum percentage of words in known sequences.
    pub circle_percent: u32,
    /// Maximum number of bytes without a word.
    pub wordless_bytes: u32,
}

impl Default for RepetitionRules {
    fn default() -> Self {
        Self {
            bytes: 900,
            rounds: 4,
            longest_round: 1500,
            structured_factor: 4,
            circle_words: 768,
            circle_percent: 92,
            wordless_bytes: 4096,
        }
    }
}

impl RepetitionRules {
    /// The first invalid setting and the reason.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let longest = period::MAX_PERIOD_WORDS;
        if self.bytes == 0 {
            return Err((
                "bytes",
                "must be at least 1; `[patterns.degenerate_output] enabled = false` turns it off".to_owned(),
            ));
        }
        if self.rounds < 2 {
            return Err(("rounds", "must be at least 2: what is said once is not a repetition".to_owned()));
        }
        if !(1..=longest).contains(&self.longest_round) {
            return Err(("longest_round", format!("must be 1 to {longest} bytes")));
        }
        if self.structured_factor == 0 {
            return Err(("structured_factor", "must be at least 1".to_owned()));
        }
        if self.circle_percent > 100 {
            return Err(("circle_percent", "must be at most 100".to_owned()));
        }
        Ok(())
    }
}

/// Output found to be degenerate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepetitionFinding {
    /// What kind of repetition.
    pub kind: RepetitionKind,
    /// Start of the repeated text. Not redacted.
    pub what: String,
    /// Number of repetitions when it was found; 0 if they cannot be counted.
    pub repeats: u32,
    /// Number of repeated bytes when it was found.
    pub bytes: u64,
}

/// Kinds of degenerate output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepetitionKind {
    /// Repetition with a period.
    Rounds,
    /// No period, but nothing new.
    Circles,
    /// No words at all.
    Wordless,
}

/// Monitors one text stream in about 50 KiB, whatever its length.
#[derive(Clone, Debug)]
pub struct RepetitionDetector {
    rules: RepetitionRules,
    words: Tokenizer,
    layout: TextLayout,
    rounds: PeriodTracker,
    circles: RecurrenceWindow,
    recent: RecentText,
    /// Bytes read.
    read: u64,
    /// Where the last word ended.
    last_word: u64,
    done: bool,
}

impl RepetitionDetector {
    pub fn new(rules: &RepetitionRules) -> Self {
        Self {
            rules: *rules,
            words: Tokenizer::default(),
            layout: TextLayout::default(),
            rounds: PeriodTracker::new(),
            circles: RecurrenceWindow::new(rules),
            recent: RecentText::default(),
            read: 0,
            last_word: 0,
            done: false,
        }
    }

    /// Processes the next chunk. Returns a finding once, when the output becomes degenerate.
    pub fn push(&mut self, chunk: &str) -> Option<RepetitionFinding> {
        for c in chunk.chars() {
            if self.done {
                return None;
            }
            if let Some(finding) = self.step(c) {
                self.done = true;
                return Some(finding);
            }
        }
        None
    }

    /// Whether a text as a whole is degenerate.
    pub fn find_in_text(text: &str, rules: &RepetitionRules) -> Option<RepetitionFinding> {
        let mut chant = Self::new(rules);
        // A word ends only when something follows it.
        chant.push(text).or_else(|| chant.push("\n"))
    }

    fn step(&mut self, c: char) -> Option<RepetitionFinding> {
        self.recent.push(c);
        let finished = self.words.push(c, self.read);
        let here = self.read;
        self.read += c.len_utf8() as u64;
        self.layout.push(c);
        let Some(word) = finished else {
            if self.words.partial() {
                self.last_word = self.read;
            }
            let wordless = self.read - self.last_word;
            return (wordless >= u64::from(self.rules.wordless_bytes)).then(|| RepetitionFinding {
                kind: RepetitionKind::Wordless,
                what: self.recent.last(16),
                repeats: 0,
                bytes: wordless,
            });
        };
        self.last_word = here;
        let structured = self.layout.is_structured();
        let position = self.rounds.push(&word, structured);
        if let Some(round) = self.rounds.degenerate_period(&self.rules) {
            return Some(RepetitionFinding {
                kind: RepetitionKind::Rounds,
                what: self.recent.last(round.length),
                repeats: round.repeats,
                bytes: round.bytes,
            });
        }
        let bytes = self.circles.push(position, structured)?;
        Some(RepetitionFinding { kind: RepetitionKind::Circles, what: self.recent.last(120), repeats: 0, bytes })
    }
}

/// The end of the stream, for samples in messages.
#[derive(Clone, Debug, Default)]
struct RecentText(String);

impl RecentText {
    const RECENT_TEXT_BYTES: usize = 2048;

    fn push(&mut self, c: char) {
        if self.0.len() >= Self::RECENT_TEXT_BYTES * 2 {
            let cut = self.0.ceil_char_boundary(self.0.len() - Self::RECENT_TEXT_BYTES);
            self.0.drain(..cut);
        }
        self.0.push(c);
    }

    /// The start of the last `length` bytes.
    fn last(&self, length: usize) -> String {
        const MAX_SAMPLE_CHARS: usize = 120;
        let from = self.0.ceil_char_boundary(self.0.len().saturating_sub(length.min(Self::RECENT_TEXT_BYTES)));
        crate::excerpt::floor(self.0[from..].trim(), MAX_SAMPLE_CHARS).trim().to_owned()
    }
}
