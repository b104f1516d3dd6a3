//! One run of one CLI: an empty environment, bounded time, nothing left running.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::installed_agents::{Agent, search_path};
use crate::transcript::{self, Transcript};
use crate::workbench::Workbench;

/// Reached only if something hangs, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Builds a run.
#[derive(Debug)]
pub struct Run<'a> {
    agent: &'a Agent,
    bench: &'a Workbench,
    url: String,
    prompt: String,
    session: Option<String>,
    env: Vec<(String, String)>,
    args: Vec<String>,
    path_first: Vec<PathBuf>,
    through: Option<(PathBuf, Vec<String>)>,
    timeout: Duration,
}

impl<'a> Run<'a> {
    pub(crate) fn new(agent: &'a Agent, bench: &'a Workbench, url: &str, prompt: &str) -> Self {
        Self {
            agent,
            bench,
            url: url.to_owned(),
            prompt: prompt.to_owned(),
            session: None,
            env: vec![],
            args: vec![],
            path_first: vec![],
            through: None,
            timeout: TIMEOUT,
        }
    }

    /// Resumes an earlier session.
    pub fn resume(mut self, session: &str) -> Self {
        self.session = Some(session.to_owned());
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// An argument after those of the setup.
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// Searches a directory for programs before all others.
    pub fn prepend_path(mut self, dir: impl Into<PathBuf>) -> Self {
        self.path_first.push(dir.into());
        self
    }

    /// Starts the CLI through another program, which gets these arguments, then the CLI and its arguments.
    pub fn via_proxy(mut self, program: impl Into<PathBuf>, args: &[&str]) -> Self {
        self.through = Some((program.into(), args.iter().map(|arg| (*arg).to_owned()).collect()));
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The command as it will be run, for tests that start it by other means (a terminal, `belay run`).
    pub fn command(&self) -> Command {
        let setup = self.agent.setup;
        let mut command = match &self.through {
            Some((program, args)) => {
                let mut command = self.bench.command(program);
                command.args(args).arg(&self.agent.program);
                command
            }
            None => self.bench.command(&self.agent.program),
        };
        let args = if self.session.is_some() { setup.resume } else { setup.start };
        command.args(args.iter().map(|arg| self.fill(arg))).args(&self.args);
        if !self.path_first.is_empty() {
            let dirs = self.path_first.iter().map(|dir| dir.display().to_string());
            command.env("PATH", dirs.chain([search_path()]).collect::<Vec<_>>().join(":"));
        }
        command.envs(setup.env.iter().map(|(name, value)| (name, self.fill(value))));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{url}", &self.url)
            .replace("{session}", self.session.as_deref().unwrap_or_default())
            .replace("{home}", &self.bench.home().display().to_string())
            .replace("{work}", &self.bench.work().display().to_string())
            .replace("{prompt}", &self.prompt)
    }

    pub fn start(self) -> io::Result<Running> {
        self.bench.configure(self.agent)?;
        // Files, not pipes: a process that outlives the CLI would keep a pipe open.
        let outputs = tempfile::Builder::new().prefix("output-").tempdir_in(self.bench.root())?.keep();
        let (stdout, stderr) = (outputs.join("stdout"), outputs.join("stderr"));
        let mut command = self.command();
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let started = Instant::now();
        let (group, ended) = spawn(command)?;
        Ok(Running {
            agent: self.agent.clone(),
            home: self.bench.home(),
            group,
            ended,
            status: None,
            started,
            timeout: self.timeout,
            stdout,
            stderr,
        })
    }

    pub fn finish(self) -> io::Result<Finished> {
        self.start()?.finish()
    }
}

/// A running CLI. Drop kills it with all its children.
#[derive(Debug)]
pub struct Running {
    agent: Agent,
    home: PathBuf,
    group: Group,
    ended: Receiver<io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
    started: Instant,
    timeout: Duration,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    pub fn id(&self) -> u32 {
        self.group.0
    }

    /// Its output so far.
    pub fn output(&self) -> io::Result<String> {
        Ok(read(&self.stdout)? + &read(&self.stderr)?)
    }

    /// Waits for the exit. A CLI that does not exit in time is killed; the error has its output.
    pub fn finish(mut self) -> io::Result<Finished> {
        let status = match self.ended.recv_timeout(self.timeout) {
            Ok(status) => status?,
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the waiting thread is gone")),
            Err(RecvTimeoutError::Timeout) => {
                let (name, output) = (self.agent.setup.name, self.output()?);
                let problem = format!("{name} did not end within {:?}; output:\n{output}", self.timeout);
                return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
            }
        };
        self.status = Some(status);
        Ok(Finished {
            code: status.code(),
            took: self.started.elapsed(),
            stdout: read(&self.stdout)?,
            stderr: read(&self.stderr)?,
            transcripts: transcript::find(self.agent.setup.transcripts, &self.home)?,
            session_key: self.agent.setup.session_key,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.group.kill();
        }
    }
}

fn read(file: &PathBuf) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(file)?).into_owned())
}

/// A run after its exit.
#[derive(Debug)]
pub struct Finished {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub took: Duration,
    pub stdout: String,
    pub stderr: String,
    /// All transcripts in the home, those of earlier runs included.
    pub transcripts: Vec<Transcript>,
    session_key: &'static str,
}

impl Finished {
    /// All output, as in a terminal.
    pub fn output(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// The end of it, for the message of a failed assertion.
    pub fn tail(&self) -> String {
        const SHOWN: usize = 4000;
        let output = self.output();
        let from = output.ceil_char_boundary(output.len().saturating_sub(SHOWN));
        format!("exit code {:?} after {:.1?}; end of the output:\n{}", self.code, self.took, &output[from..])
    }

    /// The JSON lines of standard output.
    pub fn events(&self) -> Vec<Value> {
        self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The agent's own id of the session.
    pub fn session(&self) -> Option<String> {
        self.events().iter().find_map(|event| find_key(event, self.session_key))
    }
}

fn find_key(value: &Value, key: &str) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let here = fields.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
            here.or_else(|| fields.values().find_map(|value| find_key(value, key)))
        }
        Value::Array(values) => values.iter().find_map(|value| find_key(value, key)),
        _ => None,
    }
}

/// The process group of a CLI, named by the id of its first process.
#[derive(Debug)]
struct Group(u32);

/// Starts the command in its own process group, and a thread that waits for it.
fn spawn(mut command: Command) -> io::Result<(Group, Receiver<io::Result<ExitStatus>>)> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child: Child = command.spawn()?;
    let group = Group(child.id());
    let (report, ended) = mpsc::channel();
    std::thread::spawn(move || report.send(child.wait()));
    Ok((group, ended))
}

impl Group {
    #[cfg(unix)]
    fn kill(&self) {
        let leader = i32::try_from(self.0).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(leader) = leader {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn kill(&self) {}
}
