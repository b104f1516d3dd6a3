//! Bringing the work of a worktree into the person's directory.
//!
//! Everything is computed as objects first. The person's files, index and branch change in the last step only, and
//! only if nothing of theirs is in the way.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::{LandError, WorkspaceError};
use super::git::{Git, path_text, split_nul};
use super::index::{TemporaryIndex, is_split};
use super::inspect::Repository;
use super::snapshot::{self, LANDED};
use super::{Kind, TreeId, Workspace, compare, inspect};

/// Files that git leaves while it waits for the person, and what they mean.
const OPERATIONS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
];

/// How work lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Land {
    /// As one commit on the person's branch, with the tree that was reviewed.
    Merge,
    /// Like `Merge`, with the commits of the agent in its history. Nobody has reviewed them one by one.
    MergeCommits,
    /// As uncommitted changes in the person's directory.
    Apply,
}

/// How work landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "landed", rename_all = "snake_case")]
pub enum Landed {
    Merged {
        branch: String,
        commit: String,
        fast_forward: bool,
    },
    Applied {
        files: Vec<String>,
    },
    /// Nothing to do: it landed before, it changed nothing, or the agent worked in the directory itself.
    AlreadyThere,
}

impl Workspace {
    /// Brings a tree into the person's directory. If that is not possible without a loss, nothing at all is changed. The
    /// work of a worktree that started with uncommitted changes lands without them.
    pub fn land(&self, tree: &TreeId, how: Land, message: &str) -> Result<Landed, LandError> {
        let Kind::Worktree { repo, base_commit, .. } = &self.kind else {
            return Ok(Landed::AlreadyThere);
        };
        let (git, refs) = (self.person_git(repo)?, self.person_refs(repo));
        if let Some(objects) = self.objects()? {
            compare::verify(&objects, self.base.as_str(), tree.as_str())?;
        }
        let landing = Landing { workspace: self, repo, base_commit, git, refs, tree };
        let landed = match how {
            Land::Merge | Land::MergeCommits => landing.merge(message, how)?,
            Land::Apply => landing.apply()?,
        };
        // What was checked out at this moment may go with the worktree.
        let head = self.head().ok().flatten();
        self.keep(tree.as_str(), LANDED, Some(head.as_ref().unwrap_or(base_commit)))?;
        Ok(landed)
    }
}

struct Landing<'a> {
    workspace: &'a Workspace,
    repo: &'a Repository,
    base_commit: &'a str,
    /// For the files and the index in the person's directory.
    git: Git,
    /// For branches and commits.
    refs: Git,
    tree: &'a TreeId,
}

