//! Detects words that repeat with a period.

use super::RepetitionRules;
use super::tokenizer::Word;

/// A degenerate repetition.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeriodMatch {
    /// Bytes of one period.
    pub length: usize,
    pub repeats: u32,
    /// Bytes of all repetitions.
    pub bytes: u64,
}

/// A retained word.
#[derive(Clone, Copy, Debug, Default)]
struct KeptWord {
    hash: u32,
    number: bool,
    start: u64,
}

/// Number of retained words; a power of two and the maximum period.
const WORD_BUFFER_LEN: usize = 1024;

/// Number of periods tracked in parallel: a sequence that occurs twice in one period also proposes a wrong
/// one.
const MAX_CANDIDATES: usize = 4;

/// Minimum period with varying numbers; otherwise every table would match.
const MIN_NUMERIC_PERIOD_WORDS: u32 = 12;

/// Cost of a mismatch in matching words, and the maximum penalty.
const MISMATCH_PENALTY: u32 = 64;
/// Maximum detectable period in words.
pub(super) const MAX_PERIOD_WORDS: u32 = SequenceIndex::MAX_DISTANCE_WORDS as u32;
const MAX_PENALTY: u32 = 2 * MISMATCH_PENALTY;

/// Tracks the periods of a word stream.
#[derive(Clone, Debug)]
pub(super) struct PeriodTracker {
    kept: Box<[KeptWord; WORD_BUFFER_LEN]>,
    index: SequenceIndex,
    candidates: [PeriodCandidate; MAX_CANDIDATES],
    /// Words so far.
    count: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct PeriodCandidate {
    /// Period in words; 0 marks an unused slot.
    period: u32,
    /// Start of the exact repetition in the stream.
    exact_from: u64,
    exact_words: u32,
    /// Start of the approximate repetition, in which numbers and occasional words differ.
    near_from: u64,
    near_words: u32,
    debt: u32,
    /// Numbers among the approximate words.
    counted: u32,
    /// Words of the exact repetition that were in structured text, were not numbers, or were pieces of
    /// unbroken runs.
    structured: u32,
    spoken: u32,
    endless: u32,
}

impl PeriodTracker {
    pub(super) fn new() -> Self {
        Self {
            kept: Box::new([KeptWord::default(); WORD_BUFFER_LEN]),
            index: SequenceIndex::default(),
            candidates: Default::default(),
            count: 0,
        }
    }

    /// Adds a word. Returns whether the last few words occurred together before.
    pub(super) fn push(&mut self, word: &Word, structured: bool) -> SequenceSeen {
        let now = self.count;
        self.count += 1;
        self.kept[now as usize % WORD_BUFFER_LEN] =
            KeptWord { hash: word.hash, number: word.number, start: word.start };
        for at in 0..MAX_CANDIDATES {
            let mut candidate = self.candidates[at];
            if candidate.period != 0 {
                let before = self.kept[(now - u64::from(candidate.period)) as usize % WORD_BUFFER_LEN];
                candidate.compare(word, before, structured);
                self.candidates[at] = candidate;
            }
        }
        let seen = self.index.push(word, now);
        if let Some(last) = seen.last {
            self.propose(now, now - last);
        }
        SequenceSeen { before: seen.last.is_some(), start: word.start }
    }

    fn propose(&mut self, now: u64, distance: u64) {
        let Ok(period) = u32::try_from(distance) else { return };
        if period == 0 || period as usize >= WORD_BUFFER_LEN / 2 || self.candidates.iter().any(|c| c.period == period) {
            return;
        }
        // The slot of the weakest candidate.
        let Some(seat) = self.candidates.iter_mut().min_by_key(|c| if c.period == 0 { 0 } else { c.near_words + 1 })
        else {
            return;
        };
        // One recurring sequence proves little, so it does not replace a stronger candidate.
        if seat.period != 0 && seat.near_words > SequenceIndex::SEQUENCE_WORDS {
            return;
        }
        let first = now - u64::from(SequenceIndex::SEQUENCE_WORDS - 1).min(now);
        let from = self.kept[first.saturating_sub(distance) as usize % WORD_BUFFER_LEN].start;
        *seat = PeriodCandidate { period, exact_from: from, near_from: from, ..PeriodCandidate::default() };
    }

