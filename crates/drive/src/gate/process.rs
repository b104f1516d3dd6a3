//! One shell command, from its start until nothing of it is left.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use belay_process::{ProcessMarker, ProcessTree};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use super::output::Output;
use crate::headless::CancelHandle;
use crate::workspace::Environment;

/// Time that processes have between the request to exit and the kill.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// Time that a killed process has to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time that a process has to exit after its command has finished.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// How often the command is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A shell command to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRun<'a> {
    pub(crate) command: &'a str,
    pub(crate) dir: &'a Path,
    pub(crate) env: &'a Environment,
    pub(crate) timeout: Option<Duration>,
    /// Time to exit after a timeout or a cancellation.
    pub(crate) grace: Duration,
    pub(crate) cancel: &'a CancelHandle,
    /// Finds the processes of the command after a crash; a temporary one by default.
    pub(crate) marker: Option<&'a ProcessMarker>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct CommandExit {
    pub(super) status: Option<ExitStatus>,
    pub(super) stopped: Option<Stopped>,
    pub(crate) output: Output,
    pub(super) duration: Duration,
}

/// Why Belay ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    Cancelled,
    TimedOut,
}

impl CommandExit {
    pub(crate) fn succeeded(&self) -> bool {
        self.stopped.is_none() && self.status.is_some_and(|status| status.success())
    }

    /// For a message: `exit status 1`.
    pub(crate) fn describe(&self) -> String {
        match (self.stopped, self.status.map(|status| (status.code(), status.signal()))) {
            (Some(Stopped::Cancelled), _) => "cancelled".to_owned(),
            (Some(Stopped::TimedOut), _) => "timed out".to_owned(),
            (None, Some((Some(code), _))) => format!("exit status {code}"),
            (None, Some((None, Some(signal)))) => format!("killed by signal {signal}"),
            (None, _) => "no exit status".to_owned(),
        }
    }
}

/// Runs a command until it and everything it started has exited.
///
/// The command holds a file open, by which its processes are found that left its process group. Only this command has
/// it, so that several can run in one process.
pub(crate) fn run_command(run: &CommandRun<'_>) -> io::Result<CommandExit> {
    let started = Instant::now();
    let scratch = tempfile::Builder::new().prefix("belay-gate-").tempdir()?;
    let marker = run.marker.cloned().unwrap_or_else(|| ProcessMarker::new(scratch.path().join("marker")));
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(run.command).current_dir(run.dir).process_group(0);
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    if let Some(env) = run.env {
        command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    }
    marker.attach(&mut command)?;
    let child = command.spawn()?;
    // It has the writing end of the pipe, too.
    drop(command);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut running = Running {
        child,
        tree: ProcessTree::new(group, marker.path()),
        reader: Some(reader),
        buffer: vec![0; 64 * 1024],
        exit: CommandExit { status: None, stopped: None, output: Output::default(), duration: Duration::ZERO },
    };
    let outcome = running.wait(run.timeout.map(|timeout| started + timeout), run.cancel);
    // Nothing is left behind, also after an error of our own.
    let ended = running.end(run.grace);
    outcome.and(ended)?;
    running.exit.duration = started.elapsed();
    Ok(running.exit)
}

struct Running {
    child: Child,
    tree: ProcessTree,
    /// `None` once every writer has closed it.
    reader: Option<io::PipeReader>,
    buffer: Vec<u8>,
    exit: CommandExit,
}

impl Running {
    /// Waits for the end of the command, the deadline or the cancellation.
    fn wait(&mut self, deadline: Option<Instant>, cancel: &CancelHandle) -> io::Result<()> {
        loop {
            if cancel.is_cancelled() {
                self.exit.stopped = Some(Stopped::Cancelled);
                return Ok(());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.exit.stopped = Some(Stopped::TimedOut);
                return Ok(());
            }
            self.exit.status = self.child.try_wait()?;
            if self.exit.status.is_some() {
                return Ok(());
            }
            self.read(POLL_INTERVAL)?;
        }
    }

    /// Ends what is left, and reads the rest of the output meanwhile.
    fn end(&mut self, grace: Duration) -> io::Result<()> {
        let grace = if self.exit.stopped.is_some() { grace } else { LEFTOVER_GRACE };
        let kill_at = Instant::now() + grace;
        self.tree.signal(Signal::TERM);
        loop {
            if self.exit.status.is_none() {
                self.exit.status = self.child.try_wait()?;
            }
            if self.exit.status.is_some() && !self.tree.is_alive() {
                break;
            }
            // A killed process whose parent never asks for its status stays in its group.
            if Instant::now() >= kill_at + KILL_TIMEOUT {
                break;
            }
            if Instant::now() >= kill_at {
                // New ones may have been started since the last look: repeated until nothing is left.
                self.tree.signal(Signal::KILL);
            }
            self.read(POLL_INTERVAL)?;
        }
        // Every writer is gone, so that the pipe ends. A process of another user could still hold it.
        let give_up_at = Instant::now() + LEFTOVER_GRACE;
        while self.reader.is_some() && Instant::now() < give_up_at {
            self.read(POLL_INTERVAL)?;
        }
        Ok(())
    }

    /// Reads what there is, or waits for it a moment.
    fn read(&mut self, wait: Duration) -> io::Result<()> {
        let Some(reader) = &mut self.reader else {
            std::thread::sleep(wait);
            return Ok(());
        };
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        match poll(&mut [PollFd::from_borrowed_fd(reader.as_fd(), PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
            Ok(_) => {
                let length = reader.read(&mut self.buffer)?;
                self.exit.output.push(&self.buffer[..length]);
                if length == 0 {
                    self.reader = None;
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}
