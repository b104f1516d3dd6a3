//! Similar texts are close and different texts are far, in any script.

use proptest::prelude::*;

use super::{BitVotes, simhash, similarity};
use crate::event::TextFingerprint;

const PARAGRAPH: &str = "The reader waits for a lock that nobody holds, because the writer has gone away without \
                         releasing it and the queue behind both of them is full of requests nobody will answer.";

#[test]
fn small_changes_stay_close_and_other_texts_are_far() {
    let changed = PARAGRAPH.replace("reader", "consumer");
    let other = "Bake the dough at two hundred degrees until the crust is golden, then let it cool on a rack for an hour \
                 before slicing, or the crumb will be gummy and the flavour flat.";
    let near = similarity(simhash(PARAGRAPH), simhash(&changed));
    let far = similarity(simhash(PARAGRAPH), simhash(other));
    assert!(near > 0.85, "{near}");
    assert!(far < 0.5, "{far}");
    assert_eq!(similarity(simhash(PARAGRAPH), simhash(PARAGRAPH)), 1.0);
}

#[test]
fn scripts_without_spaces_are_comparable() {
    let a = "テストが失敗しました。もう一度実行してください。原因はロックの順序です。";
    let b = "テストが失敗しました。もう一度実行してください。原因はロックの順番です。";
    let c = "今日は天気がいいので、公園へ散歩に行きましょう。帰りに本屋へ寄ります。";
    assert!(similarity(simhash(a), simhash(b)) > similarity(simhash(a), simhash(c)));
    assert!(similarity(simhash(a), simhash(b)) > 0.7);
}

#[test]
fn simhash_ignores_volatile_parts() {
    let a = TextFingerprint::from_text("done at 10:11:12 in 3.2s");
    let b = TextFingerprint::from_text("done at 12:13:14 in 9.8s");
    assert_eq!(a.digest, b.digest);
    assert_eq!(a.similarity(&b), 1.0);
    assert_eq!(a.len, 24);
}

#[test]
fn punctuation_and_layout_do_not_count() {
    assert_eq!(simhash("let x = f(a, b);"), simhash("let   x=f( a,\n  b )"));
    assert_ne!(simhash("a b c d"), simhash("d c b a"));
}

proptest! {
    #[test]
    fn bit_votes_match_a_naive_count(hashes in prop::collection::vec(any::<u64>(), 0..70)) {
        let mut votes = BitVotes::default();
        hashes.iter().for_each(|hash| votes.add(*hash));
        let expected = (0..64).fold(0u64, |sum, bit| {
            let set = hashes.iter().filter(|hash| *hash >> bit & 1 == 1).count();
            sum | u64::from(set * 2 > hashes.len()) << bit
        });
        prop_assert_eq!(votes.majority(), expected);
    }

    #[test]
    fn any_text_has_a_simhash(text in "\\PC{0,200}") {
        let sketch = TextFingerprint::from_text(&text);
        prop_assert_eq!(sketch, TextFingerprint::from_text(&text));
        prop_assert_eq!(sketch.similarity(&sketch), 1.0);
    }
}
