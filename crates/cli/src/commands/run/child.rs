//! The agent as a child that does not notice us: it has the terminal, its signals and its exit status.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use belay_agents::launch::LaunchCommand;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

use super::signals::Signals;
use crate::error::CommandError;

/// Runs the agent to its end.
pub(super) fn run(program: &Path, launch: &LaunchCommand) -> Result<ExitStatus, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Caught from before there is a child: Ctrl-C is for the agent, who shares our terminal, and must
        // not end us before it.
        let mut signals = Signals::install_handlers()?;
        let mut command = tokio::process::Command::new(program);
        command.args(&launch.args);
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().map_err(|error| could_not_start(program, &error))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let Some(agent) = pid.map(AgentProcess) else { return Ok(child.wait().await?) };
        loop {
            let heard = tokio::select! {
                status = child.wait() => return Ok(status?),
                heard = signals.next() => heard,
            };
            match heard.signal {
                Signal::CHILD => agent.follow(),
                Signal::CONT => agent.go_on(),
                signal => {
                    if heard.should_forward(agent.0) {
                        agent.tell(signal);
                    }
                }
            }
        }
    })
}

fn could_not_start(program: &Path, error: &io::Error) -> CommandError {
    let told = CommandError::new(format!("{} could not be started", program.display())).cause(error);
    match error.kind() {
        // It is there, or we would not have come so far.
        io::ErrorKind::NotFound => told.hint("what its first line names (`#!...`) is not there"),
        io::ErrorKind::ArgumentListTooLong => told.hint("pass what is long on stdin or in a file"),
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => told.hint(
            "a script names its interpreter in its first line (`#!/bin/sh`); or name it yourself: belay run sh PATH",
        ),
        _ => told,
    }
}

/// A running agent.
struct AgentProcess(Pid);

impl AgentProcess {
    fn tell(&self, signal: Signal) {
        let _ = kill_process(self.0, signal);
    }

    fn is_stopped(&self) -> bool {
        let only_look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.0), only_look).is_ok_and(|found| found.is_some())
    }

    /// Stops us as well if the agent has stopped: the shell waits for us, and would never take the terminal back.
    /// Where there is none, whoever stopped the agent will have it go on.
    fn follow(&self) {
        if self.is_stopped() && has_terminal() {
            let _ = kill_process(getpid(), Signal::STOP);
            self.go_on();
        }
    }

    /// We go on, and so does the agent: the shell has told everybody in our group, others tell us alone.
    fn go_on(&self) {
        if self.is_stopped() {
            self.tell(Signal::CONT);
        }
    }
}

fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}
