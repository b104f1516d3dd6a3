//! Splits a stream into words: runs of letters and digits, without case. Scripts without spaces give one word
//! per character; very long runs are cut into pieces of equal length.

/// A complete word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    /// Equal for equal words.
    pub hash: u32,
    /// Whether it is a number.
    pub number: bool,
    /// Whether it is a piece of a very long run.
    pub endless: bool,
    /// Start in the stream.
    pub start: u64,
}

/// Longer runs are cut, because repetition may lack spaces.
const MAX_WORD_CHARS: u32 = 32;

/// Splits characters into words.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokenizer {
    state: Option<PartialWord>,
    /// Length of the current run, including pieces.
    run: u32,
}

#[derive(Clone, Copy, Debug)]
struct PartialWord {
    hash: u64,
    chars: u32,
    number: bool,
    start: u64,
}

impl PartialWord {
    fn add(&mut self, c: char) {
        self.hash = (self.hash ^ u64::from(c)).wrapping_mul(PRIME);
    }
}

impl Tokenizer {
    /// The word that this character completes, if any. `at` is the character's position.
    pub(super) fn push(&mut self, c: char, at: u64) -> Option<Word> {
        let ascii = c.is_ascii();
        let part = if ascii { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() };
        let alone = !ascii && part && crate::simhash::is_cjk(c);
        self.run = if part && !alone { self.run.saturating_add(1) } else { 0 };
        let full = self.state.is_some_and(|begun| begun.chars >= MAX_WORD_CHARS);
        let finished = if !part || alone || full { self.finish() } else { None };
        if part {
            // Anything that starts with a digit counts as a number: 0x1f, 3rd, 12ms.
            let begun =
                self.state.get_or_insert(PartialWord { hash: SEED, chars: 0, number: c.is_numeric(), start: at });
            if ascii {
                begun.add(c.to_ascii_lowercase());
            } else {
                c.to_lowercase().for_each(|lower| begun.add(lower));
            }
            begun.chars += 1;
            // A character that is a word by itself ends with the next one.
            if alone {
                begun.chars = MAX_WORD_CHARS;
            }
        }
        finished
    }

    /// Whether the last character belongs to an unfinished word.
    pub(super) fn partial(&self) -> bool {
        self.state.is_some()
    }

    fn finish(&mut self) -> Option<Word> {
        let begun = self.state.take()?;
        let hash = begun.hash ^ (begun.hash >> 32);
        Some(Word {
            hash: hash as u32,
            number: begun.number,
            endless: self.run > MAX_WORD_CHARS * 2,
            start: begun.start,
        })
    }
}

/// FNV-1a, 64 bit.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;