impl Landing<'_> {
    /// A branch that moved is merged by content, from the commit of the start: what the agent's own history says about
    /// the person's commits does not count.
    fn merge(&self, message: &str, how: Land) -> Result<Landed, LandError> {
        let refs = &self.refs;
        let project_dir = || self.repo.root.clone();
        if let Some((_, operation)) = OPERATIONS.iter().find(|(file, _)| self.repo.git_dir.join(file).exists()) {
            return Err(LandError::InProgress { project_dir: project_dir(), operation });
        }
        let branch = inspect::branch(refs)?.ok_or_else(|| LandError::DetachedHead { project_dir: project_dir() })?;
        let head = refs.resolve("HEAD^{commit}")?.ok_or_else(|| WorkspaceError::NoCommit { root: project_dir() })?;
        if self.workspace.base == *self.tree {
            return Ok(Landed::AlreadyThere);
        }
        let base = self.landed_before(&head)?.unwrap_or_else(|| self.base_commit.to_owned());
        let work = self.commit(&base, message, how)?;
        let head_tree = refs.tree_of(&head)?;
        let fast_forward = head == base;
        let merged = if fast_forward { refs.tree_of(&work)? } else { self.merge_trees(&branch, &base, &head, &work)? };
        if merged == head_tree {
            return Ok(Landed::AlreadyThere);
        }
        self.refuse_dirty(&head_tree, &merged)?;
        let commit = match fast_forward {
            true => work.clone(),
            // A person who took the start out of their branch does not want it back in its history.
            false if how == Land::Merge && !refs.is_ancestor(&base, &head)? => {
                self.personal_commit(&merged, &[&head], message)?
            }
            false => self.personal_commit(&merged, &[&head, &work], message)?,
        };
        self.check_out(&branch, &head, &commit)?;
        if let Some(own) = self.workspace.own_git() {
            own.record_landed(&work, &self.workspace.env)?;
        }
        Ok(Landed::Merged { branch, commit, fast_forward })
    }

    /// What landed the last time, if the branch still has it.
    fn landed_before(&self, head: &str) -> Result<Option<String>, WorkspaceError> {
        let Some(own) = self.workspace.own_git() else { return Ok(None) };
        let Some(landed) = own.landed(&self.workspace.env)? else { return Ok(None) };
        Ok(self.refs.is_ancestor(&landed, head)?.then_some(landed))
    }

    /// The work as a commit that descends from `base`.
    fn commit(&self, base: &str, message: &str, how: Land) -> Result<String, LandError> {
        let refs = &self.refs;
        let start_tree = refs.tree_of(self.base_commit)?;
        if start_tree != self.workspace.base.as_str() {
            let tree = self.without_changes_of_start(&start_tree)?;
            return self.personal_commit(&tree, &[base], message);
        }
        if how == Land::MergeCommits {
            let head = self.workspace.head_of(refs, self.tree)?.unwrap_or_else(|| base.to_owned());
            if refs.is_ancestor(base, &head)? {
                let is_complete = refs.tree_of(&head)? == self.tree.as_str();
                return if is_complete {
                    Ok(head)
                } else {
                    self.personal_commit(self.tree.as_str(), &[&head], message)
                };
            }
        }
        self.personal_commit(self.tree.as_str(), &[base], message)
    }

    /// What the agent did, on the commit of the start instead of the uncommitted changes that it started with.
    fn without_changes_of_start(&self, base_tree: &str) -> Result<String, LandError> {
        let belay = self.refs.as_belay();
        let start = belay.commit_tree(self.workspace.base.as_str(), &[], "start")?;
        let commits = [base_tree, self.tree.as_str()].map(|tree| belay.commit_tree(tree, &[&start], "side"));
        let [ours, theirs] = commits;
        match merge_tree(&self.git, &start, &ours?, &theirs?)? {
            Ok(tree) => Ok(tree),
            // The agent changed what the person had changed and not committed.
            Err(files) => Err(LandError::Dirty { files }),
        }
    }

    fn merge_trees(&self, branch: &str, base: &str, head: &str, work: &str) -> Result<String, LandError> {
        let merged = merge_tree(&self.git, base, head, work)?;
        merged.map_err(|files| LandError::Conflict { branch: branch.to_owned(), files })
    }

    /// A commit in the person's name.
    fn personal_commit(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, LandError> {
        // Git would otherwise invent an address from the host name.
        let git = self.refs.with_setting("user.useConfigOnly=true");
        for variable in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            let known = git.output(&["var", variable], b"")?;
            if !known.status.success() {
                let message = known.stderr_text().lines().last().unwrap_or_default().to_owned();
                return Err(LandError::NoIdentity { message });
            }
        }
        Ok(git.commit_tree(tree, parents, message)?)
    }

    /// Refuses a merge that would touch uncommitted changes, or files that git does not know.
    fn refuse_dirty(&self, head_tree: &str, merged: &str) -> Result<(), LandError> {
        let git = &self.git;
        let own = self.own_tree()?;
        let own: BTreeMap<_, _> = by_path(compare::changes(git, head_tree, &own)?);
        let mut dirty = Vec::new();
        for change in compare::changes(git, head_tree, merged)? {
            let is_in_the_way = match own.get(&change.path) {
                // The same change: a landing that was interrupted.
                Some(own) => own.after != change.after,
                // New for git, but there: an ignored file.
                None => change.before.is_none() && exists(&self.repo.root, &change.path),
            };
            if is_in_the_way {
                dirty.push(path_text(&change.path));
            }
        }
        if dirty.is_empty() { Ok(()) } else { Err(LandError::Dirty { files: dirty }) }
    }

    /// The tree of the person's files.
    fn own_tree(&self) -> Result<String, WorkspaceError> {
        let index = TemporaryIndex::copy_of_work_tree(&self.refs, &self.repo.git_dir)?;
        snapshot::tree(&self.git, &index)
    }

    /// Moves index, files and branch from one commit to another.
    fn check_out(&self, branch: &str, from: &str, to: &str) -> Result<(), LandError> {
        let git = &self.git;
        let move_files = ["read-tree", "-m", "-u", from, to];
        // Tried on a copy of the index. It is refreshed first, since a file with another time counts as changed.
        let copy = TemporaryIndex::copy_of_work_tree(&self.refs, &self.repo.git_dir)?;
        let trial = copy.use_with(git);
        trial.output(&["update-index", "-q", "--refresh"], b"")?;
        let tried = trial.output(&["read-tree", "-m", "-u", "--dry-run", from, to], b"")?;
        if !tried.status.success() {
            return Err(refused(&tried.stderr_text()).unwrap_or_else(|| tried.into_error().into()));
        }
        if is_split(&self.repo.git_dir) {
            self.refs.run(&["update-index", "--no-split-index"])?;
        }
        git.output(&["update-index", "-q", "--refresh"], b"")?;
        git.run(&move_files)?;
        let branch_ref = format!("refs/heads/{branch}");
        let reason = format!("belay: land {}", self.workspace.id);
        if let Err(error) = self.refs.run(&["update-ref", "-m", &reason, &branch_ref, to, from]) {
            // The branch has moved meanwhile.
            git.run(&["read-tree", "-m", "-u", to, from])?;
            return Err(error.into());
        }
        Ok(())
    }

    fn apply(&self) -> Result<Landed, LandError> {
        let git = &self.git;
        let (base, tree) = (self.workspace.base.as_str(), self.tree.as_str());
        let changes = compare::changes(git, base, tree)?;
        let own = by_path(compare::changes(git, base, &self.own_tree()?)?);
        if changes.iter().all(|change| own.get(&change.path).is_some_and(|own| own.after == change.after)) {
            return Ok(Landed::AlreadyThere);
        }
        let patch = compare::diff(git, base, tree, None)?;
        if !applies(git, &patch, &[])? {
            // The person may have worked on after it landed.
            if applies(git, &patch, &["--reverse"])? {
                return Ok(Landed::AlreadyThere);
            }
            let mut files = Vec::new();
            for change in &changes {
                if !applies(git, &compare::diff(git, base, tree, Some(&change.path))?, &[])? {
                    files.push(path_text(&change.path));
                }
            }
            return Err(LandError::Conflict { branch: "your files".to_owned(), files });
        }
        git.run_with(&["apply", "--whitespace=nowarn"], &patch)?;
        Ok(Landed::Applied { files: changes.iter().map(|change| path_text(&change.path)).collect() })
    }
}

