//! Trees of everything that is not ignored.

use std::path::Path;

use super::error::WorkspaceError;
use super::git::{Git, split_nul};
use super::{Kind, TreeId, Workspace, check_name, manifest};

/// Names that Belay itself uses.
pub(super) const BASE: &str = "base";
pub(super) const LANDED: &str = "landed";
pub(super) const ARCHIVED: &str = "archived";

impl Workspace {
    /// The tree of all files that are not ignored. With git, its objects are kept by a commit at
    /// `refs/belay/<id>/<name>`; index, HEAD and branches stay as they are. `base`, `landed` and `archived` are
    /// reserved names.
    ///
    /// A submodule counts by the commit that it has checked out. The files of a repository inside the folder that is
    /// not a submodule do not count until it has a commit.
    pub fn snapshot(&self, name: &str) -> Result<TreeId, WorkspaceError> {
        check_name(name)?;
        if [BASE, LANDED, ARCHIVED].contains(&name) {
            return Err(WorkspaceError::BadName { name: name.to_owned() });
        }
        match (self.git()?, &self.kind) {
            (Some(git), _) => {
                let tree = tree(&git)?;
                self.keep(&tree, name, git.resolve("HEAD^{commit}")?.as_deref())?;
                Ok(TreeId(tree))
            }
            (None, Kind::InPlace { manifests, .. }) => manifest::record(&self.folder, manifests),
            (None, Kind::Worktree { .. }) => Err(WorkspaceError::NoGit { folder: self.folder.clone() }),
        }
    }

    /// Keeps a tree, and the commit that was checked out with it, alive under a name.
    pub(super) fn keep(&self, tree: &str, name: &str, head: Option<&str>) -> Result<(), WorkspaceError> {
        let Some(git) = self.objects() else { return Ok(()) };
        let parents: Vec<&str> = head.into_iter().collect();
        let message = format!("belay: {name} of {}", self.id);
        let commit = git.as_belay().commit_tree(tree, &parents, &message)?;
        git.run(&["update-ref", &self.snapshot_ref(name), &commit])?;
        Ok(())
    }

    /// The commit that was checked out when a tree was recorded. One that has exactly this tree is preferred: then
    /// the agent had committed everything.
    pub(super) fn head_of(&self, git: &Git, tree: &TreeId) -> Result<Option<String>, WorkspaceError> {
        let format = "--format=%(tree) %(parent)";
        let pattern = format!("refs/belay/{}/", self.id);
        let listed = git.run(&["for-each-ref", "--sort=-committerdate", format, &pattern])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let heads = listed.lines().filter_map(|line| line.split_once(' ')).filter(|(found, _)| *found == tree.as_str());
        let heads: Vec<&str> = heads.map(|(_, head)| head.trim()).filter(|head| !head.is_empty()).collect();
        for head in &heads {
            if git.tree_of(head)? == tree.as_str() {
                return Ok(Some((*head).to_owned()));
            }
        }
        Ok(heads.first().map(|head| (*head).to_owned()))
    }
}

/// A temporary index, removed with its directory.
pub(super) struct TemporaryIndex {
    dir: tempfile::TempDir,
}

impl TemporaryIndex {
    /// A copy of the repository's index: files whose times did not change are not read again.
    pub(super) fn copy_of(git: &Git) -> Result<Self, WorkspaceError> {
        let failed = |source| WorkspaceError::Io { what: "cannot create a temporary index".to_owned(), source };
        let index = Self { dir: tempfile::Builder::new().prefix("belay-index-").tempdir().map_err(failed)? };
        let original = git.git_dir()?.join("index");
        match copy_index(&original, &index.path()) {
            // A repository without any file has no index.
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(index),
        }
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("index")
    }

    pub(super) fn use_with(&self, git: &Git) -> Git {
        git.with_env("GIT_INDEX_FILE", self.path())
    }
}

/// Copies an index with its time. Git reads a file again if it may have been changed in the moment in which the index
/// was written; a later time would hide that change.
pub(super) fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    let written = from.metadata()?.modified()?;
    std::fs::copy(from, to)?;
    std::fs::File::options().write(true).open(to)?.set_modified(written)
}

/// The tree of all files that are not ignored.
pub(super) fn tree(git: &Git) -> Result<String, WorkspaceError> {
    Ok(index_of_files(git)?.1)
}

/// A temporary index that describes the files as they are, and its tree.
pub(super) fn index_of_files(git: &Git) -> Result<(TemporaryIndex, String), WorkspaceError> {
    let index = TemporaryIndex::copy_of(git)?;
    let git = index.use_with(git);
    show_hidden_changes(&git)?;
    let added = git.output(&["add", "--all", "--ignore-errors", "--", "."], b"")?;
    if !added.status.success() && !only_empty_repositories(&added.stderr_text()) {
        return Err(added.into_error());
    }
    let tree = git.line(&["write-tree"])?;
    Ok((index, tree))
}

/// Clears the flags by which git ignores changes of a file (`assume-unchanged`, `skip-worktree`). Files that a sparse
/// checkout left out stay as they are.
fn show_hidden_changes(git: &Git) -> Result<(), WorkspaceError> {
    let listed = git.run(&["ls-files", "-v", "-z", "--full-name"])?;
    let root = git.work_tree()?;
    let mut assumed = Vec::new();
    let mut skipped = Vec::new();
    for entry in split_nul(&listed) {
        let Some((tag, path)) = entry.split_first().and_then(|(tag, rest)| Some((*tag, rest.strip_prefix(b" ")?)))
        else {
            continue;
        };
        if tag.is_ascii_lowercase() {
            assumed.extend_from_slice(path);
            assumed.push(0);
        }
        if tag.eq_ignore_ascii_case(&b'S') && exists(&root, path) {
            skipped.extend_from_slice(path);
            skipped.push(0);
        }
    }
    for (flag, paths) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)] {
        if !paths.is_empty() {
            git.run_with(&["update-index", flag, "-z", "--stdin"], &paths)?;
        }
    }
    Ok(())
}

fn exists(root: &Path, path: &[u8]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    root.join(std::ffi::OsStr::from_bytes(path)).symlink_metadata().is_ok()
}

/// Git cannot add a repository that has no commit, and says so. Everything else has been added.
fn only_empty_repositories(stderr: &str) -> bool {
    let mut errors = stderr.lines().filter(|line| line.starts_with("error:") || line.starts_with("fatal:")).peekable();
    errors.peek().is_some() && errors.all(|line| line.ends_with("does not have a commit checked out"))
}
