//! One pass over a text that tells which readers to ask and which lines may say what went wrong.

use std::sync::LazyLock;

use super::{check_reports, error_family};
use crate::literal_set::LiteralSet;

/// What a text holds.
#[derive(Debug, Default)]
pub(super) struct Prescan {
    /// Readers of [`checks`] that may find a report, as bits.
    pub readers: u32,
    /// Where lines begin that may name an error, in order.
    pub lines: Vec<usize>,
}

/// The bit of literals that may stand in the line of an error.
const ERROR_LINE_BIT: u32 = 1 << 31;

struct PrescanLiterals {
    literals: LiteralSet,
    /// What each literal speaks for.
    masks: Vec<u32>,
}

static PRESCAN_LITERALS: LazyLock<PrescanLiterals> = LazyLock::new(|| {
    let mut signs: Vec<(&str, u32)> = Vec::new();
    let readers = check_reports::parser_literals().map(|(reader, sign)| (sign, 1 << reader));
    for (sign, mask) in readers.chain(error_family::line_literals().map(|sign| (sign, ERROR_LINE_BIT))) {
        match signs.iter_mut().find(|(known, _)| *known == sign) {
            Some((_, masks)) => *masks |= mask,
            None => signs.push((sign, mask)),
        }
    }
    let (texts, masks): (Vec<_>, _) = signs.into_iter().unzip();
    PrescanLiterals { literals: LiteralSet::case_sensitive(texts), masks }
});

pub(super) fn prescan(text: &str) -> Prescan {
    let mut survey = Prescan::default();
    let bytes = text.as_bytes();
    let mut line_end = 0;
    PRESCAN_LITERALS.literals.for_each(text, |hit| {
        let mask = PRESCAN_LITERALS.masks[hit.number];
        survey.readers |= mask & !ERROR_LINE_BIT;
        if mask & ERROR_LINE_BIT != 0 && (hit.start >= line_end || survey.lines.is_empty()) {
            survey.lines.push(memchr::memrchr(b'\n', &bytes[..hit.start]).map_or(0, |at| at + 1));
            line_end = memchr::memchr(b'\n', &bytes[hit.start..]).map_or(bytes.len(), |at| hit.start + at);
        }
    });
    survey
}
