//! Undoing what an agent did in its worktree.

use super::error::WorkspaceError;
use super::git::{Git, path_text};
use super::{Kind, TreeId, Workspace, compare, create, snapshot};

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
            return Err(WorkspaceError::NoGit { folder: self.folder.clone() });
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
    /// No session may live in the worktree. A folder that is used in place is never reset.
    pub fn restore(&self, tree: &TreeId) -> Result<(), WorkspaceError> {
        let Kind::Worktree { repo, root, git_dir, branch, base_commit } = &self.kind else {
            return Err(WorkspaceError::InPlace { folder: self.folder.clone() });
        };
        let Some(git) = self.git()? else { return Err(WorkspaceError::NoGit { folder: self.folder.clone() }) };
        for name in UNFINISHED {
            let path = git_dir.join(name);
            // What does not exist need not be removed; what cannot be removed fails below.
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        let branch_ref = format!("refs/heads/{branch}");
        let _ = std::fs::remove_file(repo.common_dir.join(format!("{branch_ref}.lock")));
        let head = self.head_of(&git, tree)?.unwrap_or_else(|| base_commit.clone());
        // Before the index is replaced: HEAD may be damaged, and everything else needs one.
        git.run(&["symbolic-ref", "HEAD", &branch_ref])?;
        git.run(&["update-ref", &branch_ref, &head])?;
        // The agent may have damaged the index, or told git to ignore changes. This one describes the files as they
        // are.
        let index = match snapshot::index_of_files(&git) {
            Ok((index, _)) => index,
            Err(_) => {
                let _ = std::fs::remove_file(git_dir.join("index"));
                snapshot::index_of_files(&git)?.0
            }
        };
        let index_path = git_dir.join("index");
        snapshot::copy_index(&index.path(), &index_path).map_err(WorkspaceError::io("cannot write", &index_path))?;
        git.run(&["read-tree", "--reset", "-u", tree.as_str()])?;
        // Files that were ignored until `.gitignore` was restored. Twice forced: also repositories.
        git.run(&["clean", "-ffdq"])?;
        if root.join(".gitmodules").symlink_metadata().is_ok() {
            let submodules = Git::discover(root, &self.env).with_cancel(&self.cancel);
            self.programs.check_submodules(&submodules, &self.env)?;
            // Nothing is fetched from a place that an agent chose.
            create::update_submodules(&submodules, &["--no-fetch"])?;
        }
        // Changes against HEAD are in the files only. The times of unchanged files stay known.
        git.run(&["read-tree", "-m", &head])?;
        let restored = snapshot::tree(&git)?;
        if restored == tree.as_str() {
            return Ok(());
        }
        let differing = compare::changes(&git, tree.as_str(), &restored)?;
        let files = differing.iter().map(|change| path_text(&change.path)).collect();
        Err(WorkspaceError::NotRestored { dir: root.clone(), files })
    }
}
