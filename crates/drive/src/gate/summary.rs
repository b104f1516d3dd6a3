//! The most telling line of a gate's output.

use belay_core::outcome::{Outcome, failing_names};
use belay_core::redact::redact;

use super::process::CommandExit;

/// Read from the end of the output, where reports have their summary.
const MAX_READ_BYTES: usize = 256 * 1024;
const MAX_SUMMARY_CHARS: usize = 300;
/// Failing tests that are named.
const MAX_NAMES: usize = 5;

/// One line: what failed, or what passed.
pub(super) fn summary(exit: &CommandExit) -> String {
    let text = exit.output.tail_text(MAX_READ_BYTES);
    let told = if exit.succeeded() { passed(&text) } else { failed(&text) };
    let told = told.or_else(|| last_line(&text));
    let line = match (exit.succeeded(), told) {
        (true, Some(told)) => told,
        (true, None) => "passed".to_owned(),
        (false, Some(told)) => format!("{}: {told}", exit.describe()),
        (false, None) => format!("{}, without output", exit.describe()),
    };
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    redact(&line).chars().take(MAX_SUMMARY_CHARS).collect()
}

fn passed(text: &str) -> Option<String> {
    let report = Outcome::from_success(text, Some(0)).checks?;
    report.passed.filter(|passed| *passed > 0).map(|passed| format!("{passed} passed"))
}

fn failed(text: &str) -> Option<String> {
    let names = failing_names(text);
    let outcome = Outcome::from_output(text, Some(1));
    let count = outcome.checks.map_or(0, |report| report.failed);
    if !names.is_empty() {
        let named = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
        let more = (count as usize).max(names.len()).saturating_sub(MAX_NAMES.min(names.len()));
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Some(format!("{} failed: {named}{rest}", (count as usize).max(names.len())));
    }
    if count > 0 {
        return Some(format!("{count} failed"));
    }
    Some(outcome.family_name).filter(|cause| !cause.is_empty())
}

fn last_line(text: &str) -> Option<String> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
