//! One run of an agent, in a process of its own: `belay exec`.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belay_core::session::Budget;
use belay_core::task::Spend;
use belay_drive::environment::Environment;
use belay_drive::headless::CancelHandle;
use belay_process::{ProcessMarker, running_since, start_time};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::agent_output::RunOutput;
use crate::error::TaskError;
use crate::task_dir::{TaskDir, write_json};

/// How often the output of a run is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time that `belay exec` has to end its agent. It kills what does not exit within a few seconds by itself.
const CANCEL_GRACE: Duration = Duration::from_secs(20);
/// Kept of the end of stderr.
const MAX_STDERR_BYTES: usize = 2000;

/// What to run.
#[derive(Debug)]
pub(crate) struct AgentCommand<'a> {
    /// The agent, or the path of a program.
    pub(crate) agent: &'a str,
    pub(crate) model: Option<&'a str>,
    /// `read-only`, `workspace` or `full`; `None` for a program that Belay does not know.
    pub(crate) access: Option<&'static str>,
    pub(crate) dir: &'a Path,
    pub(crate) prompt: &'a Path,
    pub(crate) schema: Option<&'a Path>,
    /// Id of the agent's session to continue.
    pub(crate) resume: Option<&'a str>,
    pub(crate) timeout: Duration,
    pub(crate) budget: Budget,
    pub(crate) env: &'a Environment,
    /// The program of Belay.
    pub(crate) belay: &'a Path,
}

impl AgentCommand<'_> {
    fn args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = ["exec", "--json", "--timeout"].map(Into::into).to_vec();
        // A second more than nothing: zero would mean no limit.
        args.push(format!("{}s", self.timeout.as_secs().max(1)).into());
        let mut option = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                args.extend([name.into(), value]);
            }
        };
        option("--dir", Some(self.dir.into()));
        option("--access", self.access.map(Into::into));
        option("--model", self.model.map(Into::into));
        option("--resume", self.resume.map(Into::into));
        option("--schema", self.schema.map(Into::into));
        option("--file", Some(self.prompt.into()));
        option("--budget", (!self.budget.is_unlimited()).then(|| self.budget.to_string().into()));
        args.push(self.agent.into());
        args
    }
}

/// The process of an agent step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RunProcess {
    pid: u32,
    /// With the pid, identifies the process after a restart.
    start_time: Option<u64>,
    /// What the session that it continues has cost before.
    #[serde(default)]
    spent_before: Spend,
}

/// A process that runs, started by this process or by one before it.
#[derive(Debug)]
pub(crate) struct AgentRun {
    /// `None` if the process that started it was killed before it could write this down.
    process: Option<RunProcess>,
    /// `None` if another process started it.
    child: Option<Child>,
    output: PathBuf,
    stderr: PathBuf,
    marker: ProcessMarker,
}

impl AgentRun {
    /// Starts a run. Its output goes to files, so that it survives this process. `spent_before`: what the session that it
    /// continues has cost.
    pub(crate) fn start(
        command: &AgentCommand<'_>,
        dir: &TaskDir,
        attempt: u32,
        spent_before: Spend,
    ) -> Result<Self, TaskError> {
        let (output, stderr) = (dir.run_file(attempt, "jsonl"), dir.run_file(attempt, "stderr"));
        let create = |path: &Path| {
            let created = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
            created.map_err(|source| TaskError::Write { path: path.to_owned(), source })
        };
        let (stdout_file, stderr_file) = (create(&output)?, create(&stderr)?);
        let mut process = Command::new(command.belay);
        process.args(command.args()).env_clear().envs(command.env.iter());
        process.current_dir(command.dir).process_group(0);
        process.stdin(Stdio::null()).stdout(stdout_file).stderr(stderr_file);
        let spawned = dir.marker(attempt).attach(&mut process).and_then(|()| process.spawn());
        let child = spawned.map_err(|source| TaskError::Invalid(format!("cannot start `belay exec`: {source}")))?;
        let process = RunProcess { pid: child.id(), start_time: start_time(child.id()), spent_before };
        let written = write_json(&dir.run_file(attempt, "json"), &process);
        let run = Self { process: Some(process), child: Some(child), output, stderr, marker: dir.marker(attempt) };
        // Without it, not every system could find the run after a crash.
        if let Err(error) = written {
            run.kill();
            let cancelled = CancelHandle::default();
            cancelled.cancel();
            let _ = run.wait(&cancelled, || {});
            return Err(error);
        }
        Ok(run)
    }

