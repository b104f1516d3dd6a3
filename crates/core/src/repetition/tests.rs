//! Repetition that must be found, texts that must pass, and independence of chunk boundaries.

use proptest::prelude::*;

use super::{RepetitionDetector, RepetitionFinding, RepetitionKind, RepetitionRules};

fn find(text: &str) -> Option<RepetitionFinding> {
    RepetitionDetector::find_in_text(text, &RepetitionRules::default())
}

#[track_caller]
fn passes(text: &str) {
    assert_eq!(find(text), None);
}

const THOUGHT: &str = "Wait, let me think about this again. The handler closes the file before the reader is done, so the \
                       reader sees an empty buffer. Maybe the lock is taken in the wrong order. Let me look at the lock again.\n\n";

#[test]
fn finds_one_word_repeated() {
    let finding = find(&"again ".repeat(14_000)).unwrap();
    assert_eq!(finding.kind, RepetitionKind::Rounds);
    assert_eq!(finding.what, "again");
    assert!((100..300).contains(&finding.repeats), "{}", finding.repeats);
}

#[test]
fn reports_early() {
    let finding = find(&THOUGHT.repeat(50)).unwrap();
    assert_eq!(finding.kind, RepetitionKind::Rounds);
    assert!(finding.repeats <= 6 && finding.bytes < 1600, "{finding:?}");
}

#[test]
fn phrases_in_turn() {
    assert!(find(&"I will fix the test. Let me run it. ".repeat(60)).is_some());
    assert!(find(&"yes no ".repeat(400)).is_some());
}

#[test]
fn finds_a_long_period() {
    let paragraph: String = (0..180).map(|i| format!("word{} ", i * 7919 % 1000)).collect();
    assert!((1200..1500).contains(&paragraph.len()));
    let finding = find(&paragraph.repeat(6)).unwrap();
    assert_eq!(finding.repeats, 4);
    passes(&paragraph.repeat(3));
}

#[test]
fn finds_repetition_with_a_counter() {
    let text: String = (1..40).map(|i| format!("Attempt {i}: {THOUGHT}")).collect();
    assert!(find(&text).is_some());
}

#[test]
fn finds_repetition_without_spaces_and_in_other_scripts() {
    assert!(find(&"ha".repeat(20_000)).is_some());
    assert!(find(&"もう一度考えてみます。".repeat(60)).is_some());
    assert!(find(&"давай подумаем ещё раз ".repeat(60)).is_some());
    assert!(find(&"لنفكر مرة أخرى ".repeat(80)).is_some());
}

#[test]
fn finds_wordless_output() {
    assert_eq!(find(&"\n".repeat(5_000)).unwrap().kind, RepetitionKind::Wordless);
    assert_eq!(find(&"!".repeat(5_000)).unwrap().kind, RepetitionKind::Wordless);
    passes(&"-".repeat(500));
}

#[test]
fn finds_recurrence_without_a_period() {
    let sentences = [
        "Let me think about this again, because the test still fails and I do not see why it does.",
        "The fixture opens the database before the migration has been applied to it.",
        "Maybe the order of the two calls in the setup function is wrong after all.",
        "Actually the setup function is called twice, once by the base class and once here.",
        "So the second call overwrites what the first one has written to the table.",
        "Wait, but the base class checks for that and returns early when it was called before.",
    ];
    // The order changes all the time: there is no period.
    let mut at = 1usize;
    let text: String = (0..200)
        .map(|_| {
            at = (at * 5 + 3) % 97;
            format!("{} ", sentences[at % sentences.len()])
        })
        .collect();
    assert!(find(&text).is_some());
}

#[test]
fn after_long_healthy_text() {
    let mut text: String = (0..2_000)
        .map(|i| format!("Sentence number {i} is about topic {} and {}. ", i * 31 % 977, i * 17 % 613))
        .collect();
    passes(&text);
    text.push_str(&"I should stop here. ".repeat(100));
    assert!(find(&text).is_some());
}

