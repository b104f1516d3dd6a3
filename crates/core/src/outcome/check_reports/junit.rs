//! JUnit reports of Maven, Gradle and Ant.

use super::{ReportBuilder, count_after, count_before};

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    maven(text).or_else(|| gradle(text)).or_else(|| list(text))
}

/// `Tests run: 5, Failures: 1, Errors: 0, Skipped: 0`; the last line is the total.
fn maven(text: &str) -> Option<ReportBuilder> {
    let summary = text.lines().rev().find(|line| line.contains("Tests run: ") && line.contains("Failures: "))?;
    let bad = count_after(summary, "Failures: ").unwrap_or(0) + count_after(summary, "Errors: ").unwrap_or(0);
    let run = count_after(summary, "Tests run: ")?;
    let mut report = ReportBuilder::default();
    report.counts(Some(run.saturating_sub(bad).saturating_sub(count_after(summary, "Skipped: ").unwrap_or(0))), bad);
    let mut listed = false;
    for line in text.lines() {
        let line = line.strip_prefix("[ERROR]").unwrap_or(line).trim();
        if matches!(line, "Failures:" | "Errors:" | "Failed tests:" | "Tests in error:") {
            listed = true;
        } else if line.contains("<<< FAILURE!") || line.contains("<<< ERROR!") {
            let name = line.split(" <<<").next().unwrap_or(line);
            let name = name.split("Time elapsed").next().unwrap_or(name).trim_end_matches([' ', '-']);
            // The line of a class counts its tests.
            if !name.starts_with("Tests run") {
                report.fail(name);
            }
        } else if listed && line.contains(':') {
            report.say(line);
        } else if line.is_empty() {
            listed = false;
        }
        if super::super::error_family::exception_name(line).is_some() || line.starts_with("expected:") {
            report.say(line);
        }
    }
    Some(report)
}

/// `FooTest > testBar FAILED`, `5 tests completed, 1 failed`.
fn gradle(text: &str) -> Option<ReportBuilder> {
    let summary = text.lines().rev().find(|line| line.contains(" tests completed") || line.contains(" test completed"));
    let failing: Vec<_> =
        text.lines().filter(|line| line.contains(" > ") && line.trim_end().ends_with(" FAILED")).collect();
    if summary.is_none() && failing.is_empty() {
        return None;
    }
    let mut report = ReportBuilder::default();
    let total = summary.and_then(|line| count_before(line, "test")).unwrap_or(0);
    let failed = summary.and_then(|line| count_before(line, "failed")).unwrap_or(0);
    report.counts(Some(total.saturating_sub(failed)), failed);
    for line in failing {
        report.fail(line.trim().trim_end_matches("FAILED"));
    }
    for line in text.lines().map(str::trim) {
        if super::super::error_family::exception_name(line.split(" at ").next().unwrap_or(line)).is_some() {
            report.say(line);
        }
    }
    Some(report)
}

/// `Failing tests: 2` and a list of `- class::method`.
fn list(text: &str) -> Option<ReportBuilder> {
    let summary = text.lines().rev().find(|line| line.trim_start().starts_with("Failing tests: "))?;
    let mut report = ReportBuilder::default();
    report.counts(None, count_after(summary, "Failing tests: ")?);
    for line in text.lines() {
        if let Some(name) = line.trim_start().strip_prefix("- ").filter(|name| name.contains("::")) {
            report.fail(name);
        } else if super::super::error_family::exception_name(line.trim()).is_some() {
            report.say(line.trim());
        }
    }
    Some(report)
}
