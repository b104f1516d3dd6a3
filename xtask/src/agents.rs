//! Installs the agent CLIs of the `agents` suite at the versions of `crates/agent-tests/agents.txt`.
//!
//! Each version has its own directory in the cache, so that a new pin does not affect an old one. A marker, written
//! last, shows that a directory is complete.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::install::{MAX_ATTEMPTS, cache_dir, lock};
use crate::shell;

/// The tests read the same list.
const PINS: &str = include_str!("../../crates/agent-tests/agents.txt");

/// Timeout of an attempt: npm hangs under some versions of node.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Clone, Copy)]
struct PinnedAgent {
    name: &'static str,
    package: &'static str,
    version: &'static str,
    bin: &'static str,
    script: &'static str,
}

/// An agent's name with its program, or with the reason why it is missing.
type Installed = (&'static str, Result<PathBuf, String>);

/// Installs all CLIs, once per process; other threads wait for that.
pub(crate) fn ensure_agents() -> &'static [Installed] {
    static AGENTS: OnceLock<Vec<Installed>> = OnceLock::new();
    AGENTS.get_or_init(|| pins().into_iter().map(|pin| (pin.name, ensure(&pin))).collect())
}

fn pins() -> Vec<PinnedAgent> {
    let lines = PINS.lines().filter(|line| !line.starts_with('#'));
    let pin = |line: &'static str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [name, package, version, bin, script] => Some(PinnedAgent { name, package, version, bin, script }),
        _ => None,
    };
    lines.filter_map(pin).collect()
}

fn ensure(pin: &PinnedAgent) -> Result<PathBuf, String> {
    let cache = cache_dir()?;
    let dir = cache.join("agents").join(format!("{}-{}", pin.name, pin.version));
    let program = dir.join(if pin.pypi().is_some() { "venv/bin" } else { "node_modules/.bin" }).join(pin.bin);
    let marker = dir.join("installed");
    fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let _lock = lock(&cache.join("install.lock"))?;
    if marker.exists() {
        return Ok(program);
    }
    let installer = if pin.pypi().is_some() { "python3" } else { "npm" };
    if !shell::has(installer) {
        return Err(format!("{installer} is not installed"));
    }
    let mut problem = String::new();
    for _ in 0..MAX_ATTEMPTS {
        problem = match install(pin, &dir).and_then(|()| check(pin, &cache, &program)) {
            Ok(()) => {
                File::create(&marker).map_err(|error| format!("{}: {error}", marker.display()))?;
                return Ok(program);
            }
            Err(problem) => problem,
        };
    }
    Err(problem)
}

impl PinnedAgent {
    /// The name of the package, if it is one of PyPI.
    fn pypi(&self) -> Option<&'static str> {
        self.package.strip_prefix("pypi:")
    }
}

fn install(pin: &PinnedAgent, dir: &Path) -> Result<(), String> {
    match pin.pypi() {
        Some(package) => install_from_pypi(package, pin.version, dir),
        None => install_from_npm(pin, dir),
    }
}

/// Into a virtual environment, to isolate its dependencies.
fn install_from_pypi(package: &str, version: &str, dir: &Path) -> Result<(), String> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear", "venv"]).current_dir(dir);
    shell::run_logged(&mut venv, &dir.join("venv.log"), INSTALL_TIMEOUT)?;
    let mut pip = Command::new(dir.join("venv/bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    pip.arg(format!("{package}=={version}")).current_dir(dir);
    shell::run_logged(&mut pip, &dir.join("pip.log"), INSTALL_TIMEOUT)
}

fn install_from_npm(pin: &PinnedAgent, dir: &Path) -> Result<(), String> {
    // A separate package: otherwise npm installs into a project of a parent directory.
    let manifest = fs::write(dir.join("package.json"), "{\"private\": true}\n");
    manifest.map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut npm = Command::new("npm");
    // With an exact version, because npm prefers the newest one whose `engines` match this node. Only the CLI's own
    // install script is needed, and npm runs all, some or none of them, depending on its version.
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"]);
    npm.arg(format!("{}@{}", pin.package, pin.version)).current_dir(dir);
    shell::run_logged(&mut npm, &dir.join("npm.log"), INSTALL_TIMEOUT)?;
    if pin.script == "-" {
        return Ok(());
    }
    let mut script = Command::new("node");
    script.arg(pin.script).current_dir(dir.join("node_modules").join(pin.package));
    shell::run_logged(&mut script, &dir.join("script.log"), INSTALL_TIMEOUT)
}

/// npm may succeed with another version than requested, or with one that this machine cannot run.
fn check(pin: &PinnedAgent, cache: &Path, program: &Path) -> Result<(), String> {
    // The tests share this directory: a CLI unpacks itself there on its first start.
    let home = cache.join("unpacked");
    fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    let mut version = Command::new(program);
    version.arg("--version").env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = version.stdin(Stdio::null()).output().map_err(|error| format!("{}: {error}", program.display()))?;
    if output.status.success() && String::from_utf8_lossy(&output.stdout).contains(pin.version) {
        return Ok(());
    }
    Err(format!("{} --version failed: {}", pin.bin, String::from_utf8_lossy(&output.stderr).trim()))
}

#[cfg(test)]
mod tests {
    use super::pins;

    #[test]
    fn every_pin_names_one_exact_version() {
        let pins = pins();
        assert_eq!(pins.len(), 7);
        for pin in pins {
            let numbers = pin.version.split('.').filter(|part| part.parse::<u32>().is_ok()).count();
            assert_eq!(numbers, 3, "{} {}", pin.name, pin.version);
            assert!(!pin.package.is_empty() && !pin.bin.is_empty(), "{}", pin.name);
        }
    }
}
