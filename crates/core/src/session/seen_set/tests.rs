use super::*;

fn key(n: u64) -> Digest {
    Digest::from_bytes(n.to_le_bytes())
}

#[test]
fn evicted_keys_still_count_as_seen() {
    let mut seen = SeenSet::default();
    for n in 0..1_300 {
        seen.insert(key(n));
    }
    for n in 0..1_300 {
        assert!(!seen.insert(key(n)), "{n} was forgotten");
    }
}

#[test]
fn false_positives_stay_rare_in_long_sessions() {
    let mut seen = SeenSet::default();
    let false_positives = (0..100_000).filter(|n| !seen.insert(key(*n))).count();
    assert!(false_positives < 2_500, "{false_positives} of 100,000 new marks counted as seen");
}

#[test]
fn serialised_form_is_small_and_round_trips() {
    let mut seen = SeenSet::default();
    for n in 0..50_000 {
        seen.insert(key(n));
    }
    let json = serde_json::to_string(&seen).unwrap();
    assert!(json.len() < 9_500, "{} bytes", json.len());
    let back: SeenSet = serde_json::from_str(&json).unwrap();
    assert_eq!(back, seen);
    let damaged = json.replacen("\"words\":\"", "\"words\":\"z", 1);
    assert!(serde_json::from_str::<SeenSet>(&damaged).is_err());
}
