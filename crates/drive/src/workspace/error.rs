//! Why a workspace cannot be used, and why its work cannot land.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Files that a message names before it counts the rest.
const MAX_NAMED_FILES: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("git is not in PATH")]
    GitMissing,
    #[error("{name:?} cannot name a workspace or a snapshot")]
    BadName { name: String },
    #[error("{} is not in a git repository", project_dir.display())]
    NoGit { project_dir: PathBuf },
    #[error("the repository {} has no commit", root.display())]
    NoCommit { root: PathBuf },
    /// The person's directory has uncommitted changes. `count` includes the files that are not listed.
    #[error("{} has uncommitted changes: {}", project_dir.display(), named(files, *count))]
    Dirty { project_dir: PathBuf, files: Vec<String>, count: usize },
    /// A submodule's own files cannot be carried into a worktree.
    #[error("submodules with uncommitted changes: {}", named(files, files.len()))]
    SubmoduleChanges { files: Vec<String> },
    #[error("cannot prepare the submodules in {}: {message}", dir.display())]
    Submodules { dir: PathBuf, message: String },
    #[error("{} exists and was not made for this workspace", path.display())]
    Occupied { path: PathBuf },
    #[error("the workspace {id} already holds work in {}", path.display())]
    HasWork { id: String, path: PathBuf },
    #[error("cannot copy {path}: {why}")]
    Copy { path: String, why: String },
    #[error("the setup command `{command}` failed ({how}): {output}")]
    Setup { command: String, how: String, output: String },
    #[error("{} is no longer the worktree that Belay made: {why}", dir.display())]
    Broken { dir: PathBuf, repo: PathBuf, why: String },
    #[error("{} is used in place; only a worktree can be restored", project_dir.display())]
    InPlace { project_dir: PathBuf },
    #[error("{} could not be restored; these files still differ: {}", dir.display(), named(files, files.len()))]
    NotRestored { dir: PathBuf, files: Vec<String> },
    /// Which files a sparse checkout left out is in the index only.
    #[error("{} is missing, and the checkout is sparse", path.display())]
    NoSparseIndex { path: PathBuf },
    #[error("no record of the files at {tree}")]
    NoManifest { tree: String },
    /// An agent could have git run them with the person's rights.
    #[error("git settings that run programs were added to {} since the work began: {}", repo.display(), named(settings, settings.len()))]
    Programs { repo: PathBuf, settings: Vec<String> },
    /// The database was damaged or changed.
    #[error("objects of the tree {tree} do not hold what their names say: {message}")]
    Forged { tree: String, message: String },
    #[error("git {command} was stopped: {why}")]
    GitStopped { command: String, why: GitStop },
    #[error("git {command} failed ({}): {message}", ending(*status))]
    Git { command: String, status: Option<i32>, message: String },
    #[error("{what}")]
    Io { what: String, source: io::Error },
}

/// Why Belay ended a git command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitStop {
    #[error("it took too long")]
    TimedOut,
    #[error("the work was cancelled")]
    Cancelled,
}

impl WorkspaceError {
    pub(super) fn io(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let what = format!("{what} {}", path.display());
        move |source| Self::Io { what, source }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::GitMissing => "install git, or use --in-place".to_owned(),
            Self::BadName { .. } => "use letters, digits, `-`, `_` and `.`".to_owned(),
            Self::NoGit { .. } => "run `git init` and commit, or use --in-place".to_owned(),
            Self::NoCommit { .. } => "commit first, or use --in-place".to_owned(),
            Self::Dirty { .. } => {
                "commit or stash them, or use --with-changes or --in-place"
                    .to_owned()
            }
            Self::SubmoduleChanges { .. } => {
                "commit them in the submodule, or use --in-place".to_owned()
            }
            Self::Submodules { .. } => {
                "check that `git submodule update --init` works, or use --in-place".to_owned()
            }
            Self::Occupied { path } => format!("move it away: {}", path.display()),
            Self::HasWork { .. } => "land or archive its work, then remove it".to_owned(),
            Self::Copy { .. } => "name regular files inside the project by relative paths".to_owned(),
            Self::Setup { .. } => "run the command in the project to see why".to_owned(),
            Self::Broken { dir, repo, .. } => {
                format!("try `git -C {} worktree repair {}`", repo.display(), dir.display())
            }
            Self::InPlace { .. } => "undo the changes yourself; Belay does not reset your own files".to_owned(),
            Self::Programs { repo, settings } => format!(
                "remove them: `git -C {} config --unset-all {}`; or to use them, set them in your own configuration (`--global`) and start a \
                 new task",
                repo.display(),
                settings.first().map_or("NAME", String::as_str)
            ),
            Self::NoSparseIndex { .. } => "land or archive the work, and start a new task".to_owned(),
            Self::Forged { .. } => "look at what `git fsck` says in the project".to_owned(),
            Self::GitStopped { why: GitStop::TimedOut, .. } => {
                "check that the command works in the project, without a password prompt and without a stalled network connection"
                    .to_owned()
            }
            Self::Git { status: Some(129), .. } => "Belay needs git 2.40 or later".to_owned(),
            Self::Git { message, .. } if message.contains(".lock") => {
                "another git command is running; try again when it has ended".to_owned()
            }
            _ => return None,
        })
    }
}

/// Why work cannot land. Nothing has been changed.
#[derive(Debug, thiserror::Error)]
pub enum LandError {
    #[error("the work conflicts with {branch} in {}", named(files, files.len()))]
    Conflict { branch: String, files: Vec<String> },
    /// The person's own uncommitted changes, or files that git does not know, are in the way.
    #[error("files with uncommitted changes are in the way: {}", named(files, files.len()))]
    Dirty { files: Vec<String> },
    #[error("HEAD is detached in {}", project_dir.display())]
    DetachedHead { project_dir: PathBuf },
    #[error("a {operation} is in progress in {}", project_dir.display())]
    InProgress { project_dir: PathBuf, operation: &'static str },
    #[error("git has no user name or email: {message}")]
    NoIdentity { message: String },
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl LandError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Conflict { .. } => {
                "the result is kept; archive it, merge its branch yourself and resolve the conflict".to_owned()
            }
            Self::Dirty { .. } => "commit or stash them, then land again".to_owned(),
            Self::DetachedHead { .. } => "check out a branch, or apply the changes without a commit".to_owned(),
            Self::InProgress { operation, .. } => format!("finish or abort the {operation}, then land again"),
            Self::NoIdentity { .. } => {
                "run `git config --global user.name NAME` and `git config --global user.email EMAIL`".to_owned()
            }
            Self::Workspace(error) => return error.hint(),
        })
    }
}

fn ending(status: Option<i32>) -> String {
    status.map_or_else(|| "killed".to_owned(), |status| format!("exit status {status}"))
}

/// The first files, and how many more there are.
pub(crate) fn named(files: &[String], count: usize) -> String {
    let mut text = files.iter().take(MAX_NAMED_FILES).map(|file| shown(file)).collect::<Vec<_>>().join(", ");
    let more = count.saturating_sub(files.len().min(MAX_NAMED_FILES));
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// A name without control characters, which would break the line or the terminal.
fn shown(file: &str) -> String {
    file.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}
