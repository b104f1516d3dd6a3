//! Who started us: the agent's process, found upwards from the hook's parent.

use belay_agents::hook::AgentProcess;

/// How far up we look: an agent, its launcher, a shell or two.
const MAX_ANCESTORS: usize = 8;

/// Programs that stand between an agent and its hooks.
const SHELL_NAMES: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "env", "timeout"];

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    name: String,
    args: Vec<String>,
}

/// The process of an agent nobody sits in front of, at or above `pid`. One with a person in front of
/// it is left alone: that person sees what was refused, and a signal would take the screen away.
pub fn find_headless_agent(pid: u32, program: AgentProcess) -> Option<u32> {
    let found = above(pid).find(|process| process.name == program.name)?;
    found.args.iter().any(|arg| arg == program.headless).then_some(found.pid)
}

/// The first process at or above `pid` that is no shell: the agent.
pub(super) fn ancestor_agent(pid: u32) -> Option<u32> {
    above(pid).find(|process| !SHELL_NAMES.contains(&process.name.as_str())).map(|process| process.pid)
}

fn above(pid: u32) -> impl Iterator<Item = Process> {
    let first = look(pid);
    std::iter::successors(first, |process| look(process.parent)).take(MAX_ANCESTORS)
}

#[cfg(target_os = "linux")]
fn look(pid: u32) -> Option<Process> {
    if pid <= 1 {
        return None;
    }
    let folder = std::path::PathBuf::from(format!("/proc/{pid}"));
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    // `pid (name) state parent ...`; the name may hold anything.
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let parent = tail.split_whitespace().nth(1)?.parse().ok()?;
    let args = std::fs::read(folder.join("cmdline")).unwrap_or_default();
    let args = args.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
    Some(Process { pid, parent, name, args })
}

#[cfg(not(target_os = "linux"))]
fn look(pid: u32) -> Option<Process> {
    if pid <= 1 {
        return None;
    }
    let mut ps = std::process::Command::new("ps");
    ps.args(["-o", "ppid=,args=", "-p", &pid.to_string()]);
    let output = ps.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (parent, args) = text.trim().split_once(char::is_whitespace)?;
    let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
    let name = args.first()?.rsplit('/').next()?.trim_start_matches('-').to_owned();
    Some(Process { pid, parent: parent.parse().ok()?, name, args })
}

/// Says something where a process prints its errors, if the system lets us. Only ever behind what is there.
pub fn write_to_stderr_of(pid: u32, text: &str) {
    use std::io::Write;
    let errors = std::fs::OpenOptions::new().append(true).open(format!("/proc/{pid}/fd/2"));
    // Where that does not work, the agent's own words have to do.
    let _ = errors.and_then(|mut errors| errors.write_all(format!("\nBelay: {}\n", text.trim()).as_bytes()));
}

/// Interrupts a process, as Ctrl-C would.
pub fn interrupt(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::INT);
    }
}
