//! Groups of phrases, matched in one pass.

use crate::literal_set::LiteralSet;

/// At most 32 groups of phrases.
#[derive(Debug)]
pub(super) struct PhraseGroups {
    literals: LiteralSet,
    /// The group of each phrase.
    groups: Vec<u8>,
}

impl PhraseGroups {
    /// Letters match in either case.
    pub(super) fn new(groups: impl IntoIterator<Item = &'static [&'static str]>) -> Self {
        let numbered =
            (0u8..).zip(groups).flat_map(|(group, phrases)| phrases.iter().map(move |phrase| (*phrase, group)));
        let (phrases, groups): (Vec<_>, _) = numbered.unzip();
        Self { literals: LiteralSet::case_insensitive(phrases), groups }
    }

    /// Bit set of the groups that occur.
    pub(super) fn scan(&self, text: &str) -> u32 {
        let mut mask = 0;
        self.literals.for_each(text, |hit| mask |= 1 << self.groups[hit.number]);
        mask
    }
}
