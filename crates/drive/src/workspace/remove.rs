//! Keeping the result of a workspace, and removing the worktree after that.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::error::WorkspaceError;
use super::git::{Git, path_text, split_nul};
use super::index::TemporaryIndex;
use super::snapshot::{ARCHIVED, LANDED};
use super::{Kind, TreeId, Workspace, compare, create};

/// Whether a worktree was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    Removed,
    /// There is nothing to remove: the worktree is gone, or the workspace is the person's directory.
    Nothing,
    Kept(KeptBecause),
}

/// Why a worktree stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptBecause {
    #[error("a session still works in it")]
    LiveSession,
    #[error("its work has neither landed nor been archived")]
    NotLanded,
    #[error("it has changes that did not land: {}", super::named(files, files.len()))]
    Changed { files: Vec<String> },
    #[error("it has commits that did not land")]
    Commits,
    #[error("these submodules have work that exists only here: {}", super::named(submodules, submodules.len()))]
    Submodules { submodules: Vec<String> },
}

impl Workspace {
    /// Keeps a tree as the branch `belay/<id>`, so that the worktree may be removed. Returns the branch; `None` if
    /// the workspace is the person's directory.
    pub fn archive(&self, tree: &TreeId) -> Result<Option<String>, WorkspaceError> {
        let (Kind::Worktree { branch, base_commit, .. }, Some(objects)) = (&self.kind, self.refs()?) else {
            return Ok(None);
        };
        let worktree = match self.git() {
            // What is kept is in the repository.
            Err(WorkspaceError::Broken { .. }) => None,
            found => found?,
        };
        let head = self.head_of(&objects, tree)?.unwrap_or_else(|| base_commit.clone());
        let commit = if objects.tree_of(&head)? == tree.as_str() {
            head
        } else {
            let message = format!("Work of belay task {}", self.id);
            // The person's identity is better, but keeping the work must not depend on it.
            let own = objects.with_setting("user.useConfigOnly=true").commit_tree(tree.as_str(), &[&head], &message);
            own.or_else(|_| objects.as_belay().commit_tree(tree.as_str(), &[&head], &message))?
        };
        self.keep(tree.as_str(), ARCHIVED, Some(&commit))?;
        let branch_ref = format!("refs/heads/{branch}");
        objects.run(&["update-ref", "-m", "belay: archive", &branch_ref, &commit])?;
        // The branch moved under the worktree, whose index shall follow it.
        if let (Some(git), Some((repository, git_dir))) = (worktree, self.repository_git())
            && super::inspect::branch(&repository)?.as_deref() == Some(branch)
        {
            // Without a look at the files: those that the agent changed do not agree with the index.
            let index = TemporaryIndex::empty()?;
            index.use_with(&git).run(&["read-tree", &commit])?;
            index.publish(&git_dir.join("index"))?;
        }
        Ok(Some(branch.clone()))
    }

