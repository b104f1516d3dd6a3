//! Where a driven agent works: in a git worktree of its own, or in the person's folder.
//!
//! # Theory of operation
//!
//! A worktree is made at the commit that the person has checked out, on a branch `belay/<id>`. The person's files,
//! index and branch are read, never written, until they ask for the work to land.
//!
//! A [`TreeId`] names the content of all files that git does not ignore. [`Workspace::snapshot`] computes it with a
//! temporary index, so that neither the index nor HEAD moves, and keeps the objects alive with a commit at
//! `refs/belay/<id>/<name>` whose parent is the HEAD of that moment. Diffs, restores and landing work on such trees,
//! so that they do not depend on what the agent committed, which branch it is on, or what it staged. Without git, a
//! snapshot is a digest, and a manifest of the files is kept for comparisons.
//!
//! Work is lost only by [`Workspace::restore`], which is meant to undo it. [`Workspace::create`] replaces a worktree
//! only if it is half-made or untouched, and [`Workspace::remove`] removes one only if its files are those that
//! landed or were archived.
//!
//! Git runs programs that its configuration names, and an agent can write the configuration of the repository. The
//! settings of the start are recorded; if new ones name programs, nothing is done with the workspace until they are
//! gone. A git command that takes longer than ten minutes, or whose task is cancelled, is ended.
//!
//! The git directory is recorded when the workspace is made. An agent that deletes or replaces the `.git` file of its
//! worktree gets a clear error; commands never move on to the repository of a parent directory.

mod compare;
mod copy_files;
mod create;
mod error;
mod git;
mod inspect;
mod land;
mod manifest;
mod programs;
mod remove;
mod restore;
mod snapshot;

#[cfg(test)]
pub(crate) mod tests;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::headless::CancelHandle;
use crate::process_marker::ProcessMarker;

pub use compare::DELETED;
pub(crate) use error::named;
pub use error::{GitStop, LandError, WorkspaceError};
pub use git::Environment;
use git::Git;
pub(crate) use git::clean_environment;
pub use inspect::{FolderState, Repository, inspect};
pub use land::{Land, Landed};
use programs::GitPrograms;
pub use remove::{KeptBecause, Removed};

/// Where the agent shall work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// In a git worktree of the last commit. The folder must have no uncommitted changes.
    Worktree,
    /// In a git worktree that starts with the person's uncommitted changes.
    WorktreeWithChanges,
    /// In the folder itself, with or without git.
    InPlace,
}

/// What to make.
#[derive(Clone, Debug)]
pub struct WorkspaceSpec {
    /// Unique; part of a directory, a branch and refs.
    pub id: String,
    /// The person's folder, which may be any directory of a repository.
    pub folder: PathBuf,
    pub mode: Mode,
    /// Belay's own directory for worktrees and manifests.
    pub parent: PathBuf,
    /// Ignored files to copy into the worktree, relative to the folder. One that does not exist is skipped.
    pub copy: Vec<String>,
    /// Shell commands that run once in the new worktree.
    pub setup: Vec<String>,
    /// Longest duration of a setup command.
    pub setup_timeout: Option<Duration>,
    /// For git and the setup commands.
    pub env: Environment,
    /// Finds the setup commands after a crash.
    pub marker: Option<ProcessMarker>,
}

/// The content of all files that are not ignored: the id of a git tree, or a digest without git.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(String);

impl TreeId {
    /// An id that was stored as text.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A place where an agent works. The caller keeps it as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workspace {
    id: String,
    folder: PathBuf,
    dir: PathBuf,
    kind: Kind,
    base: TreeId,
    programs: GitPrograms,
    /// Not stored: an environment may hold secrets.
    #[serde(skip)]
    env: Environment,
    /// Ends git commands.
    #[serde(skip)]
    cancel: CancelHandle,
}

/// What a workspace is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    Worktree {
        /// The person's repository.
        repo: Repository,
        /// The top of the worktree; the agent's directory may be below.
        root: PathBuf,
        /// The worktree's own git directory.
        git_dir: PathBuf,
        branch: String,
        /// The commit that the person had checked out.
        base_commit: String,
    },
    InPlace {
        repo: Option<Repository>,
        /// Without git: what was in the folder at each snapshot.
        manifests: PathBuf,
    },
}

