//! C and C++: ctest and googletest.

use super::{ReportBuilder, count_after, count_before};

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    ctest(text).or_else(|| googletest(text))
}

/// `80% tests passed, 1 tests failed out of 5`, then `3 - name (Failed)`.
fn ctest(text: &str) -> Option<ReportBuilder> {
    let summary =
        text.lines().rev().find(|line| line.contains("% tests passed, ") && line.contains(" failed out of "))?;
    let failed = count_before(summary, "tests failed").or_else(|| count_before(summary, "test failed")).unwrap_or(0);
    let total = count_after(summary, "out of ")?;
    let mut report = ReportBuilder::default();
    report.counts(Some(total.saturating_sub(failed)), failed);
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some((number, rest)) = trimmed.split_once(" - ")
            && number.parse::<u32>().is_ok()
            && let Some((name, _)) = rest.rsplit_once(" (")
        {
            report.fail(name);
        }
        if is_expectation(trimmed) {
            report.say(trimmed);
        }
    }
    Some(report)
}

/// `[  PASSED  ] 4 tests.`, `[  FAILED  ] Suite.Name`
fn googletest(text: &str) -> Option<ReportBuilder> {
    let passed = text.lines().rev().find(|line| line.starts_with("[  PASSED  ]"))?;
    let failed = text.lines().rev().find(|line| line.starts_with("[  FAILED  ]") && line.contains("listed below"));
    let mut report = ReportBuilder::default();
    report.counts(count_before(passed, "test"), failed.and_then(|line| count_before(line, "test")).unwrap_or(0));
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("[  FAILED  ] ").filter(|name| !name.contains("listed below")) {
            report.fail(name.split([' ', ',']).next().unwrap_or(name));
        } else if is_expectation(line.trim()) {
            report.say(line);
        }
    }
    Some(report)
}

fn is_expectation(line: &str) -> bool {
    ["Expected", "Which is:", "Actual:", "Value of:", "To be equal to:"].iter().any(|start| line.starts_with(start))
}
