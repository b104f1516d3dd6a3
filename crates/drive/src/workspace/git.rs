//! Calls of the `git` program.
//!
//! Arguments are passed as they are, never through a shell. A call does not depend on where Belay was started
//! (`GIT_DIR` and the like are removed), does not ask questions, and runs no hooks: the repository may belong to an
//! agent by now.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::error::{GitStop, WorkspaceError};
use crate::headless::CancelHandle;

/// The environment for git and for commands; `None` inherits that of this process.
pub type Environment = Option<Vec<(OsString, OsString)>>;

/// Settings that a repository must not choose. The first two would run a program; the others would hide changes from
/// a snapshot, or make it fail.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.safecrlf=false",
    // It says which commits descend from which, and is not checked.
    "core.commitGraph=false",
    "advice.graftFileDeprecated=false",
    "core.quotePath=false",
    "diff.suppressBlankEmpty=false",
    "advice.addEmbeddedRepo=false",
    "submodule.recurse=false",
];

/// `GIT_*` variables that say who the person is, how to connect, and where the configuration is. Others locate a
/// repository or change the behaviour of commands.
const KEPT_VARIABLES: &[&str] = &[
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
];

/// Variables of every call. A missing object is an error: to fetch it, git would run what the configuration of a remote
/// names. Objects are what their names say, and commits have the parents that they name.
const VARIABLES: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "false"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
];

/// Longest duration of a command. Only one that waits for a network or a program takes this long.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How often a running command is checked for a cancellation.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The environment without variables that lead git to another repository.
pub(crate) fn clean_environment(env: &Environment) -> Vec<(OsString, OsString)> {
    let variables = env.clone().unwrap_or_else(|| std::env::vars_os().collect());
    let is_kept = |name: &OsStr| KEPT_VARIABLES.iter().any(|kept| name == *kept);
    variables.into_iter().filter(|(name, _)| !name.as_bytes().starts_with(b"GIT_") || is_kept(name)).collect()
}

/// A place to call git in.
#[derive(Clone, Debug)]
pub(super) struct Git {
    arguments: Vec<OsString>,
    /// Git directory and work tree, if they are given.
    pinned: Option<(PathBuf, PathBuf)>,
    env: Vec<(OsString, OsString)>,
    cancel: CancelHandle,
    timeout: Duration,
}

/// What a call printed, and how it ended.
#[derive(Debug)]
pub(super) struct GitOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    command: String,
}

impl Git {
    /// Git finds the repository from `project_dir` upwards.
    pub(super) fn discover(project_dir: &Path, env: &Environment) -> Self {
        Self::new(vec!["-C".into(), project_dir.into()], None, env)
    }

    /// Git uses exactly this repository. An agent that deletes or replaces the `.git` file of its worktree must not
    /// lead a command into the repository of a parent directory.
    pub(super) fn pinned(git_dir: &Path, work_tree: &Path, env: &Environment) -> Self {
        // Commands that need no files still work after the directory is gone.
        let start = if work_tree.is_dir() { work_tree } else { git_dir };
        let mut arguments = vec![OsString::from("-C"), start.into()];
        for (option, path) in [("--git-dir=", git_dir), ("--work-tree=", work_tree)] {
            let mut argument = OsString::from(option);
            argument.push(path);
            arguments.push(argument);
        }
        Self::new(arguments, Some((git_dir.to_owned(), work_tree.to_owned())), env)
    }

    fn new(mut arguments: Vec<OsString>, pinned: Option<(PathBuf, PathBuf)>, env: &Environment) -> Self {
        // Without optional locks, reading the state of the person's directory does not rewrite their index.
        arguments.extend(["--no-optional-locks", "--no-pager", "--literal-pathspecs"].map(OsString::from));
        for setting in SETTINGS {
            arguments.extend([OsString::from("-c"), (*setting).into()]);
        }
        let mut env = clean_environment(env);
        for (name, value) in VARIABLES {
            env.retain(|(known, _)| known != name);
            env.push(((*name).into(), (*value).into()));
        }
        Self { arguments, pinned, env, cancel: CancelHandle::default(), timeout: TIMEOUT }
    }

    /// The top of the work tree.
    pub(super) fn work_tree(&self) -> Result<PathBuf, WorkspaceError> {
        match &self.pinned {
            Some((_, work_tree)) => Ok(work_tree.clone()),
            None => self.path(&["rev-parse", "--show-toplevel"]),
        }
    }

    /// With a handle that ends running commands.
    pub(super) fn with_cancel(mut self, cancel: &CancelHandle) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// With another limit of a command's duration.
    #[cfg(test)]
    pub(super) fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// With a variable set for git.
    pub(super) fn with_env(&self, name: &str, value: impl Into<OsString>) -> Self {
        let mut git = self.clone();
        git.env.retain(|(known, _)| known != name);
        git.env.push((name.into(), value.into()));
        git
    }

    /// With a setting, as by `-c`.
    pub(super) fn with_setting(&self, setting: &str) -> Self {
        let mut git = self.clone();
        git.arguments.extend(["-c".into(), setting.into()]);
        git
    }

