//! Recorded reports in every format.

use super::super::Outcome;
use super::super::normalise;
use super::super::prescan::prescan;
use super::{CheckReport, ReportBuilder};
use crate::digest::Digest;

/// The report of a raw output.
fn report(raw: &str) -> Option<ReportBuilder> {
    let text = normalise(raw);
    super::parse(&text, prescan(&text).readers)
}

/// Passed, failed and failing names of a raw output.
#[track_caller]
fn read(raw: &str) -> (Option<u32>, u32, Vec<String>) {
    let report = report(raw).expect("a report");
    (report.checks.passed, report.checks.failed, report.names.into_iter().collect())
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

const PYTEST: &str = "\
============================= test session starts ==============================
platform linux -- Python 3.11.4, pytest-7.4.0, pluggy-1.2.0
collected 14 items

tests/test_a.py ..F                                                      [ 21%]
tests/test_b.py .........F.                                              [100%]

=================================== FAILURES ===================================
___________________________________ test_sum ___________________________________

    def test_sum():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_a.py:7: AssertionError
=========================== short test summary info ============================
FAILED tests/test_a.py::test_sum - assert 3 == 4
FAILED tests/test_b.py::TestIo::test_read - FileNotFoundError: [Errno 2] No s...
========================= 2 failed, 12 passed in 0.31s =========================
";

#[test]
fn pytest() {
    assert_eq!(
        read(PYTEST),
        (Some(12), 2, names(&["tests/test_a.py::test_sum", "tests/test_b.py::TestIo::test_read"]))
    );
    assert_eq!(read("..                    [100%]\n2 passed in 0.01s"), (Some(2), 0, vec![]));
    assert_eq!(read("\n===== 1 passed, 3 deselected, 2 warnings in 61.20s (0:01:01) ====="), (Some(1), 0, vec![]));
    assert_eq!(read("no tests ran in 0.00s"), (Some(0), 0, vec![]));
    let broken = "ERROR tests/test_a.py\n!!!! Interrupted: 1 error during collection !!!!\n==== 1 error in 0.07s ====";
    assert_eq!(read(broken), (Some(0), 1, names(&["tests/test_a.py"])));
    let no_summary = "____ test_one ____\nE   assert 1 == 2\n==== 1 failed in 0.02 seconds ====";
    assert_eq!(read(no_summary), (Some(0), 1, names(&["test_one"])));
}

#[test]
fn unittest() {
    let raw = "\
F.E
======================================================================
ERROR: test_load (tests.test_store.StoreTest)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"/repo/tests/test_store.py\", line 20, in test_load
    store.load()
OSError: gone
======================================================================
FAIL: test_add (tests.test_sum.SumTest)
----------------------------------------------------------------------
AssertionError: 3 != 4

----------------------------------------------------------------------
Ran 3 tests in 0.002s

FAILED (failures=1, errors=1, skipped=2)
";
    assert_eq!(
        read(raw),
        (Some(1), 2, names(&["test_add (tests.test_sum.SumTest)", "test_load (tests.test_store.StoreTest)"]))
    );
    assert_eq!(read("Ran 31 tests in 1.2s\n\nOK (skipped=1, expected failures=1)"), (Some(31), 0, vec![]));
}

#[test]
fn cargo() {
    let raw = "\
running 3 tests
test digest::tests::equal ... ok
test digest::tests::order ... FAILED
test time::tests::parses ... FAILED

failures:

---- digest::tests::order stdout ----

thread 'digest::tests::order' panicked at crates/core/src/digest.rs:80:9:
assertion `left == right` failed
  left: 1
 right: 2

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

     Running tests/cli.rs

test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.40s
";
    assert_eq!(read(raw), (Some(5), 2, names(&["digest::tests::order", "time::tests::parses"])));
    let nextest = "\
        PASS [   0.004s] belay-core digest::tests::equal
        FAIL [   0.005s] belay-core digest::tests::order
------------
     Summary [   0.032s] 12 tests run: 11 passed, 1 failed, 0 skipped
        FAIL [   0.005s] belay-core digest::tests::order
error: test run failed
";
    assert_eq!(read(nextest), (Some(11), 1, names(&["belay-core digest::tests::order"])));
}

#[test]
fn go() {
    let raw = "\
--- FAIL: TestParse (0.00s)
    --- FAIL: TestParse/empty (0.00s)
        parse_test.go:18: got 3, want 4
FAIL
FAIL\texample.com/app/parse\t0.004s
ok  \texample.com/app/store\t0.210s
FAIL
";
    assert_eq!(read(raw), (Some(1), 2, names(&["TestParse", "TestParse/empty"])));
    let build = "# example.com/app\n./main.go:7:2: undefined: foo\nFAIL\texample.com/app [build failed]\n";
    assert_eq!(read(build), (Some(0), 1, names(&["example.com/app [build failed]"])));
    assert_eq!(read("ok  \texample.com/app\t0.2s\n"), (Some(1), 0, vec![]));
}

#[test]
fn javascript() {
    let jest = "\
FAIL src/sum.test.js
  \u{25cf} sum \u{203a} adds numbers

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

Test Suites: 1 failed, 2 passed, 3 total
Tests:       1 failed, 8 passed, 9 total
Time:        1.2 s
";
    assert_eq!(read(jest), (Some(8), 1, names(&["sum \u{203a} adds numbers"])));
    let vitest = "\
 \u{276f} src/sum.test.ts (3 tests | 1 failed) 12ms
 FAIL  src/sum.test.ts > sum > adds numbers
AssertionError: expected 3 to be 4 // Object.is equality

 Test Files  1 failed | 2 passed (3)
      Tests  1 failed | 8 passed (9)
   Duration  312ms
";
    assert_eq!(read(vitest), (Some(8), 1, names(&["src/sum.test.ts > sum > adds numbers"])));
    let mocha = "
  sum
    \u{2713} adds
    1) subtracts

  1 passing (8ms)
  1 failing

  1) sum
       subtracts:

      AssertionError [ERR_ASSERTION]: 1 == 2
      + expected - actual
