//! Runs tests by cargo-nextest and reads its JUnit report.

use std::fs;
use std::process::Command;

use crate::install;
use crate::shell;

/// One test that ran.
#[derive(Debug, PartialEq)]
pub(crate) struct TestRun {
    pub(crate) name: String,
    pub(crate) seconds: f64,
}

/// The results of one nextest run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Report {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) tests: Vec<TestRun>,
    /// What tests could not check, and why: their output lines that start with `skipped: `.
    pub(crate) skipped: Vec<String>,
}

/// `cargo nextest run` with a profile of `.config/nextest.toml`.
pub(crate) fn command(profile: &str, args: &[&str]) -> Result<Command, String> {
    let mut command = Command::new(install::NEXTEST.path()?);
    command.args(["nextest", "run", "--cargo-quiet", "--profile", profile]).args(args).current_dir(shell::root());
    Ok(command)
}

/// Runs tests. A run without a report, such as after a build error, counts as one failure.
pub(crate) fn run(profile: &str, args: &[&str]) -> Result<Report, String> {
    let path = shell::root().join("target/nextest").join(profile).join("junit.xml");
    let _ = fs::remove_file(&path);
    let succeeded = shell::run(&mut command(profile, args)?)?;
    let mut report = fs::read_to_string(&path).map(|xml| parse(&xml)).unwrap_or_default();
    if !succeeded && report.failed == 0 {
        report.failed = 1;
    }
    Ok(report)
}

fn parse(xml: &str) -> Report {
    let mut report = Report::default();
    for tag in xml.split('<').filter_map(|part| part.split_once('>')) {
        match tag {
            (tag, _) if tag.starts_with("testcase ") => {
                let name = format!("{} {}", attribute(tag, "classname"), attribute(tag, "name"));
                report.tests.push(TestRun { name, seconds: attribute(tag, "time").parse().unwrap_or_default() });
            }
            (tag, _) if tag.starts_with("failure ") || tag.starts_with("error ") => report.failed += 1,
            ("system-out", text) => {
                let lines = text.lines().filter_map(|line| line.strip_prefix("skipped: "));
                report.skipped.extend(lines.map(unescape));
            }
            _ => {}
        }
    }
    report.passed = (report.tests.len() as u64).saturating_sub(report.failed);
    report.skipped.sort();
    report.skipped.dedup();
    report
}

fn attribute(tag: &str, name: &str) -> String {
    let value = tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next());
    unescape(value.unwrap_or_default())
}

fn unescape(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::{Report, TestRun, parse};

    #[test]
    fn counts_tests_failures_and_skips_of_a_report() {
        let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0" uuid="1" time="0.5">
    <testsuite name="core::budgets" tests="3" disabled="0" errors="0" failures="1">
        <testcase name="a" classname="core::budgets" timestamp="2026-11-17" time="0.014">
        </testcase>
        <testcase name="b::&lt;c&gt;" classname="core::budgets" timestamp="2026-11-17" time="1.500">
            <failure message="thread panicked" type="test failure with exit code 101">panicked</failure>
            <system-out>running 1 test</system-out>
        </testcase>
        <testcase name="d" classname="core::budgets" timestamp="2026-11-17" time="0.2">
            <system-out>
skipped: codex: not installed
skipped: codex: not installed
</system-out>
        </testcase>
    </testsuite>
</testsuites>"#;
        let test = |name: &str, seconds| TestRun { name: format!("core::budgets {name}"), seconds };
        let expected = Report {
            passed: 2,
            failed: 1,
            tests: vec![test("a", 0.014), test("b::<c>", 1.5), test("d", 0.2)],
            skipped: vec!["codex: not installed".to_owned()],
        };
        assert_eq!(parse(xml), expected);
    }
}
