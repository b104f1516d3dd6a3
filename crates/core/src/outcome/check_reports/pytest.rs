//! pytest: `=== 1 failed, 4 passed in 0.12s ===`, with or without the rulers.

use super::{ReportBuilder, count_before};

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    // The summary contains a duration; searching for it first skips other formats quickly.
    memchr::memmem::find(text.as_bytes(), b" in <")?;
    let summary = text.lines().rev().find(|line| is_summary(line))?;
    let mut report = ReportBuilder::default();
    let failed = count_before(summary, "failed").unwrap_or(0);
    let errors = count_before(summary, "error").unwrap_or(0);
    report.counts(Some(count_before(summary, "passed").unwrap_or(0)), failed + errors);
    let mut headings = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            let (name, message) = rest.split_once(" - ").unwrap_or((rest, ""));
            report.fail(name);
            if !message.is_empty() {
                report.say(message);
            }
        } else if let Some(message) = line.strip_prefix("E   ") {
            report.say(message);
        } else if line.starts_with("___") && line.ends_with("___") {
            headings.push(line.trim_matches(['_', ' ']));
        }
    }
    if report.names.is_empty() && failed + errors > 0 {
        // Reports without the short summary still have a heading per failure.
        for heading in headings {
            report.fail(heading);
        }
    }
    Some(report)
}

fn is_summary(line: &str) -> bool {
    let line = line.trim_matches(['=', ' ']);
    // Durations are already normalised.
    let Some((counts, took)) = line.split_once(" in ") else { return false };
    if !took.starts_with("<dur>") && !took.starts_with("<time>") {
        return false;
    }
    counts == "no tests ran"
        || counts.split(", ").all(|part| {
            part.split_once(' ').is_some_and(|(number, word)| {
                number.bytes().all(|b| b.is_ascii_digit())
                    && [
                        "passed",
                        "failed",
                        "error",
                        "errors",
                        "skipped",
                        "deselected",
                        "xfailed",
                        "xpassed",
                        "warning",
                        "warnings",
                        "rerun",
                        "subtests passed",
                    ]
                    .contains(&word)
            })
        })
}
