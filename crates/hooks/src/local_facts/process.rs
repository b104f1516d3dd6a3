//! Finds the agent's process among the ancestors of the hook process.

use belay_agents::hook::AgentProcess;
use belay_core::printable::printable;

use crate::process_tree::{Process, ancestors};

/// Maximum number of ancestors: an agent, its launcher, a shell or two.
const MAX_ANCESTORS: usize = 8;

/// Programs between an agent and its hooks.
const SHELL_NAMES: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "env", "timeout"];

/// The process of a headless agent, at or above `pid`. An interactive agent is not interrupted: the person sees the
/// denial, and a signal would close the session.
pub fn find_headless_agent(pid: u32, program: AgentProcess) -> Option<u32> {
    let found = above(pid).find(|process| process.runs(program.name))?;
    found.args.iter().any(|arg| program.headless.contains(&arg.as_str())).then_some(found.pid)
}

/// The agent: the first process at or above `pid` that is not a shell.
pub(crate) fn ancestor_agent(pid: u32) -> Option<u32> {
    above(pid).find(|process| !SHELL_NAMES.contains(&process.name.as_str())).map(|process| process.pid)
}

fn above(pid: u32) -> impl Iterator<Item = Process> {
    ancestors(pid).take(MAX_ANCESTORS)
}

/// When a process started, in clock ticks since the system started. With the process id it identifies the process.
#[cfg(target_os = "linux")]
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
pub fn start_time(_pid: u32) -> Option<u64> {
    None
}

/// Appends a message to the standard error of a process, if permitted.
pub fn write_to_stderr_of(pid: u32, text: &str) {
    use std::io::Write;
    let errors = std::fs::OpenOptions::new().append(true).open(format!("/proc/{pid}/fd/2"));
    let text = printable(text.trim());
    let prefix = if text.starts_with("Belay") { "" } else { "Belay: " };
    // If that fails, the agent's own message must do.
    let _ = errors.and_then(|mut errors| errors.write_all(format!("\n{prefix}{text}\n").as_bytes()));
}

/// Interrupts a process, like Ctrl-C.
pub fn interrupt(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::INT);
    }
}