    /// The degenerate repetition, if any.
    pub(super) fn degenerate_period(&self, rules: &RepetitionRules) -> Option<PeriodMatch> {
        let now = self.count.checked_sub(1)?;
        let here = self.kept[now as usize % WORD_BUFFER_LEN].start;
        // Fast path: most words are far from a repetition.
        let close = |c: &&PeriodCandidate| c.period != 0 && c.near_words / c.period + 1 >= rules.rounds;
        self.candidates.iter().filter(close).find_map(|candidate| {
            let length = here - self.kept[(now - u64::from(candidate.period)) as usize % WORD_BUFFER_LEN].start;
            if length > u64::from(rules.longest_round) {
                return None;
            }
            let enough = |words: u32, from: u64, factor: u64, rounds: u32| {
                let repeats = words / candidate.period + 1;
                let bytes = here - from;
                (repeats >= rounds && bytes >= u64::from(rules.bytes) * factor).then_some(PeriodMatch {
                    length: length as usize,
                    repeats,
                    bytes,
                })
            };
            enough(candidate.exact_words, candidate.exact_from, candidate.factor(rules), rules.rounds).or_else(|| {
                let counts = candidate.period >= MIN_NUMERIC_PERIOD_WORDS
                    && candidate.structured * 4 < candidate.near_words
                    && candidate.counted * 4 < candidate.near_words;
                counts.then(|| enough(candidate.near_words, candidate.near_from, 2, rules.rounds + 2)).flatten()
            })
        })
    }
}

impl PeriodCandidate {
    fn compare(&mut self, word: &Word, before: KeptWord, structured: bool) {
        let same = word.hash == before.hash;
        let counted = word.number && before.number;
        if same {
            self.exact_words += 1;
            self.structured += u32::from(structured);
            self.spoken += u32::from(!word.number);
            self.endless += u32::from(word.endless);
        } else {
            *self = Self { exact_words: 0, exact_from: before.start, spoken: 0, endless: 0, ..*self };
        }
        if same || counted {
            self.near_words += 1;
            self.counted += u32::from(word.number);
            self.debt = self.debt.saturating_sub(1);
        } else {
            self.debt += MISMATCH_PENALTY;
            if self.debt > MAX_PENALTY {
                *self = Self::default();
            }
        }
    }

    /// Factor for the content of this repetition.
    fn factor(&self, rules: &RepetitionRules) -> u64 {
        let structured = u64::from(rules.structured_factor.max(1));
        if self.endless * 2 > self.exact_words {
            // Such as Base64 of an empty image.
            structured * 4
        } else if self.spoken == 0 {
            // Such as the zeros of an array.
            structured * 2
        } else if self.structured * 2 > self.exact_words {
            structured
        } else {
            1
        }
    }
}

/// Whether a sequence of words occurred before.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequenceSeen {
    pub before: bool,
    /// Start of the newest word.
    pub start: u64,
}

/// Index of the last position of word sequences.
#[derive(Clone, Debug)]
struct SequenceIndex {
    slots: Box<[(u32, u32)]>,
    last: [u32; 3],
}

struct SequenceLookup {
    last: Option<u64>,
}

impl Default for SequenceIndex {
    fn default() -> Self {
        Self { slots: vec![(0, u32::MAX); Self::SLOTS].into_boxed_slice(), last: [0; 3] }
    }
}

impl SequenceIndex {
    /// Words in a sequence.
    const SEQUENCE_WORDS: u32 = 4;
    /// A power of two; older sequences are overwritten.
    const SLOTS: usize = 4096;
    /// Older sequences are ignored, so that the result does not depend on when a slot was overwritten.
    const MAX_DISTANCE_WORDS: u64 = 3000;

    fn push(&mut self, word: &Word, now: u64) -> SequenceLookup {
        let [a, b, c] = self.last;
        self.last = [b, c, word.hash];
        let mut sequence = a;
        for part in [b, c, word.hash] {
            sequence = sequence.rotate_left(7).wrapping_mul(0x9e37_79b1) ^ part;
        }
        sequence ^= sequence >> 15;
        let slot = &mut self.slots[sequence as usize % Self::SLOTS];
        let last = (slot.0 == sequence && slot.1 != u32::MAX).then(|| {
            // Positions are kept modulo 2^32.
            let distance = (now as u32).wrapping_sub(slot.1);
            now.saturating_sub(u64::from(distance))
        });
        *slot = (sequence, now as u32);
        SequenceLookup {
            last: last.filter(|last| now - last <= Self::MAX_DISTANCE_WORDS && now >= u64::from(Self::SEQUENCE_WORDS)),
        }
    }
}
