//! Where a driven agent works: in a git worktree of its own, or in the person's directory.
//!
//! # Theory of operation
//!
//! A worktree is made at the commit that the person has checked out, on a branch `belay/<id>`. The person's files,
//! index and branch are read, never written, until they ask for the work to land.
//!
//! A [`TreeId`] names the content of all files that git does not ignore. [`Workspace::snapshot`] computes it with an
//! index of Belay's own, so that neither the index nor HEAD moves, and keeps the objects alive with a commit at
//! `refs/belay/<id>/<name>` whose parent is the HEAD of that moment. Diffs, restores and landing work on such trees,
//! so that they do not depend on what the agent committed, which branch it is on, or what it staged. Without git, a
//! snapshot is a digest, and a manifest of the files is kept for comparisons.
//!
//! Work is lost only by [`Workspace::restore`], which is meant to undo it. [`Workspace::create`] replaces a worktree
//! only if it is half-made or untouched, and [`Workspace::remove`] removes one only if its files are those that
//! landed or were archived.
//!
//! Git runs programs that its configuration names, and an agent can write the configuration of the repository, its
//! index, and refs that replace objects. Work on files and trees therefore uses a git directory of Belay's own, with the
//! settings of the start (`own_git.rs`). If settings were added that name programs, nothing is done with the workspace
//! until they are gone, since the person's own git would run them. A git command that takes longer than ten minutes, or
//! whose task is cancelled, is ended.
//!
//! The git directory is recorded when the workspace is made. An agent that deletes or replaces the `.git` file of its
//! worktree gets a clear error; commands never move on to the repository of a parent directory.

mod compare;
mod copy_files;
mod create;
mod error;
mod git;
mod index;
mod inspect;
mod land;
mod manifest;
mod own_git;
mod programs;
mod remove;
mod restore;
mod snapshot;
mod special_files;

#[cfg(test)]
pub(crate) mod tests;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_core::task::WorkspaceMode;
use serde::{Deserialize, Serialize};

use crate::headless::CancelHandle;
use belay_process::ProcessMarker;

pub use compare::DELETED;
pub(crate) use error::named;
pub use error::{GitStop, LandError, WorkspaceError};
pub use git::Environment;
use git::Git;
pub(crate) use git::clean_environment;
pub use inspect::{DirState, Repository, inspect};
pub use land::{Land, Landed};
use own_git::OwnGit;
use programs::GitPrograms;
pub use remove::{KeptBecause, Removed};

/// Endings of what is in Belay's directory next to a worktree, after the id of the workspace.
pub const FILES_OF_A_WORKSPACE: &[&str] = &[".creating", ".removing", ".manifests", ".git"];

/// What to make.
#[derive(Clone, Debug)]
pub struct WorkspaceSpec {
    /// Unique; part of a directory, a branch and refs.
    pub id: String,
    /// The person's directory, which may be any directory of a repository.
    pub project_dir: PathBuf,
    pub mode: WorkspaceMode,
    /// Belay's own directory for worktrees and manifests.
    pub parent: PathBuf,
    /// Ignored files to copy into the worktree, relative to the directory. One that does not exist is skipped.
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
    #[serde(alias = "folder")]
    project_dir: PathBuf,
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
        /// Without git: what was in the directory at each snapshot.
        manifests: PathBuf,
    },
}

