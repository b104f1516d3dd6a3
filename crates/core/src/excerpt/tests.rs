//! Excerpts are bounded, redacted and stable.

use proptest::prelude::*;

use super::{EXCERPT_BYTES, Excerpt};

const TOKEN: &str = concat!("ghp", "_AbCdEf0123456789AbCdEf0123456789abcd");

#[test]
fn short_texts_stay_and_long_ones_keep_their_ends() {
    assert_eq!(Excerpt::new("hello").as_str(), "hello");
    let long = format!("first\n{}last", "middle\n".repeat(2000));
    let excerpt = Excerpt::new(&long);
    assert!(excerpt.as_str().starts_with("first\n") && excerpt.as_str().ends_with("last"));
    assert!(excerpt.as_str().contains("\n[...]\n"));
    assert!(excerpt.as_str().len() <= EXCERPT_BYTES);
    assert!(Excerpt::with_limit(&long, 100).as_str().len() <= 100);
}

#[test]
fn a_secret_across_the_elision_is_redacted() {
    for before in 0..80 {
        let head = "x".repeat(EXCERPT_BYTES * 2 / 3 - before);
        let text = format!("{head} {TOKEN}\n{}", "y\n".repeat(5000));
        assert!(!Excerpt::new(&text).as_str().contains("ghp_A"), "head, {before}");
        let text = format!("{}\nGITHUB_TOKEN={TOKEN} {}", "y\n".repeat(5000), "x".repeat(600 + before));
        assert!(!Excerpt::new(&text).as_str().contains("abcd x"), "tail, {before}");
    }
}

#[test]
fn the_middle_of_a_private_key_is_redacted() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(100);
    for text in [
        format!("-----BEGIN PRIVATE{} KEY-----\n{body}-----END PRIVATE KEY-----\n", ""),
        format!("-----BEGIN PRIVATE{} KEY-----\n{body}", ""),
        format!("{body}-----END PRIVATE{} KEY-----\n", ""),
        format!("Private-{}Lines: 100\n{body}Private-MAC: 0a1b2c3d\n", ""),
    ] {
        assert!(!Excerpt::new(&text).as_str().contains("MIIEvQ"), "{}", Excerpt::new(&text));
    }
}

#[test]
fn redactions_respect_the_limit() {
    let text = "DB_PASSWORD=x\n".repeat(140);
    assert!(text.len() < EXCERPT_BYTES);
    assert!(Excerpt::new(&text).as_str().len() <= EXCERPT_BYTES);
}

#[test]
fn reading_redacts_too() {
    let excerpt: Excerpt = serde_json::from_str(&format!("\"key {TOKEN}\"")).unwrap();
    assert_eq!(excerpt.as_str(), "key [redacted:github-token]");
}

#[test]
fn a_cut_leaves_no_half_of_a_redaction_mark() {
    let text = format!("password=hunter2hunter2 {}", "x".repeat(100));
    for limit in 16..60 {
        let excerpt = Excerpt::with_limit(&text, limit);
        assert_eq!(Excerpt::new(excerpt.as_str()), excerpt, "{limit}");
    }
}

proptest! {
    #[test]
    fn excerpts_are_bounded_and_round_trip(text in "(\\PC{0,40}|\n|password=[a-z0-9]{1,12} |é){0,200}", limit in 16..EXCERPT_BYTES) {
        let excerpt = Excerpt::with_limit(&text, limit);
        prop_assert!(excerpt.as_str().len() <= limit);
        prop_assert_eq!(Excerpt::new(excerpt.as_str()), excerpt);
    }
}
