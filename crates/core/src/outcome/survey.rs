//! One pass over a text that tells which readers to ask and which lines may say what went wrong.

use std::sync::LazyLock;

use super::{checks, family};
use crate::literals::Literals;

/// What a text holds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Readers of [`checks`] that may find a report, as bits.
    pub readers: u32,
    /// Where lines begin that may name an error, in order.
    pub lines: Vec<usize>,
}

/// The bit of literals that may stand in the line of an error.
const ERROR: u32 = 1 << 31;

struct Signs {
    literals: Literals,
    /// What each literal speaks for.
    masks: Vec<u32>,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let mut signs: Vec<(&str, u32)> = Vec::new();
    let readers = checks::signs().map(|(reader, sign)| (sign, 1 << reader));
    for (sign, mask) in readers.chain(family::signs().map(|sign| (sign, ERROR))) {
        match signs.iter_mut().find(|(known, _)| *known == sign) {
            Some((_, masks)) => *masks |= mask,
            None => signs.push((sign, mask)),
        }
    }
    let (texts, masks): (Vec<_>, _) = signs.into_iter().unzip();
    Signs { literals: Literals::exact(texts), masks }
});

pub(super) fn survey(text: &str) -> Survey {
    let mut survey = Survey::default();
    let bytes = text.as_bytes();
    let mut line_end = 0;
    SIGNS.literals.each(text, |hit| {
        let mask = SIGNS.masks[hit.number];
        survey.readers |= mask & !ERROR;
        if mask & ERROR != 0 && (hit.start >= line_end || survey.lines.is_empty()) {
            survey.lines.push(memchr::memrchr(b'\n', &bytes[..hit.start]).map_or(0, |at| at + 1));
            line_end = memchr::memchr(b'\n', &bytes[hit.start..]).map_or(bytes.len(), |at| hit.start + at);
        }
    });
    survey
}
