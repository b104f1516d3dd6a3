//! The agent's process: its output, its deadline, and its end.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use belay_clock::now;
use belay_core::Timestamp;
use belay_core::status::StatusValue;
use belay_process::ProcessTree;
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{interval, sleep, sleep_until, timeout};

use crate::launch::{LaunchError, Program};
use crate::limits::MIN_LIMIT;

/// Time that processes have between the request to exit and the kill.
const GRACE: Duration = Duration::from_secs(5);
/// Time that a process has to exit after its agent has finished.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// How often an ending run is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// How often the session is checked for a usage limit: some agents retry silently for hours.
const LIMIT_INTERVAL: Duration = Duration::from_secs(2);
/// Kept at the end of stderr.
const MAX_STDERR_BYTES: usize = 8 * 1024;

/// Cancels a run, from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle(Arc<watch::Sender<bool>>);

impl Default for CancelHandle {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl CancelHandle {
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    async fn cancelled(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives as long as this handle.
        let _ = receiver.wait_for(|cancelled| *cancelled).await;
    }
}

/// How the process ended.
#[derive(Debug)]
pub(super) struct Exit {
    pub(super) status: Option<ExitStatus>,
    /// Why Belay ended it.
    pub(super) stopped: Option<Stopped>,
    stderr: VecDeque<u8>,
}

/// Why Belay ended a process.
#[derive(Debug)]
pub(super) enum Stopped {
    Cancelled,
    TimedOut,
    Limited { message: String, until: Timestamp },
}

impl Exit {
    #[cfg(test)]
    pub(super) fn for_test(status: ExitStatus, stderr: &str) -> Self {
        Self { status: Some(status), stopped: None, stderr: stderr.bytes().collect() }
    }

