//! Python's unittest and frameworks based on it (Django): `Ran 5 tests in 0.1s`, `FAILED (failures=1)`.

use super::{ReportBuilder, count_after};

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    let ran =
        text.lines().rev().find(|line| line.starts_with("Ran ") && line.contains(" test") && line.contains(" in "))?;
    let total = count_after(ran, "Ran ")?;
    let verdict = text
        .lines()
        .rev()
        .find(|line| line.starts_with("FAILED (") || *line == "FAILED" || *line == "OK" || line.starts_with("OK ("))?;
    let bad = match verdict.strip_prefix("FAILED (") {
        Some(counts) => counts.trim_end_matches(')').split(", ").filter_map(failures).sum(),
        None => 0,
    };
    let mut report = ReportBuilder::default();
    report.counts(Some(total.saturating_sub(bad)), bad);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            report.fail(name);
        } else if super::super::error_family::exception_name(line).is_some() {
            report.say(line);
        }
    }
    Some(report)
}

/// `failures=2` and `errors=1` count; `skipped=3` and `expected failures=1` do not.
fn failures(part: &str) -> Option<u32> {
    let (what, count) = part.split_once('=')?;
    matches!(what, "failures" | "errors" | "unexpected successes").then(|| count.parse().ok()).flatten()
}
