//! Undoing what an agent did in its worktree.

use super::error::WorkspaceError;
use super::git::{Git, path_text};
use super::{Kind, TreeId, Workspace, compare, create};

/// What git leaves in its directory while it does something, or after it was killed.
const UNFINISHED: &[&str] = &[
    "index.lock",
    "HEAD.lock",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

impl Workspace {
    /// Takes a change back where the agent works: files that differ between the two trees become what they were before.
    /// If they have changed since, nothing is done. Needs git.
    pub fn revert(&self, before: &TreeId, after: &TreeId) -> Result<(), WorkspaceError> {
        let (Some(git), Some(diff)) = (self.git()?, self.diff(before, after)?) else {
            return Err(WorkspaceError::NoGit { project_dir: self.project_dir.clone() });
        };
        if diff.is_empty() {
            return Ok(());
        }
        let output = git.output(&["apply", "--reverse", "--whitespace=nowarn", "-"], &diff)?;
        if output.status.success() { Ok(()) } else { Err(output.into_error()) }
    }

    /// Makes the files of a worktree equal to a tree. Files that are not ignored and not in the tree are removed;
    /// HEAD is on the workspace's branch again, at the commit that was checked out when the tree was recorded;
    /// commits since then are undone. Branches that the agent created stay. Only changed files are written, so that
    /// builds stay incremental.
    ///
    /// No session may live in the worktree. A directory that is used in place is never reset.
    pub fn restore(&self, tree: &TreeId) -> Result<(), WorkspaceError> {
        let Kind::Worktree { repo, root, git_dir, branch, base_commit } = &self.kind else {
            return Err(WorkspaceError::InPlace { project_dir: self.project_dir.clone() });
        };
        let (Some(git), Some(own), Some((repository, _))) = (self.git()?, self.own_git(), self.repository_git()) else {
            return Err(WorkspaceError::NoGit { project_dir: self.project_dir.clone() });
        };
        for name in UNFINISHED {
            let path = git_dir.join(name);
            // What does not exist need not be removed; what cannot be removed fails below.
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        let branch_ref = format!("refs/heads/{branch}");
        let _ = std::fs::remove_file(repo.common_dir.join(format!("{branch_ref}.lock")));
        let head = self.head_of(&repository, tree)?.unwrap_or_else(|| base_commit.clone());
        // HEAD may be damaged.
        repository.run(&["symbolic-ref", "HEAD", &branch_ref])?;
        repository.run(&["update-ref", &branch_ref, &head])?;
        let (index, _) = self.index_of_files(&git)?;
        let on_index = index.use_with(&git);
        on_index.run(&["read-tree", "--reset", "-u", tree.as_str()])?;
        // Files that were ignored until `.gitignore` was restored. Twice forced: also repositories.
        on_index.run(&["clean", "-ffdq"])?;
        index.publish(&own.index())?;
        let index_path = git_dir.join("index");
        if root.join(".gitmodules").symlink_metadata().is_ok() {
            index.publish(&index_path)?;
            let submodules = Git::discover(root, &self.env).with_cancel(&self.cancel);
            self.programs.check_submodules(&submodules, &self.env)?;
            // Nothing is fetched from a place that an agent chose.
            create::update_submodules(&submodules, &["--no-fetch"])?;
        }
        // Changes against HEAD are in the files only. The times of unchanged files stay known.
        on_index.run(&["read-tree", "-m", &head])?;
        index.publish(&index_path)?;
        let (_, restored) = self.index_of_files(&git)?;
        if restored == tree.as_str() {
            return Ok(());
        }
        let differing = compare::changes(&git, tree.as_str(), &restored)?;
        let files = differing.iter().map(|change| path_text(&change.path)).collect();
        Err(WorkspaceError::NotRestored { dir: root.clone(), files })
    }
}
