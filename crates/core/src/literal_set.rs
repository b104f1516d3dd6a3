//! Searches for many short literals at once.
//!
//! A table of three-byte prefixes rules out nearly every position; literals are compared only at the others.
//! Building it takes microseconds, which matters to a hook process per call; scanning takes about a nanosecond
//! per byte.

/// A set of literals, numbered in the order given. Each has three bytes at least.
#[derive(Debug)]
pub(crate) struct LiteralSet {
    /// For each hash of three bytes: which bucket to compare, 0 for none.
    table: Box<[u8; TABLE_SIZE]>,
    buckets: Vec<Vec<Literal>>,
    any_case: bool,
}

#[derive(Clone, Copy, Debug)]
struct Literal {
    text: &'static str,
    number: usize,
    /// Its first four bytes without case, and which of them there are: most of what begins alike goes on otherwise.
    beginning: u32,
    known: u32,
}

/// A literal found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiteralMatch {
    pub start: usize,
    pub end: usize,
    pub number: usize,
}

const HASH_BITS: u32 = 13;
const TABLE_SIZE: usize = 1 << HASH_BITS;

/// Takes the case of letters from eight bytes, or of as many as there are.
const ASCII_CASE_MASK: u64 = 0x2020_2020_2020_2020;

/// Letters without case; other bytes may fall together, which costs a comparison and no more.
fn fold(b: u8) -> u32 {
    u32::from(b | 0x20)
}

fn slot(window: u32) -> usize {
    (window.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

impl LiteralSet {
    /// ASCII letters match in either case.
    pub(crate) fn case_insensitive(texts: impl IntoIterator<Item = &'static str>) -> Self {
        Self::new(texts, true)
    }

    /// Literals match as they are written.
    pub(crate) fn case_sensitive(texts: impl IntoIterator<Item = &'static str>) -> Self {
        Self::new(texts, false)
    }

    fn new(texts: impl IntoIterator<Item = &'static str>, any_case: bool) -> Self {
        // Bucket 0 stays empty and marks a prefix without literals.
        let mut set = Self { table: Box::new([0; TABLE_SIZE]), buckets: vec![Vec::new()], any_case };
        for (number, text) in texts.into_iter().enumerate() {
            let &[a, b, c, ..] = text.as_bytes() else { continue };
            let at = slot(fold(a) | fold(b) << 8 | fold(c) << 16);
            if set.table[at] == 0 {
                // Beyond 255 prefixes the last bucket is shared.
                if let Ok(fresh) = u8::try_from(set.buckets.len()) {
                    set.buckets.push(Vec::new());
                    set.table[at] = fresh;
                } else {
                    set.table[at] = u8::MAX;
                }
            }
            let (beginning, known) = match text.as_bytes().first_chunk() {
                Some(four) => (u32::from_le_bytes(*four) | ASCII_CASE_MASK as u32, u32::MAX),
                None => (u32::from_le_bytes([a, b, c, 0]) | ASCII_CASE_MASK as u32, 0x00ff_ffff),
            };
            let literal = Literal { text, number, beginning: beginning & known, known };
            set.buckets[usize::from(set.table[at])].push(literal);
        }
        set
    }

    /// Calls `each` for every literal at every place from `from` on, until it answers `false`.
    fn visit(&self, text: &str, from: usize, mut each: impl FnMut(LiteralMatch) -> bool) {
        /// Beginnings that fit into eight bytes.
        const WINDOWS_PER_STEP: usize = 6;
        let bytes = &text.as_bytes()[from..];
        let mut at = 0;
        while let Some(eight) = bytes[at..].first_chunk() {
            let folded = u64::from_le_bytes(*eight) | ASCII_CASE_MASK;
            let bucket = |k: usize| self.table[slot((folded >> (8 * k)) as u32 & 0x00ff_ffff)];
            // Tests six positions at once; usually no literal begins at any of them.
            if bucket(0) | bucket(1) | bucket(2) | bucket(3) | bucket(4) | bucket(5) != 0 {
                for k in 0..WINDOWS_PER_STEP {
                    if bucket(k) != 0 && !self.compare(bytes, from, at + k, bucket(k), &mut each) {
                        return;
                    }
                }
            }
            at += WINDOWS_PER_STEP;
        }
        while let Some(&[a, b, c]) = bytes[at..].first_chunk() {
            let bucket = self.table[slot(fold(a) | fold(b) << 8 | fold(c) << 16)];
            if bucket != 0 && !self.compare(bytes, from, at, bucket, &mut each) {
                return;
            }
            at += 1;
        }
    }

    /// Calls `each` for the literals of a bucket that stand at `at`; whether to go on.
    fn compare(
        &self,
        bytes: &[u8],
        from: usize,
        at: usize,
        bucket: u8,
        each: &mut impl FnMut(LiteralMatch) -> bool,
    ) -> bool {
        let four = bytes[at..].first_chunk().map(|four| u32::from_le_bytes(*four) | ASCII_CASE_MASK as u32);
        self.buckets[usize::from(bucket)].iter().all(|literal| {
            if four.is_some_and(|four| four & literal.known != literal.beginning) {
                return true;
            }
            let text = literal.text.as_bytes();
            let fits = bytes
                .get(at..at + text.len())
                .is_some_and(|here| if self.any_case { here.eq_ignore_ascii_case(text) } else { here == text });
            !fits || each(LiteralMatch { start: from + at, end: from + at + text.len(), number: literal.number })
        })
    }

    /// The first place from `from` on where a literal begins; the longest of those that begin there.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<LiteralMatch> {
        let mut best: Option<LiteralMatch> = None;
        self.visit(text, from, |hit| match best {
            Some(held) if hit.start > held.start => false,
            Some(held) if hit.end <= held.end => true,
            _ => {
                best = Some(hit);
                true
            }
        });
        best
    }

    /// Whether any literal occurs.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let mut found = false;
        self.visit(text, 0, |_| {
            found = true;
            false
        });
        found
    }

    /// Every literal at every place.
    pub(crate) fn for_each(&self, text: &str, mut take: impl FnMut(LiteralMatch)) {
        self.visit(text, 0, |hit| {
            take(hit);
            true
        });
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.buckets.iter().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests;
