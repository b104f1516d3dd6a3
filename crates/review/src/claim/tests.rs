use super::*;
use crate::convergence::Policy;
use crate::verdict::Place;

fn place(text: &str) -> Option<Place> {
    let (file, line) = text.split_once(':').map_or((text, None), |(file, line)| (file, line.parse().ok()));
    (!file.is_empty()).then(|| Place { file: file.to_owned(), line })
}

/// Pairs of issues, as `place | claim`, that reviewers raised in different words.
const SAME: &[(&str, &str)] = &[
    (
        "src/charge.rs:88 | Two requests with one key can both charge",
        "src/charge.rs:91 | Both requests charge if they use the same key",
    ),
    (
        "src/charge.rs:95 | The new lock is taken twice on the replay path",
        "src/charge.rs:97 | replay path takes the lock a second time",
    ),
    (
        "src/lock.rs:10 | `lock_key` is acquired twice in replay()",
        "src/lock.rs | Double acquisition of lock_key in replay",
    ),
    (
        "tests/retry.rs:60 | Retry test sleeps 5 s and fails under load",
        "tests/retry.rs:64 | The retry test sleeps for 5 seconds; fails on a loaded machine",
    ),
    (
        "src/http.rs:140 | A replay returns 200 where the first answer was 201",
        "src/http.rs:152 | Replay returns 200, first answer returned 201",
    ),
    (
        "migrations/0019.sql:4 | The table has no index on created_at",
        "migrations/0019.sql:4 | Missing index on created_at",
    ),
    ("src/parse.rs:12 | Panics on empty input", "src/parse.rs:14 | parse() panics when the input is empty"),
    (" | Error from read_config is ignored", "src/main.rs:4 | The error of read_config is ignored"),
    (
        "src/api.py:33 | SQL injection through user_name",
        "src/api.py:35 | user_name is interpolated into SQL (injection)",
    ),
];

/// Pairs that are different issues, however alike they read.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "src/charge.rs:88 | Two requests with one key can both charge",
        "src/charge.rs:102 | A crash leaves the key locked",
    ),
    ("src/a.rs:3 | Panics on empty input", "src/b.rs:9 | Panics on empty input when the file is missing"),
    ("src/http.rs:22 | Header name differs from the docs", "src/http.rs:25 | Timeout is not configurable"),
    ("src/idem.rs:31 | Key is not scoped to the merchant", "src/idem.rs:77 | Clock skew of more than 24 h"),
    (" | The error of read_config is ignored", " | The error of write_state is ignored"),
    ("README.md | The example does not compile", "README.md | The install section is outdated"),
    ("src/x.ts:5 | fetchUser is never awaited", "src/x.ts:40 | saveUser is never awaited"),
];

fn split(issue: &str) -> (Option<Place>, &str) {
    let (at, claim) = issue.split_once(" | ").unwrap();
    (place(at), claim)
}

#[test]
fn other_words_are_the_same_issue() {
    let measure = Policy::default().similarity;
    for (a, b) in SAME {
        let ((at, a), (bt, b)) = (split(a), split(b));
        assert!(measure.is_same((at.as_ref(), a), (bt.as_ref(), b)), "{a} / {b}: {:.2}", measure.score(a, b));
    }
}

#[test]
fn like_words_about_something_else_are_another_issue() {
    let measure = Policy::default().similarity;
    for (a, b) in DIFFERENT {
        let ((at, a), (bt, b)) = (split(a), split(b));
        assert!(!measure.is_same((at.as_ref(), a), (bt.as_ref(), b)), "{a} / {b}: {:.2}", measure.score(a, b));
    }
}

#[test]
fn the_thresholds_have_room_on_both_sides() {
    // A value on the edge would flip with the next wording: every pair must keep its answer if all thresholds move.
    let measure = Policy::default().similarity;
    for step in [-0.03, 0.03] {
        let moved = Similarity {
            near: measure.near + step,
            same_file: measure.same_file + step,
            no_place: measure.no_place + step,
            other_file: measure.other_file + step,
            ..measure
        };
        for (pairs, expected) in [(SAME, true), (DIFFERENT, false)] {
            for (a, b) in pairs {
                let ((at, a), (bt, b)) = (split(a), split(b));
                let found = moved.is_same((at.as_ref(), a), (bt.as_ref(), b));
                assert_eq!(found, expected, "{step:+}: {a} / {b}: {:.2}", moved.score(a, b));
            }
        }
    }
}
