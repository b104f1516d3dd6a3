//! Detects text without a period that has almost no new word sequences.

use super::RepetitionRules;
use super::period::SequenceSeen;

/// Counts how many of the last words belong to known sequences.
#[derive(Clone, Debug)]
pub(super) struct RecurrenceWindow {
    window: Vec<WindowEntry>,
    next: usize,
    full: bool,
    old: u32,
    structured: u32,
    percent: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct WindowEntry {
    old: bool,
    structured: bool,
    start: u64,
}

impl RecurrenceWindow {
    pub(super) fn new(rules: &RepetitionRules) -> Self {
        Self {
            window: vec![WindowEntry::default(); rules.circle_words as usize],
            next: 0,
            full: false,
            old: 0,
            structured: 0,
            percent: rules.circle_percent,
        }
    }

    /// Adds a word. Returns the bytes of the window if almost nothing in it is new.
    pub(super) fn push(&mut self, seen: SequenceSeen, structured: bool) -> Option<u64> {
        let size = self.window.len();
        let slot = self.window.get_mut(self.next)?;
        let gone = std::mem::replace(slot, WindowEntry { old: seen.before, structured, start: seen.start });
        self.old = self.old + u32::from(seen.before) - u32::from(gone.old);
        self.structured = self.structured + u32::from(structured) - u32::from(gone.structured);
        self.next += 1;
        if self.next == size {
            self.next = 0;
            self.full = true;
        }
        let words = u32::try_from(size).unwrap_or(u32::MAX);
        // Structured text repeats phrases by nature.
        let prose = self.structured * 4 < words;
        let stale = self.full && prose && u64::from(self.old) * 100 >= u64::from(words) * u64::from(self.percent);
        stale.then(|| seen.start - self.window[self.next].start)
    }
}
