//! Formats a change as a diff.

use std::fmt::Write;

use belay_agents::install::FileChange;

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 2;

/// The added and removed lines, each with its sign.
pub fn diff(change: &FileChange) -> String {
    let before: Vec<&str> = change.before.as_deref().unwrap_or_default().lines().collect();
    let after: Vec<&str> = change.after.as_deref().unwrap_or_default().lines().collect();
    // Edits of settings are one insertion or removal, so only the common prefix and suffix are skipped.
    let same = |a: &&&str, b: &&&str| a == b;
    let head = before.iter().zip(&after).take_while(|(a, b)| same(a, b)).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| same(a, b)).count();
    let mut text = String::new();
    let mut put = |sign: char, line: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{sign} {line}");
    };
    let from = head.saturating_sub(CONTEXT_LINES);
    if from > 0 {
        put(' ', "...");
    }
    before[from..head].iter().for_each(|line| put(' ', line));
    middle(&before[head..before.len() - tail], &after[head..after.len() - tail], &mut put);
    let until = (before.len() - tail + CONTEXT_LINES).min(before.len());
    before[before.len() - tail..until].iter().for_each(|line| put(' ', line));
    if until < before.len() {
        put(' ', "...");
    }
    text
}

/// Lines of the old text that occur in the new one, in order, have no sign.
fn middle(before: &[&str], after: &[&str], put: &mut impl FnMut(char, &str)) {
    let mut rest = after;
    for line in before {
        match rest.iter().position(|new| new == line) {
            Some(at) => {
                rest[..at].iter().for_each(|new| put('+', new));
                put(' ', line);
                rest = &rest[at + 1..];
            }
            None => put('-', line),
        }
    }
    rest.iter().for_each(|new| put('+', new));
}
