//! `cargo xtask test`: the one test command of the project.

mod lint;

use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::nextest::{Report, TestRun};
use crate::{agents, browser, fuzz, install, nextest, repository, shell};

/// Number of slowest tests listed at the end of a run.
const SLOWEST: usize = 10;

/// The result of a suite.
#[derive(Default)]
struct SuiteResult {
    passed: u64,
    failed: u64,
    /// What could not run, and why.
    skipped: Vec<String>,
    tests: Vec<TestRun>,
}

impl SuiteResult {
    fn step(passed: bool) -> Self {
        Self { passed: u64::from(passed), failed: u64::from(!passed), ..Self::default() }
    }

    fn skip(reason: String) -> Self {
        Self { skipped: vec![reason], ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
        self.tests.extend(other.tests);
    }
}

impl From<Report> for SuiteResult {
    fn from(report: Report) -> Self {
        let Report { passed, failed, skipped, tests } = report;
        Self { passed, failed, skipped, tests }
    }
}

struct Suite {
    name: &'static str,
    run: fn() -> Result<SuiteResult, String>,
    /// Starts when the command starts, in the background: what a later suite needs is installed while an earlier one
    /// compiles.
    prepare: Option<fn()>,
}

const SUITES: &[Suite] = &[
    Suite { name: "fmt", run: fmt, prepare: None },
    Suite { name: "lint", run: lint::run, prepare: Some(lint::prepare) },
    Suite { name: "unit", run: unit, prepare: Some(install_nextest) },
    Suite { name: "integration", run: integration, prepare: Some(install_nextest) },
    Suite { name: "browser", run: browser, prepare: Some(browser::prepare) },
    Suite { name: "agents", run: agents, prepare: Some(install_agents) },
    Suite { name: "fuzz", run: fuzz, prepare: None },
];

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let mut chosen = Vec::new();
    for arg in args {
        let suite = SUITES.iter().find(|suite| suite.name == arg);
        chosen.push(suite.ok_or_else(|| {
            let names: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
            format!("unknown suite `{arg}`; the suites are {}", names.join(", "))
        })?);
    }
    if chosen.is_empty() {
        chosen.extend(SUITES);
    }
    for prepare in chosen.iter().filter_map(|suite| suite.prepare) {
        thread::spawn(prepare);
    }
    let mut total = SuiteResult::default();
    let mut lines = Vec::new();
    let begin = Instant::now();
    for suite in chosen {
        println!("\n=== {}", suite.name);
        let start = Instant::now();
        let result = (suite.run)().unwrap_or_else(|error| {
            println!("{}: {error}", suite.name);
            SuiteResult::step(false)
        });
        lines.push(row(suite.name, &result, start));
        total.add(result);
    }
    lines.push(row("total", &total, begin));
    print_slowest(&mut total.tests);
    println!("\n{}", lines.join("\n"));
    for skipped in &total.skipped {
        println!("skipped: {skipped}");
    }
    // A skip in CI hides a broken install step.
    if std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1") {
        total.failed += total.skipped.len() as u64;
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
    Ok(total.failed == 0)
}

fn row(name: &str, result: &SuiteResult, start: Instant) -> String {
    let (passed, failed, skipped) = (result.passed, result.failed, result.skipped.len());
    let seconds = start.elapsed().as_secs_f64();
    format!("{name:<12} {passed:>5} passed {failed:>4} failed {skipped:>4} skipped {seconds:>7.1} s")
}

fn print_slowest(tests: &mut [TestRun]) {
    tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    if !tests.is_empty() {
        println!("\nslowest tests:");
    }
    for test in tests.iter().take(SLOWEST) {
        println!("{:>7.1} s  {}", test.seconds, test.name);
    }
}

fn fmt() -> Result<SuiteResult, String> {
    let mut result = shell::run(&mut shell::cargo(&["fmt", "--all", "--check"])).map(SuiteResult::step)?;
    let mut fuzz = shell::cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]);
    result.add(shell::run(&mut fuzz).map(SuiteResult::step)?);
    Ok(result)
}

/// All suites select the same packages, so that cargo resolves the same features and builds each dependency once.
fn unit() -> Result<SuiteResult, String> {
    nextest::run("default", &["--workspace", "--lib", "--bins"]).map(Into::into)
}

fn integration() -> Result<SuiteResult, String> {
    let filter = "not package(belay-agent-tests)";
    let mut result: SuiteResult =
        nextest::run("default", &["--workspace", "--test", "*", "--filterset", filter])?.into();
    let packages = packages_with_doc_tests()?;
    if !packages.is_empty() {
        let mut doc = shell::cargo(&["test", "--quiet", "--doc"]);
        doc.args(packages.iter().map(|package| format!("--package={package}")));
        result.add(SuiteResult::step(shell::run(&mut doc)?));
    }
    Ok(result)
}

/// Packages whose documentation has code examples: rustdoc takes seconds for a package without any.
fn packages_with_doc_tests() -> Result<Vec<String>, String> {
    let root = shell::root();
    let mut packages = Vec::new();
    for file in repository::files()?.iter().filter(|file| file.ends_with(".rs")) {
        let Some((package, _)) = file.split_once("/src/") else { continue };
        let text = repository::read(file)?;
        let example = |line: &str| line.starts_with("/// ```") || line.starts_with("//! ```");
        if text.lines().any(|line| example(line.trim_start())) {
            packages.push(package_name(&root.join(package))?);
        }
    }
    packages.dedup();
    Ok(packages)
}

fn package_name(dir: &Path) -> Result<String, String> {
    let manifest = dir.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.map(str::to_owned).ok_or_else(|| format!("{} has no name", manifest.display()))
}

/// The dashboard in a real browser. Without one, the suite is skipped.
fn browser() -> Result<SuiteResult, String> {
    match browser::ensure() {
        Ok(()) => browser::test().map(Into::into),
        Err(why) => Ok(SuiteResult::skip(format!("browser: {why}"))),
    }
}

/// The real agent CLIs against the scripted model. A missing CLI skips its tests.
fn agents() -> Result<SuiteResult, String> {
    install_agent_requirements();
    for (name, installed) in agents::ensure_agents() {
        match installed {
            Ok(program) => println!("{name}: {}", program.display()),
            Err(why) => println!("{name}: {why}"),
        }
    }
    // The tests of the CLI are selected because cargo builds the `belay` binary with them.
    let args = ["--workspace", "--test", "agents", "--test", "it", "--filterset", "package(belay-agent-tests)"];
    nextest::run("agents", &args).map(Into::into)
}

/// A fixed number of inputs for every target: enough to find a fresh panic, short enough to run always.
fn fuzz() -> Result<SuiteResult, String> {
    let missing = install::install_debian_packages(&["g++"]);
    if !missing.is_empty() && !shell::has("g++") {
        return Ok(SuiteResult::skip(format!("fuzz: cannot install {}", missing.join(", "))));
    }
    let (passed, failed) = fuzz::smoke()?;
    Ok(SuiteResult { passed, failed, ..SuiteResult::default() })
}

fn install_nextest() {
    let _ = install::NEXTEST.path();
}

fn install_agents() {
    install_nextest();
    install_agent_requirements();
    agents::ensure_agents();
}

/// aider is installed into a virtual environment of Python, which Debian packages separately.
fn install_agent_requirements() {
    install::install_debian_packages(&["git", "python3-venv"]);
}
