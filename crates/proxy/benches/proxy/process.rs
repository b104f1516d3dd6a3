//! Starts and stops target processes and reads their CPU time and memory.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A started process; ends with its owner.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::null()).spawn();
        child.map(Self).map_err(|error| format!("{} did not start: {error}", command.get_program().to_string_lossy()))
    }

    /// Starts this program again.
    pub(crate) fn start_again(args: &[&str]) -> Self {
        let exe = std::env::current_exe().expect("our own path");
        Self::start(Command::new(exe).args(args)).expect("ourselves")
    }

    /// Starts this program as one of its built-in targets.
    pub(crate) fn start_self(args: &[&str]) -> (Self, SocketAddr) {
        let exe = std::env::current_exe().expect("our own path");
        let mut child =
            Command::new(exe).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("ourselves");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("an address");
        (Self(child), line.trim().parse().expect("an address"))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Parents first: nginx replaces a worker that has exited.
        let family = family(self.0.id());
        let _ = self.0.kill();
        let _ = self.0.wait();
        for pid in family.into_iter().skip(1) {
            let _ = Command::new("kill").arg(pid.to_string()).stderr(Stdio::null()).status();
        }
    }
}

/// Reports the listen address to the parent process.
pub(crate) fn announce(address: SocketAddr) {
    println!("{address}");
}

/// A process and everything it started.
fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() {
        let path = format!("/proc/{0}/task/{0}/children", all[at]);
        let children = std::fs::read_to_string(path).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        at += 1;
    }
    all
}

/// CPU time of a process and everything it started, in all threads or in those of one name.
pub(crate) fn cpu(pid: u32, thread: &str) -> Duration {
    let mut nanos = 0;
    for pid in family(pid) {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let name = || std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            if !thread.is_empty() && name().trim() != thread {
                continue;
            }
            let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            nanos += stat.split_whitespace().next().and_then(|first| first.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Duration::from_nanos(nanos)
}

/// Resident memory of a process and everything it started, in bytes.
pub(crate) fn memory(pid: u32) -> u64 {
    family(pid).into_iter().map(|pid| status(pid, "VmRSS:")).sum()
}

/// Peak memory since [`reset_peak`].
pub(crate) fn peak(pid: u32) -> u64 {
    family(pid).into_iter().map(|pid| status(pid, "VmHWM:")).sum()
}

pub(crate) fn reset_peak(pid: u32) {
    for pid in family(pid) {
        // If the kernel does not support this, the peak is that of the complete run.
        let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

fn status(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

/// Waits until the address accepts connections.
pub(crate) fn wait_for(address: SocketAddr, patience: Duration) -> Result<(), String> {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(format!("nobody listens on {address} after {} s", patience.as_secs()))
}
