//! JavaScript: jest, vitest, mocha, and TAP as node's test runner writes it.

use super::{ReportBuilder, count_after, count_before};

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    jest(text).or_else(|| mocha(text)).or_else(|| tap(text))
}

/// jest `Tests:       1 failed, 5 passed, 6 total`; vitest `Tests  1 failed | 5 passed (6)`.
fn jest(text: &str) -> Option<ReportBuilder> {
    let is_summary = |line: &&str| {
        let line = line.trim_start();
        (line.starts_with("Tests: ") && line.contains(" total")) || (line.starts_with("Tests  ") && line.ends_with(')'))
    };
    let suites =
        |line: &&str| line.trim_start().starts_with("Test Suites: ") || line.trim_start().starts_with("Test Files  ");
    let summary = text.lines().rev().find(is_summary).or_else(|| text.lines().rev().find(suites))?;
    let mut report = ReportBuilder::default();
    report.counts(Some(count_before(summary, "passed").unwrap_or(0)), count_before(summary, "failed").unwrap_or(0));
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix("\u{25cf} ") {
            if !name.starts_with("Console") {
                report.fail(name);
            }
        } else if let Some(name) = trimmed.strip_prefix("FAIL ").filter(|name| name.contains(" > ")) {
            report.fail(name.trim());
        } else if is_comparison(trimmed) {
            report.say(trimmed);
        }
    }
    if report.names.is_empty() && report.checks.failed > 0 {
        // Only the list of tests was shown, or a suite failed to load and has no test names.
        for line in text.lines() {
            let marks = ["\u{2715} ", "\u{d7} ", "FAIL "];
            if let Some(name) = marks.iter().find_map(|mark| line.trim().strip_prefix(mark)) {
                report.fail(name);
            }
        }
    }
    Some(report)
}

fn is_comparison(line: &str) -> bool {
    ["Expected", "Received", "expect(", "AssertionError", "- Expected", "+ Received"]
        .iter()
        .any(|start| line.starts_with(start))
        || super::super::error_family::exception_name(line).is_some()
}

/// mocha: `5 passing (12ms)`, `1 failing`, then numbered failures.
fn mocha(text: &str) -> Option<ReportBuilder> {
    let passing = text.lines().find(|line| {
        line.trim_start()
            .split_once(' ')
            .is_some_and(|(n, rest)| n.parse::<u32>().is_ok() && rest.starts_with("passing"))
    })?;
    let failing = text.lines().find(|line| {
        line.trim().split_once(' ').is_some_and(|(n, rest)| n.parse::<u32>().is_ok() && rest == "failing")
    });
    let mut report = ReportBuilder::default();
    report
        .counts(count_before(passing, "passing"), failing.and_then(|line| count_before(line, "failing")).unwrap_or(0));
    if let Some(failing) = failing {
        let start = failing.as_ptr() as usize - text.as_ptr() as usize;
        let mut name: Option<String> = None;
        for line in text[start..].lines().skip(1) {
            let trimmed = line.trim();
            if let Some((number, title)) = trimmed.split_once(") ").filter(|(number, _)| number.parse::<u32>().is_ok())
            {
                name = Some(title.to_owned());
                let _ = number;
            } else if let Some(held) = &mut name {
                // Titles of nested suites are on separate lines; the last ends with a colon.
                if trimmed.is_empty() || is_comparison(trimmed) {
                    let done = std::mem::take(&mut name).unwrap_or_default();
                    report.fail(done.trim_end_matches(':').trim_end());
                } else {
                    held.push(' ');
                    held.push_str(trimmed);
                }
            }
            if is_comparison(trimmed) {
                report.say(trimmed);
            }
        }
    }
    Some(report)
}

/// TAP: `not ok 3 - name`, `# pass 5`, `# fail 1`.
fn tap(text: &str) -> Option<ReportBuilder> {
    let line_with = |label: &str| {
        text.lines().rev().find_map(|line| line.starts_with(label).then(|| count_after(line, label)).flatten())
    };
    let passed = line_with("# pass")?;
    let failed = line_with("# fail")?;
    let mut report = ReportBuilder::default();
    report.counts(Some(passed), failed);
    for line in text.lines() {
        if let Some(rest) = line.trim_start().strip_prefix("not ok ") {
            report.fail(rest.split_once(" - ").map_or(rest, |(_, name)| name));
        } else if let Some(message) = line.trim_start().strip_prefix("error: ") {
            report.say(message);
        }
    }
    Some(report)
}
