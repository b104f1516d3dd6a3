//! Idempotence, scripts and the volatile parts one by one.

use proptest::prelude::*;

use super::{normalise, strip_volatile};

#[test]
fn volatile_parts_are_replaced() {
    let cases = [
        ("took 0.25s", "took <dur>"),
        ("took 12 ms and 1h2m3s", "took <dur> and <dur>"),
        ("at 2026-11-15T18:07:33.123Z done", "at <time> done"),
        ("2026-11-15 18:07:33,123 INFO ready", "<time> INFO ready"),
        ("[18:07:33] ready", "[<time>] ready"),
        ("-rw-r--r-- 1 me me 806 Oct 24  2024 a.txt", "-rw-r--r-- 1 me me 806 <time> a.txt"),
        ("drwx 1 me me 4096 Nov 18 23:47 src", "drwx 1 me me 4096 <time> src"),
        ("Date:   Thu Dec 25 02:12:29 2025 +0000", "Date: <time>"),
        ("Thu, 25 Dec 2025 02:12:29 GMT", "<time>"),
        ("<Foo object at 0x7f3a12bc9d10>", "<Foo object at <hex>>"),
        ("[main 1a2b3c4] message", "[main <hex>] message"),
        ("id 01505466-39cc-4f61-b2b2-cc83419a41b9.", "id <uuid>."),
        ("pid 4711, PGID: 25431", "pid <pid>, PGID: <pid>"),
        ("<shellId: 3 completed>", "<shellId: <pid> completed>"),
        ("Chunk ID: 8f3a1b", "Chunk ID: <id>"),
        ("listening on localhost:43121", "listening on localhost:<port>"),
        ("on port 43121", "on port <port>"),
        ("/tmp/tmpab12cd/x.py:3: boom", "/tmp/*/x.py:3: boom"),
        ("/tmp/pytest-of-me/pytest-17/test_a0/out.txt", "/tmp/pytest-of-me/*/test_a0/out.txt"),
        ("/var/folders/zz/abc123/T/tmpfoo_x/a.rs", "/tmp/*/a.rs"),
        ("1.2 MB/s eta 3s", "<rate> eta <dur>"),
        ("\u{1b}[31merror\u{1b}[0m: 12\u{1b}[0ms", "error: <dur>"),
        ("10%\r50%\r100% done\r", "100% done"),
        ("\u{280b} working 12s", "\u{28ff} working <dur>"),
        ("at 1731650853 and 1731650853123", "at <time> and <time>"),
    ];
    for (input, expected) in cases {
        assert_eq!(normalise(input), expected, "{input}");
    }
}

#[test]
fn consecutive_times_need_one_pass() {
    let row = ")m =9m3,\u{0}".to_owned() + &"6:03:03,\u{0}\u{0}".repeat(12) + "6:03:03";
    let once = normalise(&row);
    assert_eq!(normalise(&once), once);
    assert_eq!(normalise("6:03:03,6:03:04,6:03:05.25"), "<time>,<time>,<time>");
}

#[test]
fn meaningful_numbers_stay() {
    for text in [
        "src/a.py:12:34: error: 3 != 4",
        "AssertionError: 3 != 5",
        "assert 12.5 == 12.6 after 3s",
        "expected 2026-01-01 but got 2026-01-02",
        "3 failed, 14 passed",
        "index 14 out of range 0..14",
        "version 1.2.3 of crate-4.5.6",
        "see docs/2024.md and main_v2.rs",
        "/home/user/project/src/lib.rs",
        "/tmp/repro.py",
        "exit code 3",
        "HTTP 404",
        "5 items, 3 more",
    ] {
        assert_eq!(normalise(text), text);
    }
}

#[test]
fn notes_of_the_harness_are_not_part_of_the_output() {
    let text = "one\ntwo\n\n<system-reminder>\nDo not say so.\n</system-reminder>\n";
    assert_eq!(normalise(text), "one\ntwo");
    let quoted = "let tag = \"<system-reminder>\";\nnext";
    assert_eq!(normalise(quoted), quoted);
}

#[test]
fn every_script_survives() {
    for text in ["テストが失敗しました", "فشل الاختبار", "тест упал", "测试失败 3 次", "🎉🎉", "한국어 오류", "é"]
    {
        assert_eq!(normalise(text), text);
    }
}

#[test]
fn inputs_keep_their_numbers() {
    assert_eq!(
        strip_volatile("sleep 30 && curl localhost:8080 && kill 4711"),
        "sleep 30 && curl localhost:8080 && kill 4711"
    );
    assert_eq!(strip_volatile("cat /tmp/tmpab12cd/out"), "cat /tmp/*/out");
    assert_eq!(strip_volatile("git show 1a2b3c4"), "git show 1a2b3c4");
}

/// Texts assembled from the fragments the rules match.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "12",
            "5",
            "2026",
            "-",
            ":",
            "11",
            "T",
            "Z",
            " ",
            "  ",
            ".",
            "s",
            "ms",
            "h",
            "m",
            "pid",
            "port",
            "=",
            "==",
            "[",
            "]",
            "/tmp/",
            "/",
            "tmpab12cd",
            "0x",
            "deadbeef1",
            "\u{1b}[0m",
            "\u{1b}",
            "\r",
            "\u{8}",
            "\n",
            "<system-reminder>",
            "</system-reminder>",
            "<",
            ">",
            "<time>",
            "<dur>",
            "Nov",
            "Thu",
            ",",
            "+0200",
            "PM",
            "localhost",
            "Chunk ID",
            "\u{280b}",
            "\u{b5}s",
            "é",
            "日本",
            "assert",
            " != ",
            "01505466-39cc-4f61-b2b2-cc83419a41b9",
            "1731650853",
            "MB/s",
            "_",
            "*",
            "/var/folders/",
            "expected",
            "\t",
            "\u{3000}",
        ])
        .prop_map(str::to_owned),
        "[0-9a-f]{1,9}",
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn normalising_twice_changes_nothing(text in hostile()) {
        let once = normalise(&text);
        prop_assert_eq!(normalise(&once), once);
    }

    #[test]
    fn stripping_inputs_is_idempotent(text in hostile()) {
        let once = strip_volatile(&text).into_owned();
        prop_assert_eq!(strip_volatile(&once), once.as_str());
    }

    #[test]
    fn letters_never_vanish(text in "[\\p{Han}\\p{Arabic}\\p{Hiragana}\\p{Cyrillic}]{1,20}") {
        prop_assert_eq!(normalise(&text), text);
    }
}

#[test]
fn numbers_do_not_become_a_time_in_the_second_pass() {
    for row in [">2:21:21:21d left", "m\t2:22:22,2:22:22,2MM"] {
        let once = normalise(row);
        assert_eq!(normalise(&once), once, "{row}");
    }
}