#[test]
fn tables_lists_and_separators_pass() {
    let table: String =
        (0..200).map(|i| format!("| test_{} | passed | 0.{}s | yes | no |\n", i * 37, i % 10)).collect();
    passes(&format!("| name | state | time | a | b |\n|---|---|---|---|---|\n{table}"));
    let list: String = ["parser", "lexer", "printer", "resolver", "checker", "linker", "loader", "writer"]
        .iter()
        .flat_map(|what| {
            (0..6).map(move |i| {
                format!("- [ ] Write a unit test for the {what} that covers case {i} of the specification\n")
            })
        })
        .collect();
    passes(&list);
    passes(&format!("{}\n", "=".repeat(80)).repeat(20));
    let boxes = "┌──────────────┐\n│   request    │\n└──────┬───────┘\n".repeat(12);
    passes(&boxes);
    let bars: String = (0..100).map(|i| format!("[{}{}] {i}%\n", "#".repeat(i / 2), " ".repeat(50 - i / 2))).collect();
    passes(&bars);
}

#[test]
fn code_and_data_pass() {
    let rows: String = (0..300)
        .map(|i| {
            format!(
                "{{\"id\":{i},\"type\":\"point\",\"x\":{},\"y\":{},\"visible\":true,\"layer\":\"base\"}},",
                i * 3,
                i * 7
            )
        })
        .collect();
    passes(&rows);
    let code: String = ["name", "age", "city", "email", "phone", "street", "zip", "country"]
        .iter()
        .map(|f| format!("    pub fn {f}(&self) -> &str {{\n        &self.{f}\n    }}\n\n"))
        .collect();
    passes(&format!("```rust\n{code}```\n"));
    let sql: String = (0..100)
        .map(|i| format!("INSERT INTO users (id, name, mail) VALUES ({i}, 'user{i}', 'user{i}@example.com');\n"))
        .collect();
    passes(&sql);
    passes(&format!("let zeros = [{}];", "0, ".repeat(500)));
    passes(&format!("<ul>\n{}</ul>", "  <li class=\"item\"></li>\n".repeat(40)));
    let base64: String =
        (0u64..4000).map(|i| char::from(b'A' + (i.wrapping_mul(2_654_435_761) >> 7) as u8 % 26)).collect();
    passes(&base64);
    passes(&"A".repeat(3000));
}

#[test]
fn a_license_in_a_few_files_passes() {
    let license = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated \
                   documentation files, to deal in the Software without restriction, including without limitation the rights to \
                   use, copy, modify, merge, publish and distribute copies of the Software.\n";
    let files: String = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
        .iter()
        .map(|name| format!("Copyright the authors of {name} and all who helped {name} along.\n\n{license}\nThis is what {name} does: it is the {name} of our tools.\n\n"))
        .collect();
    passes(&files);
}

#[test]
fn reports_once() {
    let mut chant = RepetitionDetector::new(&RepetitionRules::default());
    let found = (0..1000).filter(|_| chant.push("again and again ").is_some()).count();
    assert_eq!(found, 1);
}

#[test]
fn rules_decide() {
    let lenient = RepetitionRules { bytes: 100_000, circle_words: 0, ..RepetitionRules::default() };
    assert_eq!(RepetitionDetector::find_in_text(&"again ".repeat(1000), &lenient), None);
    let strict = RepetitionRules { bytes: 60, rounds: 3, ..RepetitionRules::default() };
    assert!(RepetitionDetector::find_in_text(&"again and again ".repeat(8), &strict).is_some());
}

/// The finding, and the number of bytes before it.
fn stream<'a>(chunks: impl IntoIterator<Item = &'a str>) -> Option<RepetitionFinding> {
    let mut chant = RepetitionDetector::new(&RepetitionRules::default());
    chunks.into_iter().fold(None, |found, chunk| found.or(chant.push(chunk)))
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_matter(
        prefix in "[a-z é日\n|`-]{0,200}",
        unit in "[a-zé日0-9 .\n]{1,60}",
        times in 1..200usize,
        cuts in prop::collection::vec(0..12_000usize, 0..20),
    ) {
        let text = format!("{prefix}{}", unit.repeat(times));
        let mut cuts: Vec<_> = cuts.into_iter().map(|at| text.floor_char_boundary(at.min(text.len()))).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let mut from = 0;
        let pieces: Vec<_> = cuts.into_iter().map(|to| { let piece = &text[from..to]; from = to; piece }).collect();
        let singles = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
        let whole = stream([text.as_str()]);
        prop_assert_eq!(stream(pieces), whole.clone());
        prop_assert_eq!(stream(singles), whole);
    }

    #[test]
    fn new_words_are_not_repetition(seed in 0..1000u64) {
        let text: String = (0..4000u64).map(|i| format!("{:x} ", (i + seed * 4000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)).collect();
        prop_assert_eq!(find(&text), None);
    }
}
