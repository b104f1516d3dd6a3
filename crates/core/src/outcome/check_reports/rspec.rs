//! Ruby and PHP: rspec, minitest, phpunit.

use super::{ReportBuilder, count_after, count_before};

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    rspec(text).or_else(|| minitest(text)).or_else(|| phpunit(text))
}

fn leading_count(line: &str, word: &str) -> Option<u32> {
    let (number, rest) = line.split_once(' ')?;
    rest.starts_with(word).then(|| number.parse().ok()).flatten()
}

/// `5 examples, 1 failure`, then `rspec ./spec/a_spec.rb:12 # what it should do`.
fn rspec(text: &str) -> Option<ReportBuilder> {
    let summary = text.lines().rev().find(|line| leading_count(line, "example").is_some())?;
    let total = leading_count(summary, "example")?;
    let failed = count_before(summary, "failure").unwrap_or(0);
    let mut report = ReportBuilder::default();
    report.counts(Some(total.saturating_sub(failed)), failed);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(rest) = line.strip_prefix("rspec ") {
            report.fail(rest.split_once(" # ").map_or(rest, |(_, name)| name));
        } else if trimmed.starts_with("expected")
            || trimmed.starts_with("got:")
            || super::super::error_family::exception_name(trimmed.trim_end_matches(':')).is_some()
        {
            report.say(trimmed);
        }
    }
    Some(report)
}

/// `5 runs, 7 assertions, 1 failures, 0 errors, 0 skips`
fn minitest(text: &str) -> Option<ReportBuilder> {
    let summary = text.lines().rev().find(|line| {
        line.contains(" assertions, ")
            && (leading_count(line, "runs").is_some() || leading_count(line, "tests").is_some())
    })?;
    let total = leading_count(summary, "runs").or_else(|| leading_count(summary, "tests"))?;
    let bad = count_before(summary, "failures").unwrap_or(0) + count_before(summary, "errors").unwrap_or(0);
    let mut report = ReportBuilder::default();
    report.counts(Some(total.saturating_sub(bad)), bad);
    let mut named = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if std::mem::take(&mut named) {
            report.fail(trimmed.split([' ', '[', ':']).next().unwrap_or(trimmed));
        } else if trimmed.ends_with("Failure:") || trimmed.ends_with("Error:") && trimmed.len() < 16 {
            named = true;
        } else if trimmed.starts_with("Expected") || trimmed.starts_with("Actual") {
            report.say(trimmed);
        }
    }
    Some(report)
}

/// `OK (5 tests, 7 assertions)`, `Tests: 5, Assertions: 7, Failures: 1.`
fn phpunit(text: &str) -> Option<ReportBuilder> {
    let mut report = ReportBuilder::default();
    if let Some(line) = text.lines().rev().find(|line| line.starts_with("OK (") && line.contains(" assertion")) {
        report.counts(count_before(line, "test"), 0);
        return Some(report);
    }
    let summary = text.lines().rev().find(|line| line.starts_with("Tests: ") && line.contains("Assertions: "))?;
    let bad = count_after(summary, "Failures: ").unwrap_or(0) + count_after(summary, "Errors: ").unwrap_or(0);
    report.counts(Some(count_after(summary, "Tests: ")?.saturating_sub(bad)), bad);
    let mut message = false;
    for line in text.lines() {
        if std::mem::take(&mut message) {
            report.say(line);
        }
        if let Some((_, name)) =
            line.split_once(") ").filter(|(number, name)| number.parse::<u32>().is_ok() && name.contains("::"))
        {
            report.fail(name);
            message = true;
        }
    }
    Some(report)
}
