//! The exit statuses: one table, shown by `--help` and in `docs/reference/exit-codes.md`.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    Done,
    Failed,
    Usage,
    Partly,
    /// A session was paused or killed.
    Held,
    /// A driven agent cannot continue without a person.
    NeedsAttention,
    /// A person cancelled driven work.
    Cancelled,
    /// The status of the program that was run.
    Child(u8),
    /// The program that was run was killed by this signal.
    Signal(i32),
}

/// Status, code and meaning.
const TABLE: &[(ExitStatus, u8, &str)] = &[
    (ExitStatus::Done, 0, "success; also `serve` if it already runs, and `stop` if nothing runs"),
    (ExitStatus::Failed, 1, "failure; the message names the cause and what to do"),
    (ExitStatus::Usage, 2, "usage error"),
    (ExitStatus::Partly, 3, "partial success: some of the input was refused (`events post`)"),
    (ExitStatus::Held, 4, "a session was paused or killed (`run`, `exec`, `result`)"),
    (
        ExitStatus::NeedsAttention,
        5,
        "needs attention: a login, a permission, a usage limit (`exec`), a decision (`review`)",
    ),
    (ExitStatus::Cancelled, 6, "cancelled (`exec`, `review`)"),
];

impl ExitStatus {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Child(status) => return status,
            // The convention of shells.
            Self::Signal(signal) => return u8::try_from(128 + signal).unwrap_or(1),
            _ => {}
        }
        TABLE.iter().find(|(exit, ..)| *exit == self).map_or(1, |(_, code, _)| *code)
    }
}

impl From<std::process::ExitStatus> for ExitStatus {
    fn from(status: std::process::ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Child(u8::try_from(code).unwrap_or(1)),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Failed,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        if let ExitStatus::Signal(signal) = exit {
            raise_fatally(signal);
        }
        exit.code().into()
    }
}

/// Kills this process with a signal: a shell that runs Belay in a loop leaves the loop only if Ctrl-C killed its child.
/// Returns if that is impossible, as for the first process of a container.
fn raise_fatally(signal: i32) {
    // The program has already dumped its core if core dumps are enabled; a second dump is useless.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let no_core = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, no_core);
    #[expect(unsafe_code, reason = "system calls that take a number; no handler is given")]
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// For `--help`.
pub(crate) fn help() -> String {
    let rows = TABLE.iter().map(|(_, code, meaning)| format!("\n  {code}  {meaning}"));
    format!(
        "Exit status:{}\n  `run` exits with the status of the program, or with 4 if its session is held",
        rows.collect::<String>()
    )
}

/// The reference page.
#[cfg(test)]
pub(crate) fn reference_page() -> String {
    let rows = TABLE.iter().map(|(_, code, meaning)| format!("| {code} | {meaning} |\n"));
    format!(
        "# Exit status\n\nEvery command exits with one of these statuses. This page is generated from\n`crates/cli/src/exit_status.rs`.\n\n\
         | status | meaning |\n|---|---|\n{}\n`belay run` exits with the status of the program it ran, or with 4 if its session is held at the\nend. If a signal \
         killed the program, `belay run` kills itself with the same signal, which shells show as\n128 plus the signal number.\n",
        rows.collect::<String>()
    )
}

#[cfg(test)]
mod tests;