/// Whether a patch fits the person's files.
fn applies(git: &Git, patch: &[u8], options: &[&str]) -> Result<bool, WorkspaceError> {
    let args = [&["apply", "--check", "--whitespace=nowarn"], options].concat();
    git.asks(&args, patch)
}

/// Merges what two commits changed since `base`, as objects: the tree, or the files in conflict.
fn merge_tree(git: &Git, base: &str, ours: &str, theirs: &str) -> Result<Result<String, Vec<String>>, WorkspaceError> {
    let base = format!("--merge-base={base}");
    let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base, ours, theirs];
    let output = git.output(&args, b"")?;
    let mut parts: Vec<String> = split_nul(&output.stdout).map(path_text).collect();
    match output.status.code() {
        Some(0 | 1) if parts.is_empty() => Err(output.into_error()),
        Some(0) => Ok(Ok(parts.remove(0))),
        Some(1) => Ok(Err(parts.split_off(1))),
        _ => Err(output.into_error()),
    }
}

/// The file that `git read-tree` does not want to overwrite.
fn refused(message: &str) -> Option<LandError> {
    let mut lines = message.lines().filter(|line| line.contains("merge") || line.contains("would lose"));
    let (_, rest) = lines.next()?.split_once('\'')?;
    let (file, _) = rest.rsplit_once('\'')?;
    Some(LandError::Dirty { files: vec![file.to_owned()] })
}

fn by_path(changes: Vec<compare::Change>) -> BTreeMap<Vec<u8>, compare::Change> {
    changes.into_iter().map(|change| (change.path.clone(), change)).collect()
}

fn exists(root: &Path, path: &[u8]) -> bool {
    root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok()
}
