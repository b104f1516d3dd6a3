//! Finds the pinned CLIs that `cargo xtask test agents` installed.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::agent_setups::AgentSetup;
use crate::run::Run;
use crate::workbench::Workbench;

/// The same list the installer reads.
const PINS: &str = include_str!("../agents.txt");

/// Where CLIs and test runs live: `$BELAY_TEST_CACHE`, else `belay-tests` in the user's cache directory.
pub fn cache_dir() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("BELAY_TEST_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("belay-tests")))
        .or_else(|| Some(variable("HOME")?.join(".cache/belay-tests")))
}

/// A CLI ready to run.
#[derive(Clone, Debug)]
pub struct Agent {
    pub setup: &'static AgentSetup,
    pub program: PathBuf,
}

impl Agent {
    /// The installed CLI. If it is missing, prints a line to standard output, which `cargo xtask test` counts as a skip.
    pub fn or_skip(setup: &'static AgentSetup) -> Option<Self> {
        match Self::find(setup) {
            Ok(agent) => Some(agent),
            Err(why) => {
                // Not `println!`, which the test harness captures. On a separate line, because other output may precede
                // it.
                let _ = write!(io::stdout(), "\nskipped: {}: {why}\n", setup.name);
                None
            }
        }
    }

    pub fn find(setup: &'static AgentSetup) -> Result<Self, String> {
        let mut pins = PINS.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let pin = pins.find(|pin| pin.first() == Some(&setup.name));
        let Some(&[name, package, version, bin, _]) = pin.as_deref() else {
            return Err("no such CLI in agents.txt".into());
        };
        let cache = cache_dir().ok_or("no cache directory: neither BELAY_TEST_CACHE nor HOME is set")?;
        let dir = cache.join("agents").join(format!("{name}-{version}"));
        if !dir.join("installed").exists() {
            return Err(format!("{name} {version} is not installed; run `cargo xtask test agents`"));
        }
        let programs = if package.starts_with("pypi:") { "venv/bin" } else { "node_modules/.bin" };
        let agent = Self { setup, program: dir.join(programs).join(bin) };
        agent.warm_up(&cache).map_err(|error| format!("cannot be prepared: {error}"))?;
        Ok(agent)
    }

    pub fn run<'a>(&'a self, bench: &'a Workbench, url: &str, prompt: &str) -> Run<'a> {
        Run::new(self, bench, url, prompt)
    }

    /// The directory this CLI unpacks itself into on its first start, shared by all runs: unpacking takes seconds.
    pub(crate) fn shared_dir(&self) -> Option<(PathBuf, &'static str)> {
        let inside_home = self.setup.unpacks_into?;
        Some((cache_dir()?.join("unpacked").join(inside_home), inside_home))
    }

    fn warm_up(&self, cache: &Path) -> io::Result<()> {
        let Some((shared, _)) = self.shared_dir() else { return Ok(()) };
        let done = shared.join("unpacked");
        std::fs::create_dir_all(&shared)?;
        let lock = File::create(cache.join("unpacked/lock"))?;
        lock.lock()?;
        if done.exists() {
            return Ok(());
        }
        let mut version = Command::new(&self.program);
        version.arg("--version").env_clear().env("PATH", search_path()).env("HOME", cache.join("unpacked"));
        version.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if !version.status()?.success() {
            return Err(io::Error::other("`--version` failed"));
        }
        File::create(done).map(drop)
    }
}

/// The `belay` under test: `$BELAY_BIN`, else the one built next to the running test.
pub fn belay_program() -> io::Result<PathBuf> {
    if let Some(program) = std::env::var_os("BELAY_BIN") {
        return Ok(program.into());
    }
    let test = std::env::current_exe()?;
    let dir = test.parent().and_then(Path::parent).unwrap_or(&test);
    let program = dir.join(format!("belay{}", std::env::consts::EXE_SUFFIX));
    if program.exists() {
        return Ok(program);
    }
    let problem = format!("{} does not exist; build it with `cargo build --bins`", program.display());
    Err(io::Error::new(io::ErrorKind::NotFound, problem))
}

/// The system's directories and the one with `node`, which runs several CLIs.
pub(crate) fn search_path() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let node = std::env::split_paths(&path).find(|dir| dir.join("node").is_file());
    let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let dirs = node.into_iter().chain(system).map(|dir| dir.display().to_string());
    dirs.collect::<Vec<_>>().join(":")
}
