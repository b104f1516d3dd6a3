//! Normalisation and redaction of text.

use belay_core::outcome;

/// Normalising is idempotent and leaves letters of any script.
pub(crate) fn normalise(data: &[u8]) {
    let text = valid_prefix(data);
    let once = outcome::normalise(text);
    assert_eq!(outcome::normalise(&once), once);
    // Control characters erase text on a terminal, and notes of agents are in angle brackets.
    let plain = !text.chars().any(|c| c == '<' || (c.is_control() && c != '\n'));
    if plain && text.chars().any(|c| c.is_alphabetic() && !c.is_ascii()) {
        assert!(!once.trim().is_empty(), "letters of other scripts are letters");
    }
}

/// Redacting is idempotent.
pub(crate) fn redact(data: &[u8]) {
    let once = belay_core::redact::redact(valid_prefix(data)).into_owned();
    assert_eq!(belay_core::redact::redact(&once), once);
}

pub(crate) fn valid_prefix(data: &[u8]) -> &str {
    data.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}
