//! Other processes, as the system shows them.

use rustix::process::{Pid, Signal, kill_process};

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// The name of the executable, as the system shows it.
    pub name: String,
    pub args: Vec<String>,
    /// The controlling terminal, if there is one.
    pub terminal: Option<String>,
}

impl Process {
    /// `None` if there is no such process, or the system hides it.
    #[cfg(target_os = "linux")]
    pub fn read(pid: u32) -> Option<Self> {
        let dir = std::path::PathBuf::from(format!("/proc/{pid}"));
        let stat = std::fs::read_to_string(dir.join("stat")).ok()?;
        // `pid (name) state parent group session terminal ...`; the name may hold anything.
        let (head, tail) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let mut fields = tail.split_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        let terminal = fields.nth(2).filter(|terminal| *terminal != "0").map(str::to_owned);
        let args = std::fs::read(dir.join("cmdline")).unwrap_or_default();
        let args = args.strip_suffix(b"\0").unwrap_or(&args).split(|byte| *byte == 0);
        let args = args.map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
        Some(Self { pid, parent, name, args, terminal })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn read(pid: u32) -> Option<Self> {
        let mut ps = std::process::Command::new("ps");
        ps.args(["-o", "ppid=,tty=,args=", "-p", &pid.to_string()]);
        let output = ps.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut fields = text.split_whitespace().map(str::to_owned);
        let parent = fields.next()?.parse().ok()?;
        // `ps` prints question marks for a process without a terminal.
        let terminal = fields.next().filter(|terminal| !terminal.starts_with('?'));
        let args: Vec<String> = fields.collect();
        let name = args.first()?.rsplit('/').next()?.trim_start_matches('-').to_owned();
        Some(Self { pid, parent, name, args, terminal })
    }
}

/// A process and its ancestors, nearest first, without the first process of the system.
pub fn ancestors(pid: u32) -> impl Iterator<Item = Process> {
    let read_ancestor = |pid: u32| (pid > 1).then(|| Process::read(pid)).flatten();
    std::iter::successors(read_ancestor(pid), move |process| read_ancestor(process.parent))
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

/// Interrupts a process, like Ctrl-C.
pub fn interrupt(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have exited by itself.
        let _ = kill_process(pid, Signal::INT);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;

    #[test]
    fn a_process_that_has_exited_does_not_run() {
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
