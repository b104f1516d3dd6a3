use super::*;

fn mark(n: u64) -> Digest {
    Digest::of(n.to_le_bytes())
}

#[test]
fn what_was_pushed_out_still_counts_as_seen() {
    let mut seen = SeenSet::default();
    for n in 0..1_300 {
        seen.insert(mark(n));
    }
    for n in 0..1_300 {
        assert!(!seen.insert(mark(n)), "{n} was forgotten");
    }
}

#[test]
fn new_marks_are_rarely_mistaken_for_seen_ones_however_long_the_session() {
    let mut seen = SeenSet::default();
    let mistaken = (0..100_000).filter(|n| !seen.insert(mark(*n))).count();
    assert!(mistaken < 2_500, "{mistaken} of 100,000 new marks counted as seen");
}

#[test]
fn it_is_small_and_survives_a_snapshot() {
    let mut seen = SeenSet::default();
    for n in 0..50_000 {
        seen.insert(mark(n));
    }
    let json = serde_json::to_string(&seen).unwrap();
    assert!(json.len() < 9_500, "{} bytes", json.len());
    let back: SeenSet = serde_json::from_str(&json).unwrap();
    assert_eq!(back, seen);
    let damaged = json.replacen("\"words\":\"", "\"words\":\"z", 1);
    assert!(serde_json::from_str::<SeenSet>(&damaged).is_err());
}
