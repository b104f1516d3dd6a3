//! One pass over a text that selects the report parsers to run and the lines that may name an error.

use std::sync::LazyLock;

use super::{check_reports, error_family};
use crate::literal_set::LiteralSet;

/// Result of the pass.
#[derive(Debug, Default)]
pub(super) struct Prescan {
    /// Bit set of report parsers that may match.
    pub readers: u32,
    /// Offsets of lines that may name an error, in order.
    pub lines: Vec<usize>,
}

/// Bit of the literals that occur in error lines.
const ERROR_LINE_BIT: u32 = 1 << 31;

struct PrescanLiterals {
    literals: LiteralSet,
    /// Parser bits of each literal.
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
