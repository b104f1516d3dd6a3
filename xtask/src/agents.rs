//! Installs the agent CLIs the suite `agents` runs, at the versions of `crates/agent-tests/agents.txt`.
//!
//! Each gets a folder of its own in the cache, so that a new pin never disturbs an old one. What is installed stays:
//! a marker written last says that a folder is complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell;

/// The tests read the same list.
const PINS: &str = include_str!("../../crates/agent-tests/agents.txt");

/// How often an install is tried: registries have bad minutes.
const TRIES: u32 = 3;

/// A try that takes longer hangs: npm does under some versions of node.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Clone, Copy)]
struct Pin {
    name: &'static str,
    package: &'static str,
    version: &'static str,
    bin: &'static str,
    script: &'static str,
}

/// Makes sure all CLIs are there. For each its name and where it is, or why it is not.
pub(crate) fn ensure_agents() -> Vec<(&'static str, Result<PathBuf, String>)> {
    pins().into_iter().map(|pin| (pin.name, ensure(&pin))).collect()
}

/// Where CLIs and test runs live; the tests look in the same place.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("BELAY_TEST_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("belay-tests")))
        .or_else(|| Some(variable("HOME")?.join(".cache/belay-tests")))
}

fn pins() -> Vec<Pin> {
    let lines = PINS.lines().filter(|line| !line.starts_with('#'));
    let pin = |line: &'static str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [name, package, version, bin, script] => Some(Pin { name, package, version, bin, script }),
        _ => None,
    };
    lines.filter_map(pin).collect()
}

fn ensure(pin: &Pin) -> Result<PathBuf, String> {
    let cache = cache_folder().ok_or("no cache folder: neither BELAY_TEST_CACHE nor HOME is set")?;
    let folder = cache.join("agents").join(format!("{}-{}", pin.name, pin.version));
    let program = folder.join("node_modules/.bin").join(pin.bin);
    let marker = folder.join("installed");
    // Two runs of the tests must not install into one folder at once.
    let lock = lock(&cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    if marker.exists() {
        return Ok(program);
    }
    if !shell::has("npm") {
        return Err("npm is not there to install it".into());
    }
    let mut problem = String::new();
    for _ in 0..TRIES {
        problem = match install(pin, &folder).and_then(|()| check(pin, &folder, &program)) {
            Ok(()) => {
                File::create(&marker).map_err(|error| format!("{}: {error}", marker.display()))?;
                return Ok(program);
            }
            Err(problem) => problem,
        };
    }
    drop(lock);
    Err(problem)
}

fn lock(cache: &Path) -> io::Result<File> {
    fs::create_dir_all(cache)?;
    let file = File::create(cache.join("install.lock"))?;
    file.lock()?;
    Ok(file)
}

fn install(pin: &Pin, folder: &Path) -> Result<(), String> {
    let prepare = fs::create_dir_all(folder)
        // A package of its own: else npm installs into whatever project lies above.
        .and_then(|()| fs::write(folder.join("package.json"), "{\"private\": true}\n"));
    prepare.map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut npm = Command::new("npm");
    // The version is named because npm else takes the newest whose `engines` admit this node. Of the install scripts
    // only the CLI's own is needed, and npm runs all, some or none of them, depending on its version.
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"]);
    npm.arg(format!("{}@{}", pin.package, pin.version)).current_dir(folder).stdin(Stdio::null());
    println!("\n$ npm install {}@{}", pin.package, pin.version);
    if !wait(&mut npm)? {
        return Err(format!("npm could not install {}@{}", pin.package, pin.version));
    }
    if pin.script == "-" {
        return Ok(());
    }
    let mut script = Command::new("node");
    script.arg(pin.script).current_dir(folder.join("node_modules").join(pin.package)).stdin(Stdio::null());
    if wait(&mut script)? { Ok(()) } else { Err(format!("{} of {} failed", pin.script, pin.package)) }
}

fn wait(command: &mut Command) -> Result<bool, String> {
    let mut child = command.spawn().map_err(|error| format!("{} could not be started: {error}", name(command)))?;
    let started = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(status.success()),
            None if started.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{} did not finish within {} s", name(command), PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

fn name(command: &Command) -> std::borrow::Cow<'_, str> {
    command.get_program().to_string_lossy()
}

/// npm may succeed with another version than asked for, or with one this machine cannot run.
fn check(pin: &Pin, folder: &Path, program: &Path) -> Result<(), String> {
    let mut version = Command::new(program);
    // Where the tests look for what a CLI unpacks on its first start.
    let home = cache_folder().map_or_else(|| folder.to_owned(), |cache| cache.join("unpacked"));
    fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
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
        assert_eq!(pins.len(), 5);
        for pin in pins {
            let numbers = pin.version.split('.').filter(|part| part.parse::<u32>().is_ok()).count();
            assert_eq!(numbers, 3, "{} {}", pin.name, pin.version);
            assert!(!pin.package.is_empty() && !pin.bin.is_empty(), "{}", pin.name);
        }
    }
}
