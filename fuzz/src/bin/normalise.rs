//! Any text normalised: idempotent, and never to nothing where there were words.
#![no_main]

use belay_core::outcome::normalise;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let once = normalise(text);
    assert_eq!(normalise(&once), once);
    // Terminals erase by control characters, and agents' own remarks stand in angle brackets.
    let plain = !text.chars().any(|c| c == '<' || (c.is_control() && c != '\n'));
    if plain && text.chars().any(|c| c.is_alphabetic() && !c.is_ascii()) {
        assert!(!once.trim().is_empty(), "words in other scripts are words");
    }
});
