//! The agent as a child process with exclusive access to the terminal.

use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;

use belay_agents::launch::LaunchCommand;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

use super::error::LaunchError;
use super::signals::Signals;

/// Runs the agent until it exits.
pub(super) fn run(program: &Path, launch: &LaunchCommand) -> Result<ExitStatus, LaunchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Installed before the child exists: Ctrl-C is meant for the agent, which shares our terminal, and must not
        // end this process first.
        let mut signals = Signals::install_handlers()?;
        let mut command = tokio::process::Command::new(program);
        command.args(&launch.args);
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().map_err(|source| LaunchError::Spawn { program: program.to_owned(), source })?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let Some(agent) = pid.map(AgentProcess) else { return Ok(child.wait().await?) };
        loop {
            let received = tokio::select! {
                status = child.wait() => return Ok(status?),
                received = signals.next() => received,
            };
            match received.signal {
                Signal::CHILD => agent.stop_with(),
                Signal::CONT => agent.resume(),
                signal => {
                    if received.should_forward(agent.0) {
                        agent.signal(signal);
                    }
                }
            }
        }
    })
}

/// A running agent.
struct AgentProcess(Pid);

impl AgentProcess {
    fn signal(&self, signal: Signal) {
        let _ = kill_process(self.0, signal);
    }

    fn is_stopped(&self) -> bool {
        let peek = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.0), peek).is_ok_and(|found| found.is_some())
    }

    /// Stops this process if the agent has stopped: the shell waits for this process and would not take the terminal
    /// back. Without a terminal, the process that stopped the agent resumes it.
    fn stop_with(&self) {
        if self.is_stopped() && has_terminal() {
            let _ = kill_process(getpid(), Signal::STOP);
            self.resume();
        }
    }

    /// Resumes the agent after this process was resumed. A shell signals the process group, other senders only us.
    fn resume(&self) {
        if self.is_stopped() {
            self.signal(Signal::CONT);
        }
    }
}

fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}