";
    assert_eq!(read(mocha), (Some(1), 1, names(&["sum subtracts"])));
    let tap = "TAP version 13\nnot ok 1 - adds\n  error: 'boom'\nok 2 - subtracts\n# tests 2\n# pass 1\n# fail 1\n";
    assert_eq!(read(tap), (Some(1), 1, names(&["adds"])));
}

#[test]
fn names_are_the_same_however_long_the_tests_took() {
    let cross = "Tests:       1 failed, 8 passed, 9 total";
    for (slow, fast, name) in [
        (
            "test time::parses ... FAILED <0.031s>\ntest result: FAILED. 0 passed; 1 failed; 0 ignored",
            "test time::parses ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored",
            "time::parses",
        ),
        (
            "FAILED tests/test_a.py::test_sum - assert 3 == 4\n=== 1 failed in 61.20s (0:01:01) ===",
            "FAILED tests/test_a.py::test_sum - assert 3 == 4\n=== 1 failed in 0.31s ===",
            "tests/test_a.py::test_sum",
        ),
        (
            &format!("    \u{2715} adds numbers (1203 ms)\n{cross}"),
            &format!("    \u{2715} adds numbers (12 ms)\n{cross}"),
            "adds numbers",
        ),
        (
            &format!("FAIL src/sum.test.js (5.102 s)\n{cross}"),
            &format!("FAIL src/sum.test.js\n{cross}"),
            "src/sum.test.js",
        ),
        (
            "   \u{d7} sum > adds numbers 1203ms\n      Tests  1 failed | 8 passed (9)",
            "   \u{d7} sum > adds numbers 12ms\n      Tests  1 failed | 8 passed (9)",
            "sum > adds numbers",
        ),
        ("--- FAIL: TestParse (1.20s)\nFAIL\n", "--- FAIL: TestParse (0.00s)\nFAIL\n", "TestParse"),
        (
            "  1 passing (2s)\n  1 failing\n\n  1) sum\n       adds (1203ms):\n\n      Error: 1 == 2",
            "  1 passing (8ms)\n  1 failing\n\n  1) sum\n       adds:\n\n      Error: 1 == 2",
            "sum adds",
        ),
    ] {
        assert_eq!(
            (super::failing_names(slow), super::failing_names(fast)),
            (names(&[name]), names(&[name])),
            "{slow}"
        );
        assert_eq!(checks(slow).0.failing, checks(fast).0.failing, "{slow}");
    }
}

