//! Name lookup by prefix.

use belay_core::{SessionKey, SessionState};

use super::{Fixture, seed};
use crate::{Store, StoreError};

fn store_with(fixture: &impl Fixture, names: &[&str]) -> Box<dyn Store> {
    let mut store = fixture.open();
    for name in names {
        seed(&mut *store, &SessionKey::parse(name).unwrap(), &SessionState::Active, 1);
    }
    store
}

fn resolved(store: &dyn Store, text: &str) -> String {
    store.resolve(text).unwrap().to_string()
}

pub fn a_unique_prefix_resolves(fixture: &impl Fixture) {
    let store = store_with(fixture, &["codex:0199-aa", "codex:0199-bb", "claude-code:77fe", "aider:x:y"]);
    for text in ["codex:0199-a", "0199-a", "codex:0199-aa", "0199-aa"] {
        assert_eq!(resolved(&*store, text), "codex:0199-aa", "{text}");
    }
    for text in ["claude-code:", "claude-code", "cl", "7", "claude-code:77"] {
        assert_eq!(resolved(&*store, text), "claude-code:77fe", "{text}");
    }
    // A native id may contain colons.
    for text in ["x:y", "aider:x:y", "aider:x", "x:"] {
        assert_eq!(resolved(&*store, text), "aider:x:y", "{text}");
    }
    for text in ["", "unknown", "codex:9", "code:0199-aa", "0199-aa "] {
        let missing = store.resolve(text);
        assert!(matches!(missing, Err(StoreError::NotFound(_))), "{text}: {missing:?}");
    }
}

pub fn an_exact_match_wins(fixture: &impl Fixture) {
    let store = store_with(fixture, &["codex:ab", "codex:abc", "gemini:abc", "gemini:codex:ab"]);
    assert_eq!(resolved(&*store, "codex:ab"), "codex:ab");
    assert_eq!(resolved(&*store, "ab"), "codex:ab");
    let both = store.resolve("abc");
    assert!(matches!(both, Err(StoreError::Ambiguous { .. })), "two agents use the id: {both:?}");
}

pub fn several_candidates_are_listed(fixture: &impl Fixture) {
    let names: Vec<String> = (0..20).map(|n| format!("codex:s-{n:02}")).collect();
    let store = store_with(fixture, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let Err(StoreError::Ambiguous { text, candidates, more }) = store.resolve("s-0") else {
        panic!("ten sessions match")
    };
    assert_eq!((text.as_str(), more), ("s-0", true));
    assert_eq!(candidates[0].to_string(), "codex:s-00");
    let Err(StoreError::Ambiguous { candidates, more, .. }) = store.resolve("codex") else {
        panic!("twenty sessions match")
    };
    assert!(more && !candidates.is_empty());
}

pub fn names_contain_no_wildcards(fixture: &impl Fixture) {
    let store =
        store_with(fixture, &["codex:a_b", "codex:axb", "codex:100%", "codex:1000", "codex:été", "codex:\u{10ffff}"]);
    assert_eq!(resolved(&*store, "a_"), "codex:a_b");
    assert_eq!(resolved(&*store, "100%"), "codex:100%");
    assert_eq!(resolved(&*store, "codex:ét"), "codex:été");
    assert_eq!(resolved(&*store, "codex:\u{10ffff}"), "codex:\u{10ffff}");
    assert!(store.resolve("%").is_err());
    assert!(store.resolve("A_B").is_err(), "case matters");
}

pub fn short_names_are_unique_and_shortest(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut keys = Vec::new();
    for _ in 0..300 {
        // xorshift, for the same names in every run.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let agent = ["codex", "claude-code", "gemini"][usize::try_from(random % 3).unwrap()];
        // A small alphabet, so that names share long prefixes and some are prefixes of others.
        let letters = (0..random % 9 + 1).map(|n| ['a', 'b', 'é'][usize::try_from(random >> (8 + 2 * n)).unwrap() % 3]);
        let key = SessionKey::new(agent, letters.collect::<String>());
        if !keys.contains(&key) {
            seed(&mut *store, &key, &SessionState::Active, 1);
            keys.push(key);
        }
    }
    let names = store.short_names(&keys, 1).unwrap();
    for (key, name) in keys.iter().zip(&names) {
        assert_eq!(store.resolve(name).unwrap(), *key, "{name}");
        let mut shorter = name.clone();
        shorter.pop();
        let unique = keys.iter().filter(|other| other.to_string().starts_with(&shorter)).count() == 1;
        assert!(shorter.ends_with(':') || !unique, "{shorter} is enough for {key}");
    }
    let long = store.short_names(&keys[..1], 64).unwrap();
    assert_eq!(long[0], keys[0].to_string(), "never longer than the name");
}
