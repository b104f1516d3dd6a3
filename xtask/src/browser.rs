//! The dashboard in Debian's Chromium: the suite `browser`, screenshots, a benchmark. See `docs/dev/browser-tests.md`.
//!
//! The npm packages are in `browser/node_modules`, where node finds them. A copy of the lock file, written last, shows
//! that they are complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::install::{self, MAX_ATTEMPTS, cache_dir, lock};
use crate::nextest::{Report, TestRun};
use crate::shell;

/// Timeout of an attempt to install the npm packages.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(300);

/// Where Debian installs the browser; `browser/support/browser.js` starts it from there.
const CHROMIUM: &str = "/usr/bin/chromium";

/// Installs the browser and the npm packages, once per process; other threads wait for that.
pub(crate) fn ensure() -> Result<(), String> {
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    INSTALLED.get_or_init(|| chromium().and_then(|()| packages())).clone()
}

pub(crate) fn prepare() {
    let _ = ensure();
}

fn chromium() -> Result<(), String> {
    if Path::new(CHROMIUM).exists() {
        return Ok(());
    }
    install::install_debian_packages(&["chromium"]);
    if Path::new(CHROMIUM).exists() { Ok(()) } else { Err("chromium is not installed".to_owned()) }
}

fn packages() -> Result<(), String> {
    let dir = dir();
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let wanted = read(&dir.join("package-lock.json"))?;
    let marker = dir.join("node_modules/.installed-lock.json");
    let cache = cache_dir()?;
    fs::create_dir_all(&cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    let _lock = lock(&cache.join("browser.lock"))?;
    if fs::read(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if !shell::has("npm") {
        return Err("npm is not installed".to_owned());
    }
    let mut problem = String::new();
    for _ in 0..MAX_ATTEMPTS {
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"]);
        match shell::run_logged(npm.current_dir(&dir), &cache.join("browser-npm.log"), INSTALL_TIMEOUT) {
            Ok(()) => return fs::write(&marker, &wanted).map_err(|error| format!("{}: {error}", marker.display())),
            Err(why) => problem = why,
        }
    }
    Err(problem)
}

/// Checks the types of the scripts, and runs the tests.
pub(crate) fn test() -> Result<Report, String> {
    let types = shell::run(Command::new(dir().join("node_modules/.bin/tsc")).arg("--project").arg(dir()))?;
    let mut report = Report { passed: u64::from(types), failed: u64::from(!types), ..Report::default() };
    build()?;
    let path = shell::root().join("target/browser-report.tsv");
    let _ = fs::remove_file(&path);
    let succeeded = shell::run(node("run.js").env("BELAY_TEST_REPORT", &path))?;
    let tests = parse(&fs::read_to_string(&path).unwrap_or_default());
    // A run that ends early counts as one failure.
    report.failed += tests.failed.max(u64::from(!succeeded));
    report.passed += tests.passed;
    report.skipped = tests.skipped;
    report.tests = tests.tests;
    Ok(report)
}

/// `cargo xtask screenshots`: takes the pictures that README and docs show.
pub(crate) fn screenshots() -> Result<bool, String> {
    ensure()?;
    build()?;
    // Without them, the pictures have the system's fonts.
    install::install_debian_packages(&["fonts-inter", "fonts-jetbrains-mono"]);
    shell::run(&mut node("screenshots.js"))
}

/// `cargo xtask bench screen`: the release build in a real browser.
pub(crate) fn bench(args: &[String]) -> Result<bool, String> {
    ensure()?;
    if !shell::run(&mut shell::cargo(&["build", "--release", "--quiet", "-p", "belayer"]))? {
        return Ok(false);
    }
    let binary = shell::root().join("target/release/belay");
    shell::run(node("bench.js").args(args).env("BELAY_TEST_BINARY", binary))
}

/// The product and the scripted model. All suites select the same packages, so that little is built twice.
fn build() -> Result<(), String> {
    let built = shell::run(&mut shell::cargo(&["build", "--workspace", "--bins", "--quiet"]))?;
    if built { Ok(()) } else { Err("the product does not build".to_owned()) }
}

fn node(script: &str) -> Command {
    let mut node = Command::new("node");
    node.arg(dir().join(script)).current_dir(shell::root());
    node
}

fn dir() -> PathBuf {
    shell::root().join("browser")
}

/// Reads the lines of a report: outcome, seconds and name, separated by tabs.
fn parse(text: &str) -> Report {
    let mut report = Report::default();
    for line in text.lines() {
        let mut columns = line.splitn(3, '\t');
        let (Some(outcome), Some(seconds), Some(name)) = (columns.next(), columns.next(), columns.next()) else {
            continue;
        };
        match outcome {
            "pass" => report.passed += 1,
            "fail" => report.failed += 1,
            _ => report.skipped.push(format!("browser: {name}")),
        }
        report.tests.push(TestRun { name: format!("browser {name}"), seconds: seconds.parse().unwrap_or_default() });
    }
    report
}

#[cfg(test)]
mod tests {
    use super::{Report, TestRun, parse};

    #[test]
    fn counts_the_lines_of_a_report() {
        let test = |name: &str, seconds| TestRun { name: format!("browser {name}"), seconds };
        let expected = Report {
            passed: 1,
            failed: 1,
            tests: vec![test("logs in", 1.5), test("eight tabs", 30.0), test("later", 0.0)],
            skipped: vec!["browser: later".to_owned()],
        };
        assert_eq!(parse("pass\t1.500\tlogs in\nfail\t30.000\teight tabs\nskip\t0.000\tlater\n"), expected);
    }
}
