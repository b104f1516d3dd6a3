//! Finds the agent's process among the ancestors of the hook process.

use belay_agents::command_line::program_name;
use belay_agents::hook::AgentProcess;
use belay_core::printable::printable;
use belay_process::{Process, ancestors};

/// Maximum number of ancestors: an agent, its launcher, a shell or two.
const MAX_ANCESTORS: usize = 8;

/// Programs between an agent and its hooks.
const SHELL_NAMES: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "env", "timeout"];

/// The process of a headless agent, at or above `pid`. An interactive agent is not interrupted: the person sees the
/// denial, and a signal would close the session.
pub(crate) fn find_headless_agent(pid: u32, program: AgentProcess) -> Option<u32> {
    let found = above(pid).find(|process| runs(process, program.name))?;
    found.args.iter().any(|arg| program.headless.contains(&arg.as_str())).then_some(found.pid)
}

/// Whether this is the program, or an interpreter that runs it as a script.
fn runs(process: &Process, program: &str) -> bool {
    let script = process.args.get(1).map(|arg| program_name(arg));
    process.name == program || script == Some(program)
}

/// The agent: the first process at or above `pid` that is not a shell.
pub(crate) fn ancestor_agent(pid: u32) -> Option<u32> {
    above(pid).find(|process| !SHELL_NAMES.contains(&process.name.as_str())).map(|process| process.pid)
}

fn above(pid: u32) -> impl Iterator<Item = Process> {
    ancestors(pid).take(MAX_ANCESTORS)
}

/// Appends a message to the standard error of a process, if permitted. Does not block: that may be a pipe which is full
/// or which no process reads, and nothing ends a hook that waits for it.
pub(crate) fn write_to_stderr_of(pid: u32, text: &str) {
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
}