    /// The run of an attempt that another process started; `None` if nothing was started.
    pub(crate) fn find(dir: &TaskDir, attempt: u32) -> Result<Option<Self>, TaskError> {
        let process: Option<RunProcess> = dir.read_json(&format!("runs/{attempt}.json"))?;
        let (output, stderr) = (dir.run_file(attempt, "jsonl"), dir.run_file(attempt, "stderr"));
        let was_started = process.is_some() || dir.run_file(attempt, "marker").exists();
        Ok(was_started.then(|| Self { process, child: None, output, stderr, marker: dir.marker(attempt) }))
    }

    /// Waits for the end of the process, and returns what it printed. `on_output` is called when there is more of it.
    pub(crate) fn wait(mut self, cancel: &CancelHandle, mut on_output: impl FnMut()) -> io::Result<RunEnd> {
        let mut seen = 0;
        let mut cancelled_at: Option<Instant> = None;
        let exit = ExitWatch::new(self.pid());
        while self.is_running() {
            if cancel.is_cancelled() {
                match cancelled_at {
                    None => {
                        cancelled_at = Some(Instant::now());
                        match self.process {
                            Some(_) => self.signal(Signal::TERM),
                            None => drop(self.marker.end_processes()),
                        }
                    }
                    Some(since) if since.elapsed() >= CANCEL_GRACE => self.kill(),
                    Some(_) => {}
                }
            }
            let length = self.output.metadata().map_or(0, |metadata| metadata.len());
            if length != seen {
                seen = length;
                on_output();
            }
            exit.wait(POLL_INTERVAL);
        }
        let output = RunOutput::read(&self.output);
        if !output.as_ref().is_ok_and(|output| output.result.is_some()) {
            // `belay exec` was killed, and its agent may still work.
            self.marker.end_processes();
        }
        let output = output?;
        Ok(RunEnd { output, stderr: self.stderr_tail() })
    }

    /// What the session that the run continues has cost before.
    pub(crate) fn spent_before(&self) -> Spend {
        self.process.as_ref().map(|process| process.spent_before).unwrap_or_default()
    }

    /// A process before this one started it.
    pub(crate) fn is_adopted(&self) -> bool {
        self.child.is_none()
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.process.as_ref()?.pid).ok().and_then(Pid::from_raw)
    }

    fn is_running(&mut self) -> bool {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None if self.process.is_none() => self.marker.has_processes(),
            None => self.is_same_process(),
        }
    }

    /// A pid is used again; its start time is not. Without start times nothing is known, and nothing is signalled: the pid
    /// may be that of another program by now.
    fn is_same_process(&self) -> bool {
        let Some(process) = &self.process else { return false };
        process.start_time.is_some() && process.start_time == running_since(process.pid)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid().filter(|_| self.child.is_some() || self.is_same_process()) {
            let _ = kill_process(pid, signal);
        }
    }

    fn kill(&self) {
        if let Some(pid) = self.pid().filter(|_| self.child.is_some() || self.is_same_process()) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    fn stderr_tail(&self) -> String {
        let bytes = std::fs::read(&self.stderr).unwrap_or_default();
        let tail = &bytes[bytes.len().saturating_sub(MAX_STDERR_BYTES)..];
        String::from_utf8_lossy(tail).trim().to_owned()
    }
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct RunEnd {
    pub(crate) output: RunOutput,
    pub(crate) stderr: String,
}

/// Notices the end of a process at once where the system can tell.
struct ExitWatch {
    #[cfg(target_os = "linux")]
    fd: Option<std::os::fd::OwnedFd>,
}

impl ExitWatch {
    #[cfg(target_os = "linux")]
    fn new(pid: Option<Pid>) -> Self {
        let open = |pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok();
        Self { fd: pid.and_then(open) }
    }

    #[cfg(not(target_os = "linux"))]
    fn new(_pid: Option<Pid>) -> Self {
        Self {}
    }

    /// Returns when the process has ended, or after `timeout`.
    fn wait(&self, timeout: Duration) {
        #[cfg(target_os = "linux")]
        if let Some(fd) = &self.fd {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};
            let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
            let _ = poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout));
            return;
        }
        std::thread::sleep(timeout);
    }
}