    /// The end of stderr.
    pub(super) fn stderr_tail(&self) -> String {
        let bytes: Vec<u8> = self.stderr.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

/// Runs the program until it and everything it started has exited.
pub(super) fn run(
    program: Program<'_>,
    prompt: &str,
    deadline: Option<Instant>,
    cancel: &CancelHandle,
    output: impl FnMut(&[u8]),
) -> Result<Exit, LaunchError> {
    let stdin = prompt_file(program.run_dir.path(), prompt)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut command = Command::new(program.path);
        command.args(&program.launch.args).envs(program.launch.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(program.dir).process_group(0).kill_on_drop(true);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = command.spawn();
        let child = spawned.map_err(|source| LaunchError::Spawn { program: program.path.to_owned(), source })?;
        Run { program, child, output, exit: Exit { status: None, stopped: None, stderr: VecDeque::new() } }
            .run(deadline, cancel)
            .await
    })
}

/// The prompt as a file: a pipe would block if the agent does not read it.
fn prompt_file(dir: &Path, prompt: &str) -> io::Result<File> {
    let path = dir.join("prompt.md");
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(prompt.as_bytes())?;
    File::open(path)
}

/// A running agent.
struct Run<'a, F> {
    program: Program<'a>,
    child: Child,
    output: F,
    exit: Exit,
}

impl<F: FnMut(&[u8])> Run<'_, F> {
    async fn run(mut self, deadline: Option<Instant>, cancel: &CancelHandle) -> Result<Exit, LaunchError> {
        let group = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let tree = ProcessTree::new(group, &self.program.run_dir.lock_file());
        let (mut stdout, mut stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let mut limit_check = interval(LIMIT_INTERVAL);
        let (mut out, mut err) = (vec![0; 64 * 1024], vec![0; 8 * 1024]);
        let expired = async {
            match deadline {
                Some(deadline) => sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(expired);
        let outcome = loop {
            tokio::select! {
                // A program that floods its output must not escape its deadline. Output comes before the exit: what the
                // agent said last is part of its answer.
                biased;
                () = cancel.cancelled() => { self.exit.stopped = Some(Stopped::Cancelled); break Ok(()) }
                () = &mut expired => { self.exit.stopped = Some(Stopped::TimedOut); break Ok(()) }
                read = read(&mut stdout, &mut out) => match read {
                    Ok(length) => self.read(length, &mut stdout, &out),
                    Err(error) => break Err(error),
                },
                read = read(&mut stderr, &mut err) => match read {
                    Ok(length) => self.read_stderr(length, &mut stderr, &err),
                    Err(error) => break Err(error),
                },
                status = self.child.wait() => match status {
                    Ok(status) => { self.exit.status = Some(status); break Ok(()) }
                    Err(error) => break Err(error),
                },
                _ = limit_check.tick() => if let Some(limited) = self.limit() {
                    self.exit.stopped = Some(limited);
                    break Ok(());
                },
            }
        };
        // Nothing is left behind, also after an error of our own.
        let grace = if self.exit.stopped.is_some() { GRACE } else { LEFTOVER_GRACE };
        self.end(&tree, grace, &mut stdout, &mut stderr).await?;
        outcome?;
        Ok(self.exit)
    }

    /// Ends what is left of the run, and reads the rest of its output meanwhile.
    async fn end(
        &mut self,
        tree: &ProcessTree,
        grace: Duration,
        stdout: &mut Option<impl AsyncRead + Unpin>,
        stderr: &mut Option<impl AsyncRead + Unpin>,
    ) -> io::Result<()> {
        let (mut out, mut err) = (vec![0; 64 * 1024], vec![0; 8 * 1024]);
        let kill_at = tokio::time::Instant::now() + grace;
        tree.signal(Signal::TERM);
        loop {
            if self.exit.status.is_none() {
                self.exit.status = self.child.try_wait()?;
            }
            if self.exit.status.is_some() && !tree.is_alive() {
                break;
            }
            // A killed process whose parent never asks for its status stays in its group.
            if tokio::time::Instant::now() >= kill_at + GRACE {
                break;
            }
            if tokio::time::Instant::now() >= kill_at {
                // New ones may have been started since the last look: repeated until nothing is left.
                tree.signal(Signal::KILL);
            }
            tokio::select! {
                biased;
                read = read(stdout, &mut out) => self.read(read?, stdout, &out),
                read = read(stderr, &mut err) => self.read_stderr(read?, stderr, &err),
                () = sleep(POLL_INTERVAL) => {}
            }
        }
        // Every writer is gone, so that the pipes end.
        let rest = async {
            while stdout.is_some() {
                let read = read(stdout, &mut out).await?;
                self.read(read, stdout, &out);
            }
            while stderr.is_some() {
                let read = read(stderr, &mut err).await?;
                self.read_stderr(read, stderr, &err);
            }
            io::Result::Ok(())
        };
        // A process of another user could still hold them.
        timeout(LEFTOVER_GRACE, rest).await.unwrap_or(Ok(()))
    }

    fn read<T>(&mut self, length: usize, stdout: &mut Option<T>, bytes: &[u8]) {
        match length {
            0 => *stdout = None,
            length => (self.output)(&bytes[..length]),
        }
    }

    fn read_stderr<T>(&mut self, length: usize, stderr: &mut Option<T>, bytes: &[u8]) {
        if length == 0 {
            *stderr = None;
        }
        self.exit.stderr.extend(&bytes[..length]);
        let surplus = self.exit.stderr.len().saturating_sub(MAX_STDERR_BYTES);
        self.exit.stderr.drain(..surplus);
    }

    /// The usage limit that the agent waits for, if it lasts.
    fn limit(&self) -> Option<Stopped> {
        let status = self.program.session.view()?.status;
        let until = status.until.filter(|_| status.value == StatusValue::Limited)?;
        (until.saturating_since(now()) >= MIN_LIMIT).then_some(Stopped::Limited { message: status.why, until })
    }
}

/// Reads from a pipe; never completes once it has ended.
async fn read(pipe: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => std::future::pending().await,
    }
}
