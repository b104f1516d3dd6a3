//! `cargo test` and `cargo nextest`.

use super::{ReportBuilder, count_before};

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    let mut report = ReportBuilder::default();
    let (mut passed, mut failed, mut seen) = (0, 0, false);
    let mut panicked = false;
    let panics = text.contains("panicked at ");
    for line in text.lines() {
        let trimmed = line.trim_start();
        if std::mem::take(&mut panicked) {
            report.say(trimmed);
        }
        if trimmed.starts_with("test result: ") || (trimmed.starts_with("Summary [") && trimmed.contains(" run: ")) {
            seen = true;
            passed += count_before(trimmed, "passed").unwrap_or(0);
            failed += count_before(trimmed, "failed").unwrap_or(0);
        } else if let Some((name, _)) = trimmed
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... FAILED"))
            // With `--report-time`, a duration follows.
            .filter(|(_, after)| after.is_empty() || after.starts_with([' ', '<', '(']))
        {
            report.fail(name);
        } else if let Some((_, name)) = ["FAIL [", "SIGABRT [", "TIMEOUT ["]
            .iter()
            .find_map(|mark| trimmed.strip_prefix(mark))
            .and_then(|rest| rest.split_once("] "))
        {
            report.fail(name);
        } else if panics && trimmed.contains("panicked at ") {
            // Since 2023 the message is on the next line.
            match trimmed.split_once("panicked at '") {
                Some((_, message)) => report.say(message),
                None => panicked = true,
            }
        } else if trimmed.starts_with("left: ") || trimmed.starts_with("right: ") {
            report.say(trimmed);
        }
    }
    report.counts(Some(passed), failed);
    seen.then_some(report)
}
