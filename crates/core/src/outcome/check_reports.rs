//! Reports of tests, compilers and linters: how many passed and failed, and which.
//!
//! There is one parser per format. Each gets the normalised lines and returns a report if it recognises its
//! summary. The formats do not overlap, so the first match is right.

mod cargo;
mod ctest;
mod diagnostics;
mod dotnet;
mod go;
mod jest;
mod junit;
mod pytest;
mod rspec;
mod unittest;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error_family::strip_positions;
use super::normalise;
use crate::digest::Digest;

/// Maximum number of retained failing names.
pub(super) const MAX_FAILING_NAMES: usize = 32;

/// A report of tests, a compiler or a linter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckReport {
    /// Number of passed tests, if reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<u32>,
    /// Number of failures: tests, or diagnostics of a compiler or linter.
    pub failed: u32,
    /// Digest of the set of failing names, independent of order; also defined for the empty set.
    pub failing: Digest,
    /// Digests of the failing names, sorted; at most 32, the smallest ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Digest>,
}

/// Collects a report.
#[derive(Debug, Default)]
pub(super) struct ReportBuilder {
    pub checks: CheckReport,
    names: BTreeSet<String>,
    /// Failure messages.
    messages: Vec<String>,
}

/// Maximum number of messages that are compared.
const MAX_COMPARED_MESSAGES: usize = 64;

impl ReportBuilder {
    fn fail(&mut self, name: &str) {
        let name = without_duration(name.trim());
        if !name.is_empty() && self.names.len() < 4096 {
            self.names.insert(name.to_owned());
        }
    }

    fn say(&mut self, message: &str) {
        if self.messages.len() < MAX_COMPARED_MESSAGES {
            self.messages.push(strip_positions(message.trim()));
        }
    }

    fn counts(&mut self, passed: Option<u32>, failed: u32) {
        self.checks.passed = passed;
        self.checks.failed = failed;
    }

    fn finish(mut self) -> Self {
        self.checks.failed = self.checks.failed.max(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.checks.failing = Digest::of_parts(self.names.iter().map(|name| name.as_bytes()));
        let mut names: Vec<_> = self.names.iter().map(Digest::from_bytes).collect();
        names.sort_unstable();
        names.truncate(MAX_FAILING_NAMES);
        self.checks.names = names;
        self
    }

    /// Digest of the failure messages, or of the names if there are none.
    pub(super) fn failure(&self) -> Digest {
        let mut messages: Vec<_> = self.messages.iter().map(String::as_str).collect();
        messages.sort_unstable();
        messages.dedup();
        Digest::of_parts(self.names.iter().map(String::as_str).chain(messages).map(str::as_bytes))
    }
}

/// A name without the duration behind it: `src/a.test.js (5.1 s)`. Runners print it for slow tests only.
fn without_duration(name: &str) -> &str {
    let bare = name.trim_end_matches([')', ']', '>']);
    // Durations are already normalised, and the last bracket of the placeholder may be one of those.
    let bare = ["<dur", "<time"].into_iter().find_map(|mark| bare.strip_suffix(mark));
    bare.map_or(name, |bare| bare.trim_end_matches(['(', '[', '<', ' ', '\t']))
}

type ReportParser = fn(&str) -> Option<ReportBuilder>;

/// The parsers, and the literals one of which must occur for a parser to run.
#[rustfmt::skip]
const PARSERS: &[(ReportParser, &[&str])] = &[
    (pytest::read, &[" passed", " failed", " error in ", " errors in ", "no tests ran", " skipped in ", " deselected in ", " xfailed"]),
    (unittest::read, &["Ran "]),
    (cargo::read, &["test result: ", " run: "]),
    (go::read, &["--- FAIL: ", "--- PASS: ", "ok  \t", "ok \t", "FAIL\t"]),
    (jest::read, &["Tests: ", "Tests  ", "Test Suites: ", "Test Files  ", " passing", "# pass"]),
    (junit::read, &["Tests run: ", "tests completed", "test completed", " FAILED", "Failing tests: "]),
    (dotnet::read, &["Total:", "Total tests: "]),
    (rspec::read, &[" example", " assertion", "Assertions: "]),
    (ctest::read, &["tests passed, ", "[  PASSED  ]"]),
    (diagnostics::read, diagnostics::DIAGNOSTIC_LITERALS),
];

/// All parser literals with the index of their parser.
pub(super) fn parser_literals() -> impl Iterator<Item = (usize, &'static str)> {
    PARSERS.iter().enumerate().flat_map(|(reader, (_, signs))| signs.iter().map(move |sign| (reader, *sign)))
}

/// The report in a normalised output, from the parsers selected in `asked`.
pub(super) fn parse(text: &str, asked: u32) -> Option<ReportBuilder> {
    let readers = PARSERS.iter().enumerate().filter(|(reader, _)| asked & (1 << reader) != 0);
    readers.filter_map(|(_, (reader, _))| reader(text)).next().map(ReportBuilder::finish)
}

/// The names of failing tests in an output, or of the files with diagnostics. Names are free of durations, so that two
/// runs can be compared.
pub fn failing_names(output: &str) -> Vec<String> {
    parse(&normalise(output), u32::MAX).map(|report| report.names.into_iter().collect()).unwrap_or_default()
}

/// The number right before a word: `3 failed` in a summary.
fn count_before(line: &str, word: &str) -> Option<u32> {
    let mut from = 0;
    while let Some(found) = line[from..].find(word) {
        let at = from + found;
        from = at + word.len();
        let before = line[..at].strip_suffix(' ').unwrap_or(&line[..at]);
        let start = before
            .rfind(|c: char| !c.is_ascii_digit())
            .map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        if let Ok(count) = before[start..].parse() {
            return Some(count);
        }
    }
    None
}

/// The number right after a label: `Failures: 2`.
fn count_after(line: &str, label: &str) -> Option<u32> {
    let at = line.find(label)? + label.len();
    let rest = line[at..].trim_start_matches([' ', '=', ':']);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
