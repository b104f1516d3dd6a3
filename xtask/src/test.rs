//! `cargo xtask test`: the one test command of the project.

use std::time::Instant;

use crate::{agents, fuzz, install, shell};

/// What a suite came to.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    /// What could not be run and why.
    skipped: Vec<String>,
}

impl Tally {
    fn step(ok: bool) -> Self {
        Self { passed: u64::from(ok), failed: u64::from(!ok), skipped: Vec::new() }
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }
}

type Suite = fn() -> Result<Tally, String>;

const SUITES: &[(&str, Suite)] =
    &[("fmt", fmt), ("lint", lint), ("unit", unit), ("integration", integration), ("agents", agents), ("fuzz", fuzz)];

/// Crates whose tests belong to a suite of their own.
const AGENT_TESTS: &str = "belay-agent-tests";

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let mut chosen = Vec::new();
    for arg in args {
        match SUITES.iter().find(|(name, _)| name == arg) {
            Some(suite) => chosen.push(suite),
            None => {
                let names: Vec<_> = SUITES.iter().map(|(name, _)| *name).collect();
                return Err(format!("there is no suite `{arg}`; there are {}", names.join(", ")));
            }
        }
    }
    if chosen.is_empty() {
        chosen.extend(SUITES);
    }
    let mut total = Tally::default();
    let mut lines = Vec::new();
    for (name, suite) in chosen {
        println!("\n=== {name}");
        let start = Instant::now();
        let tally = suite()?;
        lines.push(format!(
            "{name:<12} {:>5} passed {:>4} failed {:>4} skipped {:>7.1} s",
            tally.passed,
            tally.failed,
            tally.skipped.len(),
            start.elapsed().as_secs_f64()
        ));
        total.add(tally);
    }
    println!("\n{}", lines.join("\n"));
    for skipped in &total.skipped {
        println!("skipped: {skipped}");
    }
    // In CI nothing may be missing: a skip there hides a broken install step.
    if std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1") {
        total.failed += total.skipped.len() as u64;
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
    Ok(total.failed == 0)
}

fn fmt() -> Result<Tally, String> {
    shell::run(&mut shell::cargo(&["fmt", "--all", "--check"])).map(Tally::step)
}

fn lint() -> Result<Tally, String> {
    let mut clippy = shell::cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    shell::run(&mut clippy).map(Tally::step)
}

fn unit() -> Result<Tally, String> {
    let exclude = format!("--exclude={AGENT_TESTS}");
    cargo_test(&["--workspace", &exclude, "--lib", "--bins"])
}

fn integration() -> Result<Tally, String> {
    let exclude = format!("--exclude={AGENT_TESTS}");
    // Tests start the real binary; build it once rather than from inside a test.
    if !shell::run(&mut shell::cargo(&["build", "--quiet", "--bins"]))? {
        return Ok(Tally::step(false));
    }
    let mut tally = cargo_test(&["--workspace", &exclude, "--test", "*"])?;
    tally.add(cargo_test(&["--workspace", &exclude, "--doc"])?);
    Ok(tally)
}

/// The real agent CLIs against the scripted model. A CLI that is not there skips its tests.
fn agents() -> Result<Tally, String> {
    install::debian(&["git"]);
    for (name, found) in agents::ensure_agents() {
        match found {
            Ok(program) => println!("{name}: {}", program.display()),
            Err(why) => println!("{name}: {why}"),
        }
    }
    let mut tally = cargo_test(&["--package", AGENT_TESTS])?;
    tally.skipped.sort();
    tally.skipped.dedup();
    Ok(tally)
}

/// A fixed number of inputs for every target: enough to find a fresh panic, short enough to run always.
fn fuzz() -> Result<Tally, String> {
    let missing = install::debian(&["g++"]);
    if !missing.is_empty() && !shell::has("g++") {
        return Ok(Tally {
            skipped: vec![format!("fuzz: {} could not be installed", missing.join(", "))],
            ..Tally::default()
        });
    }
    let (passed, failed) = fuzz::smoke()?;
    Ok(Tally { passed, failed, skipped: Vec::new() })
}

/// Runs `cargo test` and adds up what its test binaries say. A run that dies without saying so
/// (a build error, a crash) counts as one failure.
fn cargo_test(args: &[&str]) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut command = shell::cargo(&["test", "--quiet", "--no-fail-fast"]);
    let ok = shell::run_reading(command.args(args), |line| {
        if let Some(summary) = line.strip_prefix("test result: ") {
            tally.passed += number_before(summary, " passed");
            tally.failed += number_before(summary, " failed");
        } else if let Some(reason) = line.trim().strip_prefix("skipped: ") {
            tally.skipped.push(reason.to_owned());
        }
    })?;
    if !ok && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap_or_default();
    before.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::number_before;

    #[test]
    fn reads_the_summary_of_a_test_binary() {
        let summary = "FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        assert_eq!((number_before(summary, " passed"), number_before(summary, " failed")), (12, 3));
    }
}
