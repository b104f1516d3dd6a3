//! The same answers as looking for each literal by itself.

use proptest::prelude::*;

use super::{Hit, Literals};

const TEXTS: [&str; 7] = ["abc", "abcd", "bca", "ABC", "key", "a_b", "://"];

#[test]
fn the_first_and_there_the_longest() {
    let set = Literals::exact(TEXTS);
    assert_eq!(set.len(), TEXTS.len());
    assert_eq!(set.find("xxabcdx", 0), Some(Hit { start: 2, end: 6, number: 1 }));
    assert_eq!(set.find("xxabcdx", 3), None);
    assert_eq!(set.find("xxABCDx", 0), Some(Hit { start: 2, end: 5, number: 3 }));
    assert_eq!(Literals::in_any_case(["key"]).find("aKeY", 0), Some(Hit { start: 1, end: 4, number: 0 }));
    assert!(!set.any("ab") && !set.any("") && set.any("é://é"));
}

proptest! {
    #[test]
    fn agrees_with_looking_one_by_one(text in "[abcdABK_key:/é]{0,40}") {
        let set = Literals::exact(TEXTS);
        let mut found = [false; TEXTS.len()];
        set.each(&text, |hit| found[hit.number] = true);
        let first = (0..text.len()).find(|at| TEXTS.iter().any(|literal| text.as_bytes()[*at..].starts_with(literal.as_bytes())));
        for (literal, found) in TEXTS.iter().zip(found) {
            prop_assert_eq!(found, text.contains(literal));
        }
        prop_assert_eq!(set.find(&text, 0).map(|hit| hit.start), first);
        prop_assert_eq!(set.any(&text), first.is_some());
    }
}
