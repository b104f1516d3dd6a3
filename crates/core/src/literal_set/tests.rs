//! Results equal those of searching each literal separately.

use proptest::prelude::*;

use super::{LiteralMatch, LiteralSet};

const TEXTS: [&str; 7] = ["abc", "abcd", "bca", "ABC", "key", "a_b", "://"];

#[test]
fn the_first_and_there_the_longest() {
    let set = LiteralSet::case_sensitive(TEXTS);
    assert_eq!(set.len(), TEXTS.len());
    assert_eq!(set.find("xxabcdx", 0), Some(LiteralMatch { start: 2, end: 6, number: 1 }));
    assert_eq!(set.find("xxabcdx", 3), None);
    assert_eq!(set.find("xxABCDx", 0), Some(LiteralMatch { start: 2, end: 5, number: 3 }));
    assert_eq!(
        LiteralSet::case_insensitive(["key"]).find("aKeY", 0),
        Some(LiteralMatch { start: 1, end: 4, number: 0 })
    );
    assert!(!set.is_match("ab") && !set.is_match("") && set.is_match("é://é"));
}

proptest! {
    #[test]
    fn agrees_with_searching_one_by_one(text in "[abcdABK_key:/é]{0,40}") {
        let set = LiteralSet::case_sensitive(TEXTS);
        let mut found = [false; TEXTS.len()];
        set.for_each(&text, |hit| found[hit.number] = true);
        let first = (0..text.len()).find(|at| TEXTS.iter().any(|literal| text.as_bytes()[*at..].starts_with(literal.as_bytes())));
        for (literal, found) in TEXTS.iter().zip(found) {
            prop_assert_eq!(found, text.contains(literal));
        }
        prop_assert_eq!(set.find(&text, 0).map(|hit| hit.start), first);
        prop_assert_eq!(set.is_match(&text), first.is_some());
    }
}
