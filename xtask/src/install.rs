//! Installs the dependencies of the tests. A missing tool skips its step; with `CI=true` a skip fails the run.
//!
//! Tools are in the cache directory of the tests, one directory per version, so that a new pin does not affect an old
//! one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use crate::shell;

/// Attempts per installation: package registries fail occasionally.
pub(crate) const MAX_ATTEMPTS: u32 = 3;

/// Building a tool takes about two minutes on two idle cores.
const BUILD_TIMEOUT: Duration = Duration::from_secs(1200);

const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(120);

/// A program that the tests run. Its first [`Tool::path`] installs it; other threads wait for that.
pub(crate) struct Tool {
    program: &'static str,
    version: &'static str,
    krate: &'static str,
    /// The PyPI package that ships the binary: a download instead of a build.
    wheel: Option<&'static str>,
    /// Whether another version on the search path serves as well.
    any_version: bool,
    path: OnceLock<Result<PathBuf, String>>,
}

pub(crate) static NEXTEST: Tool = Tool {
    program: "cargo-nextest",
    version: "0.9.143",
    krate: "cargo-nextest",
    wheel: None,
    any_version: true,
    path: OnceLock::new(),
};

pub(crate) static DENY: Tool = Tool {
    program: "cargo-deny",
    version: "0.20.2",
    krate: "cargo-deny",
    wheel: None,
    any_version: true,
    path: OnceLock::new(),
};

/// Pinned: a newer dictionary finds typos in files that did not change.
pub(crate) static TYPOS: Tool = Tool {
    program: "typos",
    version: "1.51.1",
    krate: "typos-cli",
    wheel: Some("typos"),
    any_version: false,
    path: OnceLock::new(),
};

impl Tool {
    /// Where the program is, or why it is missing.
    pub(crate) fn path(&self) -> Result<PathBuf, String> {
        let path = self.path.get_or_init(|| self.ensure());
        path.clone().map_err(|why| format!("{} is not installed: {why}", self.program))
    }

    fn ensure(&self) -> Result<PathBuf, String> {
        let on_search_path = PathBuf::from(self.program);
        if shell::version(&on_search_path).is_some_and(|text| self.any_version || text.contains(self.version)) {
            return Ok(on_search_path);
        }
        let tools = cache_dir()?.join("tools");
        let dir = tools.join(format!("{}-{}", self.program, self.version));
        fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        let _lock = lock(&dir.join("install.lock"))?;
        let program = dir.join("bin").join(self.program);
        if !works(&program) {
            self.install(&dir).or_else(|_| self.build(&dir))?;
        }
        if works(&program) { Ok(program) } else { Err(format!("{} does not run", program.display())) }
    }

    fn install(&self, dir: &Path) -> Result<(), String> {
        let wheel = self.wheel.ok_or("no wheel")?;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade"]);
        pip.args(["--only-binary=:all:", "--target"]).arg(dir).arg(format!("{wheel}=={}", self.version));
        shell::run_logged(&mut pip, &dir.join("install.log"), DOWNLOAD_TIMEOUT)
    }

    fn build(&self, dir: &Path) -> Result<(), String> {
        let mut cargo = shell::cargo(&["install", "--quiet", "--locked", "--force", self.krate]);
        cargo.args(["--version", self.version, "--root"]).arg(dir);
        // Without optimization: a third of the time to build, and fast enough for a repository of this size.
        cargo.args(["--profile", "dev"]).env("CARGO_PROFILE_DEV_DEBUG", "0");
        shell::run_logged(&mut cargo, &dir.join("install.log"), BUILD_TIMEOUT)
    }
}

fn works(program: &Path) -> bool {
    shell::version(program).is_some()
}

/// The cache directory of the tests: tools, agent CLIs and test runs. The agent tests use the same directory.
pub(crate) fn cache_dir() -> Result<PathBuf, String> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("BELAY_TEST_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("belay-tests")))
        .or_else(|| Some(variable("HOME")?.join(".cache/belay-tests")))
        .ok_or_else(|| "no cache directory: neither BELAY_TEST_CACHE nor HOME is set".to_owned())
}

/// Two runs of the tests must not install into one directory at the same time.
pub(crate) fn lock(path: &Path) -> Result<File, String> {
    let locked = File::create(path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| format!("cannot lock {}: {error}", path.display()))
}

/// Installs Debian packages where there is apt. Returns the packages that are missing afterwards.
pub(crate) fn install_debian_packages(packages: &[&str]) -> Vec<String> {
    // Suites prepare in parallel, but apt runs only once at a time.
    static APT: Mutex<()> = Mutex::new(());
    let _one_at_a_time = APT.lock();
    let missing = |packages: &[&str]| -> Vec<String> {
        packages.iter().filter(|p| !is_installed(p)).map(|p| (*p).to_owned()).collect()
    };
    let mut wanted = missing(packages);
    if wanted.is_empty() || !shell::has("apt-get") {
        return wanted;
    }
    for _ in 0..MAX_ATTEMPTS {
        let mut update = apt();
        let _ = shell::run(update.args(["update", "-qq"]));
        let mut install = apt();
        let _ = shell::run(install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(&wanted));
        wanted = missing(packages);
        if wanted.is_empty() {
            break;
        }
    }
    wanted
}

fn apt() -> Command {
    // Only root may install; otherwise use sudo without a prompt where it exists.
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0\n"));
    let mut command = if root || !shell::has("sudo") { Command::new("apt-get") } else { Command::new("sudo") };
    if command.get_program() == "sudo" {
        command.args(["-n", "apt-get"]);
    }
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Abbrev}", package]).output();
    query.is_ok_and(|output| output.stdout.starts_with(b"ii"))
}
