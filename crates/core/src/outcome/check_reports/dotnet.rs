//! `dotnet test`: `Failed!  - Failed: 1, Passed: 4, ...`, or the longer form with `Total tests:`.

use super::{ReportBuilder, count_after};

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    let mut report = ReportBuilder::default();
    let (mut passed, mut failed, mut seen) = (0, 0, false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if (trimmed.starts_with("Failed!") || trimmed.starts_with("Passed!")) && trimmed.contains("Total:") {
            seen = true;
            passed += count_after(trimmed, "Passed:").unwrap_or(0);
            failed += count_after(trimmed, "Failed:").unwrap_or(0);
        } else if trimmed.starts_with("Total tests: ") {
            seen = true;
        } else if line.starts_with("     Passed: ") {
            passed += count_after(trimmed, "Passed:").unwrap_or(0);
        } else if line.starts_with("     Failed: ") {
            failed += count_after(trimmed, "Failed:").unwrap_or(0);
        } else if let Some(name) = trimmed.strip_prefix("Failed ").filter(|name| name.ends_with(']')) {
            report.fail(name.split(" [").next().unwrap_or(name));
        } else if ["Assert.", "Expected:", "Actual:", "But was:"].iter().any(|start| trimmed.starts_with(start)) {
            report.say(trimmed);
        }
    }
    report.counts(Some(passed), failed);
    seen.then_some(report)
}
