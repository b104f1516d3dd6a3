//! A separate home and project for each test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::installed_agents::{Agent, cache_dir, search_path};

/// Lives in the cache directory rather than in `/tmp`: some CLIs distrust directories that others may write to.
/// `BELAY_TEST_KEEP=1` keeps it for inspection.
#[derive(Debug)]
pub struct Workbench {
    root: TempDir,
    keep: bool,
}

impl Workbench {
    /// An empty home and a project directory under git with one commit, the same in every run.
    pub fn new() -> io::Result<Self> {
        let cache = cache_dir().ok_or_else(|| io::Error::other("neither BELAY_TEST_CACHE nor HOME is set"))?;
        let runs = cache.join("runs");
        fs::create_dir_all(&runs)?;
        let root = tempfile::Builder::new().prefix("run-").tempdir_in(runs)?;
        let keep = std::env::var_os("BELAY_TEST_KEEP").is_some();
        let bench = Self { root, keep };
        bench.set_up()?;
        Ok(bench)
    }

    /// Starts over in the same directory: compared runs must not differ in paths.
    pub fn reset(&self) -> io::Result<()> {
        fs::remove_dir_all(self.home())?;
        fs::remove_dir_all(self.work())?;
        self.set_up()
    }

    fn set_up(&self) -> io::Result<()> {
        fs::create_dir_all(self.home())?;
        self.write("README.md", "# A project\n")?;
        self.git(&["init", "--quiet", "--initial-branch=main"])?;
        self.git(&["add", "."])?;
        self.git(&["commit", "--quiet", "--message=Begin"])
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.root().join("project")
    }

    /// The absolute path of a file in the project, as agents expect it.
    pub fn path(&self, file: &str) -> String {
        self.work().join(file).display().to_string()
    }

    pub fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.work().join(file))
    }

    pub fn write(&self, file: &str, content: &str) -> io::Result<()> {
        write_file(&self.work().join(file), content)
    }

    /// A command in the project that sees only this home and the programs of the system, and can reach only loopback.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.work()).stdin(Stdio::null());
        command.env_clear().env("PATH", search_path()).env("HOME", self.home());
        // A bare `belay` in a hook asks the user database for the home directory.
        command.env("__BELAY_TEST_USER_HOME", self.home());
        // On a busy machine, hooks must not decide without the resident process.
        command.env("BELAY_HOOK_TIMEOUT", "5s");
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        // An agent may run the tests, but what they start is not called by it.
        command.env("__BELAY_TEST_PROCESS_ROOT", std::process::id().to_string());
        // These tests assert what Belay does. How fast it does it, also on a busy machine, is the benchmarks' subject.
        command.env("BELAY_HOOK_TIMEOUT", "5s");
        // Network access fails at once instead of timing out.
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(proxy, "http://127.0.0.1:9");
        }
        command.env("NO_PROXY", "127.0.0.1,localhost").env("no_proxy", "127.0.0.1,localhost");
        command
    }

    /// Writes the configuration of a CLI into the home, unless it is there already.
    pub fn configure(&self, agent: &Agent) -> io::Result<()> {
        for (file, content) in agent.setup.files {
            let file = self.home().join(file);
            if !file.exists() {
                write_file(&file, content)?;
            }
        }
        if let Some((shared, inside_home)) = agent.shared_dir() {
            let link = self.home().join(inside_home);
            if !link.exists() {
                fs::create_dir_all(link.parent().unwrap_or(&link))?;
                link_dir(&shared, &link)?;
            }
        }
        Ok(())
    }

    /// As [`Workbench::configure`], for runs whose arguments do not name the model.
    pub fn configure_with_model(&self, agent: &Agent, url: &str) -> io::Result<()> {
        self.configure(agent)?;
        let Some((file, end)) = agent.setup.model_config else { return Ok(()) };
        let file = self.home().join(file);
        let text = fs::read_to_string(&file)?;
        write_file(&file, &(text + &end.replace("{url}", url)))
    }

    /// Commits everything in the project.
    pub fn commit(&self, message: &str) -> io::Result<()> {
        self.git(&["add", "."])?;
        self.git(&["commit", "--quiet", "--message", message])
    }

    fn git(&self, args: &[&str]) -> io::Result<()> {
        let mut git = Command::new("git");
        git.args(args).current_dir(self.work()).stdin(Stdio::null()).env("HOME", self.home());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_AUTHOR_NAME", "Test").env("GIT_AUTHOR_EMAIL", "test@localhost");
        git.env("GIT_COMMITTER_NAME", "Test").env("GIT_COMMITTER_EMAIL", "test@localhost");
        // Fixed dates: agents put the commit id into their requests.
        git.env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z").env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
        let output = git.output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr))))
    }
}

impl Drop for Workbench {
    fn drop(&mut self) {
        self.root.disable_cleanup(self.keep);
    }
}

fn write_file(file: &Path, content: &str) -> io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    fs::write(file, content)
}

#[cfg(unix)]
fn link_dir(to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

#[cfg(not(unix))]
fn link_dir(_to: &Path, _link: &Path) -> io::Result<()> {
    // Each run unpacks for itself.
    Ok(())
}
