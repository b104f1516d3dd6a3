//! Words that repeat with a period.

use super::ChantRules;
use super::words::Word;

/// A degenerate stretch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Bytes of one round.
    pub length: usize,
    pub repeats: u32,
    /// Bytes of all rounds.
    pub bytes: u64,
}

/// A word as it is kept for comparison.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    hash: u32,
    number: bool,
    start: u64,
}

/// How many words are kept; a power of two. No period is longer.
const WORDS: usize = 1024;

/// Periods followed at the same time: a sequence that stands twice in one round proposes a wrong one
/// beside the right one.
const CANDIDATES: usize = 4;

/// A round with numbers that count up must have this many words, or every table would be one.
const LONG_ROUND: u32 = 12;

/// What a wrong word costs a candidate, in right words; and how much it can owe.
const WRONG: u32 = 64;
/// Longer rounds than this cannot be seen.
pub(super) const LONGEST_ROUND: u32 = Index::REACH as u32;
const MAX_DEBT: u32 = 2 * WRONG;

/// Follows the periods of a stream of words.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    kept: Box<[Kept; WORDS]>,
    index: Index,
    candidates: [Candidate; CANDIDATES],
    /// Words so far.
    count: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    /// In words; 0 is an empty seat.
    period: u32,
    /// Where the rounds began in the stream when every word counts.
    exact_from: u64,
    exact_words: u32,
    /// Where they began when numbers may differ and a word now and then.
    near_from: u64,
    near_words: u32,
    debt: u32,
    /// Numbers among the near words.
    counted: u32,
    /// Words of the exact rounds that stood in structured text, that were not numbers, that were pieces
    /// of runs without end.
    structured: u32,
    spoken: u32,
    endless: u32,
}

impl Rounds {
    pub(super) fn new() -> Self {
        Self {
            kept: Box::new([Kept::default(); WORDS]),
            index: Index::default(),
            candidates: Default::default(),
            count: 0,
        }
    }

    /// Takes a word. Answers with whether the last few words stood together before.
    pub(super) fn push(&mut self, word: &Word, structured: bool) -> Seen {
        let now = self.count;
        self.count += 1;
        self.kept[now as usize % WORDS] = Kept { hash: word.hash, number: word.number, start: word.start };
        for at in 0..CANDIDATES {
            let mut candidate = self.candidates[at];
            if candidate.period != 0 {
                let before = self.kept[(now - u64::from(candidate.period)) as usize % WORDS];
                candidate.compare(word, before, structured);
                self.candidates[at] = candidate;
            }
        }
        let seen = self.index.push(word, now);
        if let Some(last) = seen.last {
            self.propose(now, now - last);
        }
        Seen { before: seen.last.is_some(), start: word.start }
    }

    fn propose(&mut self, now: u64, distance: u64) {
        let Ok(period) = u32::try_from(distance) else { return };
        if period == 0 || period as usize >= WORDS / 2 || self.candidates.iter().any(|c| c.period == period) {
            return;
        }
        // The seat of the candidate that has shown least.
        let Some(seat) = self.candidates.iter_mut().min_by_key(|c| if c.period == 0 { 0 } else { c.near_words + 1 })
        else {
            return;
        };
        // One sequence that stood here before proves little: do not unseat a candidate for it that has more.
        if seat.period != 0 && seat.near_words > Index::SEQUENCE {
            return;
        }
        let first = now - u64::from(Index::SEQUENCE - 1).min(now);
        let from = self.kept[first.saturating_sub(distance) as usize % WORDS].start;
        *seat = Candidate { period, exact_from: from, near_from: from, ..Candidate::default() };
    }

    /// The rounds that are degenerate, if any are.
    pub(super) fn found(&self, rules: &ChantRules) -> Option<Round> {
        let now = self.count.checked_sub(1)?;
        let here = self.kept[now as usize % WORDS].start;
        // Most words are nowhere near a round.
        let close = |c: &&Candidate| c.period != 0 && c.near_words / c.period + 1 >= rules.rounds;
        self.candidates.iter().filter(close).find_map(|candidate| {
            let length = here - self.kept[(now - u64::from(candidate.period)) as usize % WORDS].start;
            if length > u64::from(rules.longest_round) {
                return None;
            }
            let enough = |words: u32, from: u64, factor: u64, rounds: u32| {
                let repeats = words / candidate.period + 1;
                let bytes = here - from;
                (repeats >= rounds && bytes >= u64::from(rules.bytes) * factor).then_some(Round {
                    length: length as usize,
                    repeats,
                    bytes,
                })
            };
            enough(candidate.exact_words, candidate.exact_from, candidate.factor(rules), rules.rounds).or_else(|| {
                let counts = candidate.period >= LONG_ROUND
                    && candidate.structured * 4 < candidate.near_words
                    && candidate.counted * 4 < candidate.near_words;
                counts.then(|| enough(candidate.near_words, candidate.near_from, 2, rules.rounds + 2)).flatten()
            })
        })
    }
}

impl Candidate {
    fn compare(&mut self, word: &Word, before: Kept, structured: bool) {
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
            self.debt += WRONG;
            if self.debt > MAX_DEBT {
                *self = Self::default();
            }
        }
    }

    /// How many times more is needed for what these rounds are made of.
    fn factor(&self, rules: &ChantRules) -> u64 {
        let structured = u64::from(rules.structured_factor.max(1));
        if self.endless * 2 > self.exact_words {
            // Base64 of an empty picture.
            structured * 4
        } else if self.spoken == 0 {
            // Zeros of some array.
            structured * 2
        } else if self.structured * 2 > self.exact_words {
            structured
        } else {
            1
        }
    }
}

/// Whether a sequence of words stood in the stream before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub before: bool,
    /// Where the newest word began.
    pub start: u64,
}

/// Remembers where sequences of words last stood.
#[derive(Clone, Debug)]
struct Index {
    slots: Box<[(u32, u32)]>,
    last: [u32; 3],
}

struct Looked {
    last: Option<u64>,
}

impl Default for Index {
    fn default() -> Self {
        Self { slots: vec![(0, u32::MAX); Self::SLOTS].into_boxed_slice(), last: [0; 3] }
    }
}

impl Index {
    /// Words in a sequence.
    const SEQUENCE: u32 = 4;
    /// A power of two; older sequences are overwritten.
    const SLOTS: usize = 4096;
    /// Sequences further back than this are forgotten, so that the answer does not depend on which
    /// slot was overwritten when.
    const REACH: u64 = 3000;

    fn push(&mut self, word: &Word, now: u64) -> Looked {
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
        Looked { last: last.filter(|last| now - last <= Self::REACH && now >= u64::from(Self::SEQUENCE)) }
    }
}