#[test]
fn junit() {
    let maven = "\
[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in com.example.SumTest
[ERROR] com.example.SumTest.adds -- Time elapsed: 0.005 s <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <4> but was: <3>
[ERROR] com.example.SumTest.loads -- Time elapsed: 0.001 s <<< ERROR!
[ERROR] Failures:
[ERROR]   SumTest.adds:12 expected: <4> but was: <3>
[ERROR] Tests run: 9, Failures: 1, Errors: 1, Skipped: 1
";
    assert_eq!(read(maven), (Some(6), 2, names(&["com.example.SumTest.adds", "com.example.SumTest.loads"])));
    let gradle = "SumTest > adds() FAILED\n    org.opentest4j.AssertionFailedError at SumTest.java:12\n\n9 tests completed, 1 failed\n";
    assert_eq!(read(gradle), (Some(8), 1, names(&["SumTest > adds()"])));
}

#[test]
fn dotnet() {
    let raw = "\
  Failed App.Tests.SumTests.Adds [12 ms]
  Error Message:
   Assert.Equal() Failure
Expected: 4
Actual:   3

Failed!  - Failed:     1, Passed:     8, Skipped:     0, Total:     9, Duration: 40 ms - App.Tests.dll (net8.0)
";
    assert_eq!(read(raw), (Some(8), 1, names(&["App.Tests.SumTests.Adds"])));
}

#[test]
fn ruby_and_php() {
    let rspec = "\
Failures:

  1) Sum adds numbers
     Failure/Error: expect(sum(1, 2)).to eq 4

       expected: 4
            got: 3

9 examples, 1 failure

Failed examples:

rspec ./spec/sum_spec.rb:4 # Sum adds numbers
";
    assert_eq!(read(rspec), (Some(8), 1, names(&["Sum adds numbers"])));
    let minitest = "  1) Failure:\nSumTest#test_adds [test/sum_test.rb:6]:\nExpected: 4\n  Actual: 3\n\n9 runs, 12 assertions, 1 failures, 0 errors, 0 skips\n";
    assert_eq!(read(minitest), (Some(8), 1, names(&["SumTest#test_adds"])));
    let phpunit = "1) SumTest::testAdds\nFailed asserting that 3 matches expected 4.\n\nFAILURES!\nTests: 9, Assertions: 12, Failures: 1.\n";
    assert_eq!(read(phpunit), (Some(8), 1, names(&["SumTest::testAdds"])));
    assert_eq!(read("OK (9 tests, 12 assertions)"), (Some(9), 0, vec![]));
}

#[test]
fn c_and_cpp() {
    let ctest = "\
80% tests passed, 1 tests failed out of 5

Total Test time (real) =   0.05 sec

The following tests FAILED:
\t  3 - sum_adds (Failed)
Errors while running CTest
";
    assert_eq!(read(ctest), (Some(4), 1, names(&["sum_adds"])));
    let gtest = "\
sum_test.cc:5: Failure
Expected equality of these values:
[  FAILED  ] Sum.Adds (0 ms)
[  PASSED  ] 4 tests.
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Sum.Adds
";
    assert_eq!(read(gtest), (Some(4), 1, names(&["Sum.Adds"])));
}