impl Workspace {
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The person's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the agent works.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The top of the directory tree that the agent works in: that of the worktree or of the repository.
    pub fn root(&self) -> &Path {
        match &self.kind {
            Kind::Worktree { root, .. } => root,
            Kind::InPlace { repo: Some(repo), .. } => &repo.root,
            Kind::InPlace { repo: None, .. } => &self.folder,
        }
    }

    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The tree that the agent started with, after copied files and setup commands.
    pub fn base(&self) -> &TreeId {
        &self.base
    }

    pub fn is_worktree(&self) -> bool {
        matches!(self.kind, Kind::Worktree { .. })
    }

    /// Sets the environment for git, after the workspace was read from JSON.
    #[must_use]
    pub fn with_env(mut self, env: Option<Vec<(OsString, OsString)>>) -> Self {
        self.env = env;
        self
    }

    /// Sets what ends git commands, after the workspace was read from JSON.
    #[must_use]
    pub fn with_cancel(mut self, cancel: &CancelHandle) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Git in the directory where the agent works; `None` without git.
    fn git(&self) -> Result<Option<Git>, WorkspaceError> {
        let (git, git_dir, common_dir) = match &self.kind {
            Kind::Worktree { repo, root, git_dir, .. } => {
                check_worktree(root, git_dir, &repo.root)?;
                (Git::pinned(git_dir, root, &self.env), git_dir, &repo.common_dir)
            }
            Kind::InPlace { repo: Some(repo), .. } => (repo.git(&self.env), &repo.git_dir, &repo.common_dir),
            Kind::InPlace { repo: None, .. } => return Ok(None),
        };
        let git = git.with_cancel(&self.cancel);
        self.programs.check(&git, git_dir, common_dir)?;
        Ok(Some(git))
    }

    /// Git in the person's folder.
    fn person_git(&self, repo: &Repository) -> Result<Git, WorkspaceError> {
        let git = repo.git(&self.env).with_cancel(&self.cancel);
        self.programs.check(&git, &repo.git_dir, &repo.common_dir)?;
        Ok(git)
    }

    /// Git for objects and refs, which outlive the worktree; `None` without git. It reads no files, so that no setting
    /// makes it run a program.
    fn objects(&self) -> Option<Git> {
        let repo = match &self.kind {
            Kind::Worktree { repo, .. } => Some(repo),
            Kind::InPlace { repo, .. } => repo.as_ref(),
        };
        repo.map(|repo| repo.shared_git(&self.env).with_cancel(&self.cancel))
    }

    /// The ref that keeps a snapshot.
    fn snapshot_ref(&self, name: &str) -> String {
        format!("refs/belay/{}/{name}", self.id)
    }
}

/// Refuses a worktree that lost its link to its repository.
fn check_worktree(root: &Path, git_dir: &Path, repo: &Path) -> Result<(), WorkspaceError> {
    let broken = |why: String| WorkspaceError::Broken { dir: root.to_owned(), repo: repo.to_owned(), why };
    if !root.is_dir() {
        return Err(broken("the directory does not exist".to_owned()));
    }
    let link = belay_fs::read_regular_text(&root.join(".git"), belay_fs::Links::Refuse, 16 * 1024)
        .map_err(|error| broken(format!("its .git file cannot be read ({error})")))?;
    let target = link.trim_end_matches('\n').strip_prefix("gitdir: ").unwrap_or_default();
    // The link may be relative: `worktree.useRelativePaths`.
    let actual = root.join(target).canonicalize();
    let expected = git_dir.canonicalize();
    match (actual, expected) {
        (Ok(actual), Ok(expected)) if actual == expected => Ok(()),
        (_, Err(_)) => Err(broken(format!("{} does not exist", git_dir.display()))),
        _ => Err(broken(format!("its .git file names {target:?}"))),
    }
}

/// A name that is safe in a path, a branch and a ref.
fn check_name(name: &str) -> Result<(), WorkspaceError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_safe = (1..=100).contains(&name.len())
        && name.bytes().all(is_plain)
        && !name.starts_with(['.', '-'])
        && !name.ends_with('.')
        // Git's own files, and those of Belay next to a worktree.
        && ![".lock", ".creating", ".removing", ".manifests"].iter().any(|suffix| name.ends_with(suffix))
        && !name.contains("..");
    if is_safe { Ok(()) } else { Err(WorkspaceError::BadName { name: name.to_owned() }) }
}
