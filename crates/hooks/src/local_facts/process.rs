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

/// Like [`start_time`], for a process that has not exited. One that has exited, and whose parent has not asked for its
/// status, still has a start time.
#[cfg(target_os = "linux")]
pub fn running_since(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    fields.nth(18)?.parse().ok().filter(|_| !["Z", "X"].contains(&state))
}

#[cfg(not(target_os = "linux"))]
pub fn running_since(_pid: u32) -> Option<u64> {
    None
}

/// Appends a message to the standard error of a process, if permitted. Does not block: that may be a pipe which is full
/// or which no process reads, and nothing ends a hook that waits for it.
pub fn write_to_stderr_of(pid: u32, text: &str) {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = std::fs::OpenOptions::new();
    options.append(true).custom_flags(flags.bits().cast_signed());
    let text = printable(text.trim());
    let prefix = if text.starts_with("Belay") { "" } else { "Belay: " };
    let message = format!("\n{prefix}{text}\n");
    // If that fails, the agent's own message is sufficient.
    let _ = options.open(format!("/proc/{pid}/fd/2")).and_then(|mut errors| errors.write_all(message.as_bytes()));
}

/// Interrupts a process, like Ctrl-C.
pub fn interrupt(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have exited by itself.
        let _ = kill_process(pid, Signal::INT);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
    use std::process::{Child, Command, Stdio};

    use rustix::fs::{OFlags, fcntl_setfl};

    use super::*;

    /// A process whose standard error is the pipe.
    fn agent(errors: PipeWriter) -> Child {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(errors).spawn().expect("a process")
    }

    fn end(mut agent: Child) {
        drop(agent.stdin.take());
        agent.wait().expect("its end");
    }

    #[test]
    fn a_reason_is_written_to_standard_error_of_the_agent() {
        let (mut reader, writer) = pipe().expect("a pipe");
        let agent = agent(writer);
        write_to_stderr_of(agent.id(), "paused");
        end(agent);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("the text");
        assert_eq!(text, "\nBelay: paused\n");
    }

    #[test]
    fn a_pipe_that_is_full_or_unread_does_not_block() {
        let (reader, mut writer): (PipeReader, PipeWriter) = pipe().expect("a pipe");
        fcntl_setfl(&writer, OFlags::NONBLOCK).expect("a flag");
        while writer.write(&[0; 4096]).is_ok() {}
        let agent = agent(writer);
        write_to_stderr_of(agent.id(), "paused");
        drop(reader);
        write_to_stderr_of(agent.id(), "paused");
        end(agent);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_has_exited_does_not_run() {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let own = std::process::id();
        assert!(running_since(own).is_some() && running_since(own) == start_time(own));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        // Waits for its exit, and does not take its status.
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        assert!(start_time(child.id()).is_some() && running_since(child.id()).is_none());
        child.wait().unwrap();
    }
}