    /// Removes the worktree if `tree` has landed or is archived, its files are that tree, nothing was committed
    /// since, and no session works in it. Ignored files go with it. The branch and the snapshots stay.
    pub fn remove(&self, tree: &TreeId, live_sessions: bool) -> Result<Removed, WorkspaceError> {
        let (Kind::Worktree { root, branch, .. }, Some(objects)) = (&self.kind, self.refs()?) else {
            return Ok(Removed::Nothing);
        };
        if live_sessions && root.exists() {
            return Ok(Removed::Kept(KeptBecause::LiveSession));
        }
        let marker = root.with_file_name(format!("{}.removing", self.id));
        if marker.exists() {
            self.take_away(&objects, root, &marker)?;
            return Ok(Removed::Removed);
        }
        if root.symlink_metadata().is_err() {
            if is_registered(&objects, root)? {
                unregister(&objects, root)?;
            }
            return Ok(Removed::Nothing);
        }
        let Some(git) = self.git()? else { return Ok(Removed::Nothing) };
        let landed = objects.resolve(&format!("{}^{{commit}}", self.snapshot_ref(LANDED)))?;
        let branch_tip = objects.resolve(&format!("refs/heads/{branch}^{{commit}}"))?;
        let archived = objects.resolve(&format!("{}^{{commit}}", self.snapshot_ref(ARCHIVED)))?;
        // The branch is the archive; the person may have deleted or moved it.
        let archived = archived.and(branch_tip);
        let mut safe = Vec::new();
        for commit in [landed, archived].into_iter().flatten() {
            if objects.tree_of(&commit)? == tree.as_str() {
                safe.push(commit);
            }
        }
        if safe.is_empty() {
            return Ok(Removed::Kept(KeptBecause::NotLanded));
        }
        let (_, files) = self.index_of_files(&git)?;
        if files != tree.as_str() {
            let changed = compare::changes(&git, tree.as_str(), &files)?;
            let files = changed.iter().map(|change| path_text(&change.path)).collect();
            return Ok(Removed::Kept(KeptBecause::Changed { files }));
        }
        let submodules = self.submodule_work(&git, tree)?;
        if !submodules.is_empty() {
            return Ok(Removed::Kept(KeptBecause::Submodules { submodules }));
        }
        let Some(head) = self.head()? else { return Ok(Removed::Kept(KeptBecause::Commits)) };
        for commit in &safe {
            if objects.is_ancestor(&head, commit)? {
                // From here on the worktree is incomplete, so that a later call could not check it again.
                std::fs::write(&marker, b"").map_err(WorkspaceError::io("cannot write", &marker))?;
                self.take_away(&objects, root, &marker)?;
                return Ok(Removed::Removed);
            }
        }
        Ok(Removed::Kept(KeptBecause::Commits))
    }

    /// Deletes the snapshots of the workspace, which keep their objects alive. Its worktree and branch stay.
    pub fn forget_snapshots(&self) -> Result<(), WorkspaceError> {
        if let Some(git) = self.refs()? {
            create::delete_refs(&git, &self.id)?;
        }
        self.own_git().map_or(Ok(()), |own| own.remove())?;
        match &self.kind {
            Kind::InPlace { manifests, .. } if manifests.exists() => {
                std::fs::remove_dir_all(manifests).map_err(WorkspaceError::io("cannot remove", manifests))
            }
            _ => Ok(()),
        }
    }

    /// Removes a worktree that has been checked, or the rest of one.
    fn take_away(&self, git: &Git, root: &Path, marker: &Path) -> Result<(), WorkspaceError> {
        if root.symlink_metadata().is_ok() {
            create::remove_all(root)?;
        }
        if is_registered(git, root)? {
            unregister(git, root)?;
        }
        self.own_git().map_or(Ok(()), |own| own.remove_index())?;
        std::fs::remove_file(marker).map_err(WorkspaceError::io("cannot remove", marker))
    }

    /// Submodules with uncommitted files, or at a commit that is not the one of the start. Their objects are in the
    /// worktree's own git directory.
    fn submodule_work(&self, git: &Git, tree: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let is_submodule = |digest: &Option<String>| digest.as_ref().is_some_and(|digest| digest.ends_with(":160000"));
        let moved = compare::changes(git, self.base.as_str(), tree.as_str())?;
        let moved = moved.iter().filter(|change| is_submodule(&change.after)).map(|change| path_text(&change.path));
        self.programs.check_submodules(git, &self.env)?;
        let dirty = super::inspect::changed_submodules(git)?;
        Ok(moved.chain(dirty).collect())
    }
}

/// Whether git knows a worktree at this path.
pub(super) fn is_registered(git: &Git, root: &Path) -> Result<bool, WorkspaceError> {
    let listed = git.run(&["worktree", "list", "--porcelain", "-z"])?;
    let mut paths = split_nul(&listed).filter_map(|line| line.strip_prefix(b"worktree "));
    Ok(paths.any(|path| Path::new(OsStr::from_bytes(path)) == root))
}

/// Removes git's record of a worktree whose directory is gone. `git worktree prune` would remove those of others,
/// too.
pub(super) fn unregister(git: &Git, root: &Path) -> Result<(), WorkspaceError> {
    // Twice: a worktree that is being made is locked.
    let args = ["worktree", "remove", "--force", "--force", "--"].map(OsStr::new);
    git.run(&[&args[..], &[root.as_os_str()]].concat()).map(drop)
}
