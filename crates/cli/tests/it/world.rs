//! A temporary home, environment and port for each test.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::channel;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use regex::Regex;

/// Timeout of every wait. Only a hang reaches it: a fast machine needs less than 20 s.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(300);

/// Runs `wait` and panics after [`TEST_TIMEOUT`].
pub(crate) fn within<T: Send + 'static>(what: &str, wait: impl FnOnce() -> T + Send + 'static) -> T {
    let (run_text, shown) = channel();
    std::thread::spawn(move || run_text.send(wait()));
    shown.recv_timeout(TEST_TIMEOUT).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Waits until the content of a file satisfies `enough`, and returns it.
pub(crate) fn file_says(path: &Path, enough: impl Fn(&str) -> bool) -> String {
    let (run_text, shown) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reads by this process are not changes; the receiver may be gone at the end of the test.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            let _ = run_text.send(());
        }
    })
    .unwrap();
    let dir = path.parent().unwrap();
    std::fs::create_dir_all(dir).unwrap();
    watcher.watch(dir, RecursiveMode::NonRecursive).unwrap();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if enough(&text) {
            return text;
        }
        shown.recv_timeout(TEST_TIMEOUT).unwrap_or_else(|error| panic!("{}: {error}: {text}", path.display()));
    }
}

/// Child processes receive SIGHUP even if the test run ignores it (`nohup`): an ignored signal is inherited, a caught
/// one is not.
static HANGUPS: LazyLock<()> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    drop(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).unwrap());
});

#[derive(Debug)]
pub(crate) struct World {
    dir: tempfile::TempDir,
    vars: Vec<(String, String)>,
}

impl Drop for World {
    /// Ends what the test has left running, such as a resident process that a hook started.
    fn drop(&mut self) {
        for process in processes_of(self.dir.path()) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
    }
}

/// The processes whose environment or command line names the directory, where `/proc` tells.
fn processes_of(dir: &Path) -> Vec<rustix::process::Pid> {
    let dir = dir.as_os_str().as_encoded_bytes();
    let names_it = |path: PathBuf| std::fs::read(path).is_ok_and(|text| memchr::memmem::find(&text, dir).is_some());
    let ids = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        (names_it(entry.path().join("environ")) || names_it(entry.path().join("cmdline"))).then_some(id)
    });
    let own = std::process::id().cast_signed();
    ids.filter(|id| *id != own).filter_map(rustix::process::Pid::from_raw).collect()
}

/// The output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl CommandOutput {
    /// The only line of JSON it printed.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl World {
    pub(crate) fn new() -> Self {
        LazyLock::force(&HANGUPS);
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home/code/app")).unwrap();
        std::fs::create_dir_all(dir.path().join("run")).unwrap();
        Self { dir, vars: Vec::new() }
    }

    /// An environment in which hooks start no resident process.
    pub(crate) fn alone() -> Self {
        Self::new().without_autostart()
    }

    pub(crate) fn without_autostart(self) -> Self {
        self.write("home/.config/belay/config.toml", "[hooks]\nautostart = false\n");
        self
    }

    pub(crate) fn var(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.vars.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("home/.local/state/belay")
    }

    /// The log of the resident process.
    pub(crate) fn log(&self) -> PathBuf {
        self.state().join("logs/serve.log")
    }

    pub(crate) fn paths(&self) -> belay_config::Paths {
        let vars = self.environment();
        belay_config::Paths::resolve(&vars.into_iter().collect(), None).unwrap()
    }

    fn environment(&self) -> Vec<(String, String)> {
        let own = |name: &str, below: &str| (name.to_owned(), self.path(below).to_str().unwrap().to_owned());
        let fixed = [("PATH", "/usr/bin:/bin"), ("TZ", "UTC"), ("USER", "ada")];
        // An agent may run the tests, but the commands under test must not count as called by it.
        let root = ("__BELAY_TEST_PROCESS_ROOT".to_owned(), std::process::id().to_string());
        let mut vars = vec![own("HOME", "home"), own("__BELAY_TEST_USER_HOME", "home"), own("XDG_RUNTIME_DIR", "run")];
        vars.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
        vars.push(root);
        vars.extend(self.vars.clone());
        vars
    }

    /// Writes a file in the test directory.
    pub(crate) fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_belay"));
        command.args(args);
        let is_called_by_agents = |name: &OsStr| name == "hook" || name == "statusline";
        if command.get_args().next().is_some_and(is_called_by_agents) && !command.get_args().any(|arg| arg == "--home")
        {
            // As installed: these take no path from their environment.
            command.args(self.paths().to_args().to_command_line());
        }
        command
    }

    /// Any program in this environment.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.path("home/code/app"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        self.run_with(args, b"")
    }

    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> CommandOutput {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || {
                // A command may exit without reading its input.
                let _ = stdin.write_all(input);
            });
            child.wait_with_output().unwrap()
        });
        CommandOutput {
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code(),
        }
    }

    /// Runs a command and formats arguments, output and exit status as one text.
    pub(crate) fn run_text(&self, args: &[&str]) -> String {
        self.run_text_with(args, b"")
    }

    pub(crate) fn run_text_with(&self, args: &[&str], input: &[u8]) -> String {
        let output = self.run_with(args, input);
        let mut text = format!("$ belay {}\n{}", args.join(" "), output.out);
        if !output.err.is_empty() {
            text.push_str(&format!("-- stderr\n{}", output.err));
        }
        if output.code != Some(0) {
            text.push_str(&format!(
                "-- exit {}\n",
                output.code.map_or("by signal".to_owned(), |code| code.to_string())
            ));
        }
        self.plain(&text)
    }

    /// A text without volatile parts.
    pub(crate) fn plain(&self, text: &str) -> String {
        static VOLATILE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
            let rows = [
                (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "[time]"),
                (r"\b(\d+[smhd] ago|just now)\b", "[ago]"),
                (r"inc-[0-9a-f]{10}", "inc-[id]"),
                (r"pid \d+", "pid [n]"),
                (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
                (r"code=[0-9a-f]{32}", "code=[code]"),
                (r"([0-9A-F]{2}:){31}[0-9A-F]{2}", "[fingerprint]"),
                // Column widths depend on their content.
                (r"([^\n ]) {2,}", "$1  "),
            ];
            rows.map(|(pattern, with)| (Regex::new(pattern).unwrap(), with)).into()
        });
        let mut text = text.to_owned();
        for dir in [std::fs::canonicalize(self.dir.path()).unwrap(), self.dir.path().to_path_buf()] {
            text = text.replace(Path::to_str(&dir).unwrap(), "");
        }
        for (pattern, with) in VOLATILE.iter() {
            text = pattern.replace_all(&text, *with).into_owned();
        }
        text
    }
}

/// Starts a Claude Code session in the test project.
pub(crate) fn session_starts(world: &World, session: &str) {
    let cwd = world.path("home/code/app");
    let payload = serde_json::json!({ "session_id": session, "hook_event_name": "SessionStart", "cwd": cwd });
    assert_eq!(world.run_with(&["hook", "claude-code"], payload.to_string().as_bytes()).code, Some(0));
}

/// A tool call as a sensor would post it.
pub(crate) fn call(id: &str, session: &str, command: &str) -> String {
    serde_json::json!({
        "id": id, "session": { "agent": "claude-code", "id": session }, "kind": "tool_called",
        "cwd": "/home/user/project", "call": format!("toolu_{id}"),
        "tool": { "kind": "shell", "name": "Bash" }, "input": { "command": command },
    })
    .to_string()
}

pub(crate) fn lines(events: &[String]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("{event}\n").into_bytes()).collect()
}
