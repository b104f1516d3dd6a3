//! What a directory is before an agent works in it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::WorkspaceMode;
use super::error::WorkspaceError;
use super::git::{Environment, Git, path_text, split_nul};
use super::special_files;

/// Changed files that are listed.
const MAX_LISTED_FILES: usize = 100;

/// The repository that a directory belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The top of the work tree.
    pub root: PathBuf,
    /// Its git directory: index and HEAD.
    pub git_dir: PathBuf,
    /// The git directory that all worktrees share: objects and branches.
    pub common_dir: PathBuf,
}

impl Repository {
    /// The repository that contains a directory; `None` if there is none.
    pub(super) fn find(project_dir: &Path, env: &Environment) -> Result<Option<Self>, WorkspaceError> {
        let git = Git::discover(project_dir, env);
        let found = git.output(&["rev-parse", "--is-inside-work-tree"], b"")?;
        if !found.status.success() {
            // Other failures are not the absence of a repository: one that belongs to another user, a damaged one.
            let is_absent = found.stderr_text().contains("not a git repository (or any");
            return if is_absent { Ok(None) } else { Err(found.into_error()) };
        }
        let path = |what: &str| git.path(&["rev-parse", "--path-format=absolute", what]);
        let (root, git_dir, common_dir) =
            (path("--show-toplevel")?, path("--absolute-git-dir")?, path("--git-common-dir")?);
        Ok(Some(Self { root, git_dir, common_dir }))
    }

    pub(super) fn git(&self, env: &Environment) -> Git {
        Git::pinned(&self.git_dir, &self.root, env)
    }

    /// For objects, branches and worktrees: still works if `root` is a worktree that is gone.
    pub(super) fn shared_git(&self, env: &Environment) -> Git {
        Git::pinned(&self.common_dir, &self.root, env)
    }
}

/// A directory, before an agent works in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirState {
    /// `None` without git.
    pub repository: Option<Repository>,
    /// `None` if the repository has no commit yet.
    pub head: Option<String>,
    /// `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Files with uncommitted changes in the whole repository, untracked ones included; the first ones only.
    pub changed: Vec<String>,
    pub changed_count: usize,
    /// Submodules whose own files have uncommitted changes.
    pub changed_submodules: Vec<String>,
    pub has_submodules: bool,
}

impl DirState {
    /// Whether the directory can have a worktree. Returns its repository and the commit that is checked out.
    pub fn check(self, project_dir: &Path, mode: WorkspaceMode) -> Result<(Repository, String), WorkspaceError> {
        let repository =
            self.repository.ok_or_else(|| WorkspaceError::NoGit { project_dir: project_dir.to_owned() })?;
        let head = self.head.ok_or_else(|| WorkspaceError::NoCommit { root: repository.root.clone() })?;
        if mode == WorkspaceMode::Worktree && self.changed_count > 0 {
            let (files, count) = (self.changed, self.changed_count);
            return Err(WorkspaceError::Dirty { project_dir: project_dir.to_owned(), files, count });
        }
        if !self.changed_submodules.is_empty() {
            return Err(WorkspaceError::SubmoduleChanges { files: self.changed_submodules });
        }
        Ok((repository, head))
    }
}

/// Looks at a directory. Nothing is changed, not even git's index.
pub fn inspect(project_dir: &Path, env: &Environment) -> Result<DirState, WorkspaceError> {
    if let Some(found) = belay_fs::repository::Repository::find(project_dir) {
        special_files::check_git_dir(&found.git_dir, &[])?;
        special_files::check_work_tree(&found.root)?;
    }
    let mut state = DirState {
        repository: Repository::find(project_dir, env)?,
        head: None,
        branch: None,
        changed: Vec::new(),
        changed_count: 0,
        changed_submodules: Vec::new(),
        has_submodules: false,
    };
    let Some(repository) = &state.repository else { return Ok(state) };
    let git = repository.git(env);
    state.head = git.resolve("HEAD^{commit}")?;
    state.branch = branch(&git)?;
    state.has_submodules = repository.root.join(".gitmodules").symlink_metadata().is_ok();
    for entry in split_nul(&status(&git)?) {
        let Some((path, submodule)) = changed_path(entry) else { continue };
        state.changed_count += 1;
        if state.changed.len() < MAX_LISTED_FILES {
            state.changed.push(path_text(path));
        }
        if has_changed_files(submodule) {
            state.changed_submodules.push(path_text(path));
        }
    }
    Ok(state)
}

/// Submodules whose own files have uncommitted changes.
pub(super) fn changed_submodules(git: &Git) -> Result<Vec<String>, WorkspaceError> {
    let status = status(git)?;
    let changed = split_nul(&status).filter_map(changed_path).filter(|(_, submodule)| has_changed_files(submodule));
    Ok(changed.map(|(path, _)| path_text(path)).collect())
}

fn status(git: &Git) -> Result<Vec<u8>, WorkspaceError> {
    git.run(&["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none"])
}

/// `S<c><m><u>`: the commit is another one, files are modified, files are untracked.
fn has_changed_files(submodule: &[u8]) -> bool {
    submodule.len() == 4 && submodule[0] == b'S' && submodule[2..] != *b".."
}

/// The branch that HEAD names; `None` if it is detached.
pub(super) fn branch(git: &Git) -> Result<Option<String>, WorkspaceError> {
    // Not `--short`, which answers `heads/x` if there is a tag x.
    let output = git.output(&["symbolic-ref", "--quiet", "HEAD"], b"")?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(name.strip_prefix("refs/heads/").filter(|_| output.status.success()).map(str::to_owned))
}

/// Path and submodule field of an entry of `git status --porcelain=v2`.
fn changed_path(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let fields_before_path = match entry.first()? {
        b'1' => 8,
        b'u' => 10,
        b'?' => 1,
        _ => return None,
    };
    let fields: Vec<&[u8]> = entry.splitn(fields_before_path + 1, |byte| *byte == b' ').collect();
    let submodule = if entry[0] == b'?' { &b""[..] } else { fields.get(2)? };
    Some((fields.get(fields_before_path)?, submodule))
}
