use proptest::prelude::*;

use super::*;

const DIFF: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -10,6 +10,8 @@ fn a()
 ten
 eleven
-twelve
+new twelve
+new thirteen
+new fourteen
 thirteen
 fourteen
 fifteen
@@ -40 +42,0 @@
--- removed, looks like a header
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/new.txt b/new.txt
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+one
+two
";

fn at(file: &str, line: u32) -> Place {
    Place { file: file.to_owned(), line: Some(line) }
}

#[test]
fn a_diff_tells_which_lines_it_changed() {
    let changes = ChangedLines::parse(DIFF);
    assert_eq!(changes.files().collect::<Vec<_>>(), ["new.txt", "old.txt", "src/a.rs"]);
    for (line, touched) in
        [(8, false), (9, true), (12, true), (14, true), (17, true), (18, false), (43, true), (60, false)]
    {
        assert_eq!(changes.touches(&at("src/a.rs", line)), touched, "line {line}");
    }
    assert!(changes.touches(&Place { file: "src/a.rs".to_owned(), line: None }), "a whole file");
    assert!(!changes.touches(&at("src/b.rs", 12)));
}

#[test]
fn a_line_is_followed_back_through_the_rounds() {
    // Round 1 adds lines 50 to 52, round 2 inserts ten lines at the top, round 3 touches another file.
    let rounds = [
        ChangedLines::parse("--- a/x\n+++ b/x\n@@ -49,0 +50,3 @@\n+a\n+b\n+c\n"),
        ChangedLines::parse(&format!("--- a/x\n+++ b/x\n@@ -0,0 +1,10 @@\n{}", "+new\n".repeat(10))),
        ChangedLines::parse("--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"),
    ];
    assert_eq!(origin(&at("x", 61), &rounds), Some(1), "shifted by ten lines");
    assert_eq!(origin(&at("x", 5), &rounds), Some(2));
    assert_eq!(origin(&at("x", 40), &rounds), None, "was there before the task");
    assert_eq!(origin(&at("y", 1), &rounds), Some(3));
    assert_eq!(origin(&Place { file: "x".to_owned(), line: None }, &rounds), Some(2), "the last change of the file");
}

proptest! {
    #[test]
    fn any_text_is_read(diff in "((--- a/f|\\+\\+\\+ b/f|@@ -[0-9]{1,10}(,[0-9]{1,10})? \\+[0-9]{1,10}(,[0-9]{1,3})? @@|[+\\\\ -].{0,8}|.{0,8})\n){0,40}",
                        line in 0..u32::MAX) {
        let changes = ChangedLines::parse(&diff);
        let _ = changes.touches(&at("f", line));
        let _ = changes.before(&at("f", line));
    }
}

#[test]
fn a_file_is_found_by_a_part_of_its_path() {
    let changes = [ChangedLines::default(), ChangedLines::parse(&DIFF.replace("src/a.rs", "tool/src/a.rs"))];
    for file in ["src/a.rs", "a.rs", "tool/src/a.rs", "/home/ada/project/tool/src/a.rs"] {
        assert_eq!(origin(&at(file, 12), &changes), Some(2), "{file}");
    }
    for file in ["b.rs", "ool/src/a.rs", "tool/src/a"] {
        assert_eq!(origin(&at(file, 12), &changes), None, "{file}");
    }
}