    /// Commits of Belay itself, which only keep trees alive. They need no identity of the person.
    pub(super) fn as_belay(&self) -> Self {
        let identity = [("NAME", "Belay"), ("EMAIL", "belay@localhost")];
        let roles = ["AUTHOR", "COMMITTER"];
        roles
            .iter()
            .flat_map(|role| identity.map(|(what, value)| (format!("GIT_{role}_{what}"), value)))
            .fold(self.clone(), |git, (name, value)| git.with_env(&name, value))
    }

    /// Runs git whatever its exit status.
    pub(super) fn output<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<GitOutput, WorkspaceError> {
        let mut command = Command::new("git");
        command.args(&self.arguments).args(args).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // So that what git started ends with it.
        command.process_group(0);
        let shown = shown(args);
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => WorkspaceError::GitMissing,
            _ => WorkspaceError::Io { what: format!("cannot run git {shown}"), source },
        };
        let mut child = command.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (ended, end) = mpsc::channel::<()>();
        let (output, stopped) = std::thread::scope(|scope| {
            // Written meanwhile: git may fill its output before it has read everything.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
            let watchdog = scope.spawn(move || self.stop_when_due(group, &end));
            let output = child.wait_with_output();
            drop(ended);
            (output, watchdog.join().ok().flatten())
        });
        if let Some(why) = stopped {
            return Err(WorkspaceError::GitStopped { command: shown, why });
        }
        let output = output.map_err(failed)?;
        Ok(GitOutput { status: output.status, stdout: output.stdout, stderr: output.stderr, command: shown })
    }

    /// Kills a command that takes too long or is cancelled. Returns why, or `None` if it ended by itself.
    fn stop_when_due(&self, group: Option<Pid>, end: &mpsc::Receiver<()>) -> Option<GitStop> {
        let deadline = Instant::now() + self.timeout;
        let why = loop {
            if self.cancel.is_cancelled() {
                break GitStop::Cancelled;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break GitStop::TimedOut;
            }
            if end.recv_timeout(left.min(CANCEL_POLL_INTERVAL)) == Err(RecvTimeoutError::Disconnected) {
                return None;
            }
        };
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        Some(why)
    }

    /// Runs git and returns what it printed. A failure is an error.
    pub(super) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, WorkspaceError> {
        self.run_with(args, b"")
    }

    /// Like [`Git::run`], with this on stdin.
    pub(super) fn run_with<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Vec<u8>, WorkspaceError> {
        let output = self.output(args, input)?;
        if output.status.success() { Ok(output.stdout) } else { Err(output.into_error()) }
    }

    /// Runs git and returns the one line that it printed.
    pub(super) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, WorkspaceError> {
        Ok(String::from_utf8_lossy(&self.run(args)?).trim().to_owned())
    }

    /// Runs git and returns the path that it printed, which may contain any byte.
    pub(super) fn path<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<PathBuf, WorkspaceError> {
        let mut bytes = self.run(args)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }

    /// Whether git answers yes (exit status 0) or no (1).
    pub(super) fn asks<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<bool, WorkspaceError> {
        let output = self.output(args, input)?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(output.into_error()),
        }
    }

    /// The object that a revision names; `None` if there is none.
    pub(super) fn resolve(&self, revision: &str) -> Result<Option<String>, WorkspaceError> {
        let output = self.output(&["rev-parse", "--verify", "--quiet", "--end-of-options", revision], b"")?;
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Some(id).filter(|id| output.status.success() && !id.is_empty()))
    }

    /// The tree of a commit.
    pub(super) fn tree_of(&self, commit: &str) -> Result<String, WorkspaceError> {
        self.line(&["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{tree}}")])
    }

    pub(super) fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool, WorkspaceError> {
        self.asks(&["merge-base", "--is-ancestor", ancestor, commit], b"")
    }

    /// Creates a commit object; no branch moves.
    pub(super) fn commit_tree(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, WorkspaceError> {
        let mut args = vec!["commit-tree", tree];
        parents.iter().for_each(|parent| args.extend(["-p", parent]));
        args.extend(["-F", "-"]);
        let id = self.run_with(&args, message.as_bytes())?;
        Ok(String::from_utf8_lossy(&id).trim().to_owned())
    }
}

impl GitOutput {
    pub(super) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim().to_owned()
    }

    pub(super) fn into_error(self) -> WorkspaceError {
        WorkspaceError::Git { message: self.stderr_text(), command: self.command, status: self.status.code() }
    }
}

/// The arguments as a message shows them.
fn shown<S: AsRef<OsStr>>(args: &[S]) -> String {
    args.iter().map(|arg| arg.as_ref().to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The parts of an output with `-z`.
pub(super) fn split_nul(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// A path as text. Names that are not valid UTF-8 are quoted as git quotes them, so that they stay distinct.
pub(super) fn path_text(path: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(path) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => quoted.push(char::from(*byte)),
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_utf8_stay_distinct() {
        assert_eq!(path_text("a b\nü".as_bytes()), "a b\nü");
        assert_eq!(path_text(b"a\xff"), "\"a\\377\"");
        assert_ne!(path_text(b"a\xff"), path_text(b"a\xfe"));
    }

    #[test]
    fn variables_that_lead_to_another_repository_are_removed() {
        let variables = ["GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT", "GIT_AUTHOR_NAME", "PATH"];
        let env = Some(variables.map(|name| (name.into(), "x".into())).to_vec());
        let names: Vec<_> = clean_environment(&env).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["GIT_AUTHOR_NAME", "PATH"]);
    }
}
