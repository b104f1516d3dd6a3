//! Python's unittest and what is built on it (Django): `Ran 5 tests in 0.1s`, `FAILED (failures=1)`.

use super::{Report, count_after};

pub(super) fn read(text: &str) -> Option<Report> {
    let ran =
        text.lines().rev().find(|line| line.starts_with("Ran ") && line.contains(" test") && line.contains(" in "))?;
    let total = count_after(ran, "Ran ")?;
    let verdict = text
        .lines()
        .rev()
        .find(|line| line.starts_with("FAILED (") || *line == "FAILED" || *line == "OK" || line.starts_with("OK ("))?;
    let bad =
        ["failures=", "errors=", "unexpected successes="].iter().filter_map(|label| count_after(verdict, label)).sum();
    let mut report = Report::default();
    report.counts(Some(total.saturating_sub(bad)), bad);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            report.fail(name);
        } else if super::super::family::exception_name(line).is_some() {
            report.say(line);
        }
    }
    Some(report)
}
