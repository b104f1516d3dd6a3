//! How a command can end: one table, shown by `--help` and in `docs/reference/exit-codes.md`.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    Partly,
    /// A session was paused or killed.
    Held,
    /// As the program that was run ended.
    Child(u8),
}

/// Status, name and meaning.
const TABLE: &[(Exit, u8, &str)] = &[
    (Exit::Done, 0, "done; also a second `serve`, and `stop` when nothing runs"),
    (Exit::Failed, 1, "not done: the message says why and what to do"),
    (Exit::Usage, 2, "the command line was not understood"),
    (Exit::Partly, 3, "some of the input was refused (`events post`), the rest is done"),
    (Exit::Held, 4, "a session was paused or killed (`result`, and `run` in CI)"),
];

impl Exit {
    pub(crate) fn code(self) -> u8 {
        if let Self::Child(status) = self {
            return status;
        }
        TABLE.iter().find(|(exit, ..)| *exit == self).map_or(1, |(_, code, _)| *code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
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
         | status | meaning |\n|---|---|\n{}\n`belay run` ends as the program it ran does; a signal is told as 128 and its number.\n",
        rows.collect::<String>()
    )
}

#[cfg(test)]
mod tests;