impl Workspace {
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The person's directory.
    pub fn project_dir(&self) -> &Path {
        &self.project_dir
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
            Kind::InPlace { repo: None, .. } => &self.project_dir,
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

    /// Git for the files where the agent works; `None` without git.
    fn git(&self) -> Result<Option<Git>, WorkspaceError> {
        if let Kind::Worktree { repo, root, git_dir, .. } = &self.kind {
            check_worktree(root, git_dir, &repo.root)?;
        }
        let (Some((repository, git_dir)), Some(repo)) = (self.repository_git(), self.repository()) else {
            return Ok(None);
        };
        let own = self.made_own_git()?;
        special_files::check_work_tree(self.root())?;
        self.programs.check(&repository, git_dir, &repo.common_dir)?;
        Ok(own.map(|own| own.files(self.root(), &self.env).with_cancel(&self.cancel)))
    }

    /// Git for the files in the person's directory.
    fn person_git(&self, repo: &Repository) -> Result<Git, WorkspaceError> {
        let Some(own) = self.made_own_git()? else {
            return Err(WorkspaceError::NoGit { project_dir: self.project_dir.clone() });
        };
        special_files::check_work_tree(&repo.root)?;
        self.programs.check(&self.person_refs(repo), &repo.git_dir, &repo.common_dir)?;
        own.use_sparse_patterns(&repo.git_dir)?;
        let git = own.files(&repo.root, &self.env).with_cancel(&self.cancel);
        Ok(git.with_env("GIT_INDEX_FILE", repo.git_dir.join("index")))
    }

    /// Git for HEAD and the branches of the person's directory, and commits in their name.
    fn person_refs(&self, repo: &Repository) -> Git {
        repo.git(&self.env).with_cancel(&self.cancel)
    }

    /// Git for trees and commits, which outlive the worktree; `None` without git.
    fn objects(&self) -> Result<Option<Git>, WorkspaceError> {
        Ok(self.made_own_git()?.map(|own| own.objects(&self.env).with_cancel(&self.cancel)))
    }

    /// Git for the refs of the repository, which outlive the worktree; `None` without git. It reads no files, so that no
    /// setting makes it run a program.
    fn refs(&self) -> Result<Option<Git>, WorkspaceError> {
        let Some(repo) = self.repository() else { return Ok(None) };
        // Of an index, Belay makes a copy.
        special_files::check_git_dir(&repo.common_dir, &["index"])?;
        Ok(Some(repo.shared_git(&self.env).with_cancel(&self.cancel)))
    }

    /// Git in the git directory that the agent uses, for HEAD, and that directory; `None` without git.
    fn repository_git(&self) -> Option<(Git, &Path)> {
        let (git, git_dir) = match &self.kind {
            Kind::Worktree { root, git_dir, .. } => (Git::pinned(git_dir, root, &self.env), git_dir),
            Kind::InPlace { repo, .. } => repo.as_ref().map(|repo| (repo.git(&self.env), &repo.git_dir))?,
        };
        Some((git.with_cancel(&self.cancel), git_dir))
    }

    /// The commit that is checked out where the agent works.
    fn head(&self) -> Result<Option<String>, WorkspaceError> {
        self.repository_git().map_or(Ok(None), |(git, _)| git.resolve("HEAD^{commit}"))
    }

    fn repository(&self) -> Option<&Repository> {
        match &self.kind {
            Kind::Worktree { repo, .. } => Some(repo),
            Kind::InPlace { repo, .. } => repo.as_ref(),
        }
    }

    fn own_git(&self) -> Option<OwnGit> {
        let parent = match &self.kind {
            Kind::Worktree { root, .. } => root.parent(),
            Kind::InPlace { manifests, .. } => manifests.parent(),
        };
        Some(OwnGit::new(parent?, &self.id, &self.repository()?.common_dir))
    }

    /// Belay's git directory. It is made now if an older Belay began the task, with the settings that it recorded.
    fn made_own_git(&self) -> Result<Option<OwnGit>, WorkspaceError> {
        let (Some(own), Some((repository, git_dir))) = (self.own_git(), self.repository_git()) else {
            return Ok(None);
        };
        let refs = self.refs()?;
        if !own.exists() {
            let git = match git_dir.is_dir() {
                true => Some(repository),
                false => refs,
            };
            git.map_or(Ok(()), |git| own.make(&git, git_dir, Some(&self.programs)))?;
        }
        Ok(Some(own))
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
        && !FILES_OF_A_WORKSPACE.iter().chain(&[".lock"]).any(|suffix| name.ends_with(suffix))
        && !name.contains("..");
    if is_safe { Ok(()) } else { Err(WorkspaceError::BadName { name: name.to_owned() }) }
}
