//! The agent as a child that does not notice us: it has the terminal, its signals and its exit status.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use belay_agents::launch::Launch;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::CommandError;

/// How the agent ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended(ExitStatus);

impl Ended {
    pub(super) fn code(&self) -> Option<i32> {
        self.0.code()
    }

    /// The status to end with ourselves; a signal as shells say it.
    pub(super) fn status(&self) -> u8 {
        let signal = || self.0.signal().map(|signal| 128 + signal);
        self.0.code().or_else(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
    }
}

/// Runs the agent to its end.
pub(super) fn run(program: &Path, launch: &Launch) -> Result<Ended, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Caught from before there is a child: Ctrl-C is for the agent, who shares our terminal, and must
        // not end us before it.
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut quit = signal(SignalKind::quit())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut user1 = signal(SignalKind::user_defined1())?;
        let mut user2 = signal(SignalKind::user_defined2())?;
        let mut command = tokio::process::Command::new(program);
        command.args(&launch.args);
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        let mut child = command
            .spawn()
            .map_err(|error| CommandError::new(format!("{} could not be started", program.display())).cause(error))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pass_on = |signal| {
            if let Some(pid) = pid {
                let _ = kill_process(pid, signal);
            }
        };
        loop {
            tokio::select! {
                status = child.wait() => return Ok(Ended(status?)),
                _ = interrupt.recv() => if !terminal_tells() { pass_on(Signal::INT) },
                _ = quit.recv() => if !terminal_tells() { pass_on(Signal::QUIT) },
                _ = terminate.recv() => pass_on(Signal::TERM),
                _ = hangup.recv() => pass_on(Signal::HUP),
                _ = user1.recv() => pass_on(Signal::USR1),
                _ = user2.recv() => pass_on(Signal::USR2),
            }
        }
    })
}

/// Whether a terminal tells the agent of Ctrl-C as it tells us. It tells everybody in the foreground, whatever
/// their input is; agents take a second Ctrl-C for impatience, so it must not come from us as well.
fn terminal_tells() -> bool {
    File::open("/dev/tty").is_ok_and(|terminal| tcgetpgrp(terminal).is_ok_and(|foreground| foreground == getpgrp()))
}