#[test]
fn compilers_and_linters() {
    for (raw, failed) in [
        ("src/a.ts(3,5): error TS2304: Cannot find name 'foo'.\nsrc/b.ts(9,1): error TS1005: ';' expected.\n", 2),
        (
            "src/a.ts:3:5 - error TS2304: Cannot find name 'foo'.\n\n3     foo();\n      ~~~\n\nFound 1 error in src/a.ts:3\n",
            1,
        ),
        (
            "\n/repo/src/a.js\n  3:5  error  'foo' is not defined  no-undef\n  9:1  warning  Unexpected console statement  no-console\n\n\u{2716} 2 problems (1 error, 1 warning)\n",
            1,
        ),
        ("src/a.py:3:5: F821 Undefined name `foo`\nsrc/a.py:9:80: E501 Line too long (81 > 79)\nFound 2 errors.\n", 2),
        (
            "src/a.py:3: error: Name \"foo\" is not defined  [name-defined]\nFound 1 error in 1 file (checked 3 source files)\n",
            1,
        ),
        ("main.c:3:5: error: use of undeclared identifier 'foo'\n    foo();\n    ^\n1 error generated.\n", 1),
        (
            "error[E0425]: cannot find value `foo` in this scope\n --> src/a.rs:3:5\n  |\n3 |     foo\n  |     ^^^ not found\n\nerror: could not compile `x` (lib) due to 1 previous error\n",
            1,
        ),
        ("error: unused variable: `x`\n --> src/a.rs:3:9\n  |\n\nerror: could not compile `x`\n", 1),
        ("A.java:3: error: cannot find symbol\n        foo();\n        ^\n1 error\n", 1),
        ("a.py:1:0: C0114: Missing module docstring (missing-module-docstring)\n", 1),
    ] {
        assert_eq!(read(raw).1, failed, "{raw}");
    }
    for raw in [
        "All checks passed!",
        "Success: no issues found in 3 source files",
        "    Finished `dev` profile [unoptimized] target(s) in 2.1s",
    ] {
        assert_eq!(read(raw), (None, 0, vec![]));
    }
}

#[test]
fn ordinary_output_is_not_a_report() {
    for raw in [
        "total 4\n-rw-r--r-- 1 me me 12 Nov 15 10:00 a.py\n",
        "error: pathspec 'x' did not match any file(s) known to git",
        "3 files changed, 14 insertions(+), 2 deletions(-)",
        "def test_sum():\n    assert total([1, 2]) == 3\n",
        "Ran out of ideas in the end",
        "the tests passed in the end",
        "",
    ] {
        assert!(report(raw).is_none(), "{raw}");
    }
}

fn checks(raw: &str) -> (CheckReport, Option<Digest>) {
    let outcome = Outcome::from_output(raw, Some(1));
    (outcome.checks.expect("a report"), outcome.failure)
}

#[test]
fn assertions_count_and_line_numbers_do_not() {
    let (before, why) = checks(PYTEST);
    let moved = PYTEST.replace("test_a.py:7", "test_a.py:19").replace("0.31s", "0.99s");
    assert_eq!(checks(&moved), (before.clone(), why));
    let (other, other_why) = checks(&PYTEST.replace("3 == 4", "5 == 4"));
    assert_eq!(other.failing, before.failing);
    assert_ne!(other_why, why);
}

#[test]
fn a_smaller_failing_set_is_a_change() {
    let one = "FAILED a.py::x - boom\n== 1 failed, 3 passed in 0.1s ==";
    let two = "FAILED a.py::x - boom\nFAILED a.py::y - boom\n== 2 failed, 2 passed in 0.1s ==";
    let (one, _) = checks(one);
    let (two, _) = checks(two);
    assert_ne!(one.failing, two.failing);
    assert!(one.names.iter().all(|name| two.names.contains(name)));
    assert_eq!((one.failed, two.failed), (1, 2));
}

#[test]
fn names_are_bounded() {
    let many: String = (0..5000).map(|i| format!("FAILED a.py::test_{i} - boom\n")).collect();
    let (report, _) = checks(&format!("{many}== 5000 failed in 3.1s =="));
    assert_eq!(report.failed, 5000);
    assert_eq!(report.names.len(), super::MAX_FAILING_NAMES);
}
