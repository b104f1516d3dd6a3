//! How a command can end: one table, shown by `--help` and in `docs/reference/exit-codes.md`.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    Done,
    Failed,
    Usage,
    Partly,
    /// A session was paused or killed.
    Held,
    /// As the program that was run ended.
    Child(u8),
    /// The program that was run died of this signal.
    Signal(i32),
}

/// Status, name and meaning.
const TABLE: &[(ExitStatus, u8, &str)] = &[
    (ExitStatus::Done, 0, "done; also a second `serve`, and `stop` when nothing runs"),
    (ExitStatus::Failed, 1, "not done: the message says why and what to do"),
    (ExitStatus::Usage, 2, "the command line was not understood"),
    (ExitStatus::Partly, 3, "some of the input was refused (`events post`), the rest is done"),
    (ExitStatus::Held, 4, "a session was paused or killed (`result`, and `run` in CI)"),
];

impl ExitStatus {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Child(status) => return status,
            // As shells say it.
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
            die_of(signal);
        }
        exit.code().into()
    }
}

/// Dies of a signal: a shell that runs us in a loop leaves the loop only if Ctrl-C has killed what it ran. Comes back
/// where that cannot be, as in the first process of a container.
fn die_of(signal: i32) {
    // The program has left its core, if anybody wanted one; ours would tell nothing.
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
    format!("Exit status:{}\n  `run` ends as the program it ran does", rows.collect::<String>())
}

/// The reference page.
#[cfg(test)]
pub(crate) fn reference_page() -> String {
    let rows = TABLE.iter().map(|(_, code, meaning)| format!("| {code} | {meaning} |\n"));
    format!(
        "# Exit status\n\nEvery command ends with one of these. This page is made from `crates/cli/src/exit.rs`.\n\n\
         | status | meaning |\n|---|---|\n{}\n`belay run` ends as the program it ran does; if a signal killed it, \
         `belay run` dies of the same signal, which shells show as 128 and its number.\n",
        rows.collect::<String>()
    )
}

#[cfg(test)]
mod tests;
