//! Making a workspace.
//!
//! A file `<parent>/<id>.creating` exists from before the first effect until the worktree is complete. It tells a
//! half-made worktree, which is removed and made again, from one that holds work.

use std::path::{Path, PathBuf};

use super::error::WorkspaceError;
use super::git::{Git, clean_environment};
use super::index::TemporaryIndex;
use super::inspect::{Repository, inspect};
use super::own_git::OwnGit;
use super::programs::GitPrograms;
use super::snapshot::{self, BASE};
use super::{Kind, TreeId, Workspace, WorkspaceMode, WorkspaceSpec, check_name, copy_files, manifest, remove};
use crate::gate::{CommandRun, GRACE, run_command};
use crate::headless::CancelHandle;

/// Copied into an error message.
const MAX_MESSAGE_BYTES: usize = 2 * 1024;

impl Workspace {
    /// Makes the workspace. After a crash at any point, the same call makes it again from the start.
    ///
    /// A worktree that holds work is never replaced: [`WorkspaceError::HasWork`].
    pub fn create(spec: &WorkspaceSpec, cancel: &CancelHandle) -> Result<Self, WorkspaceError> {
        check_name(&spec.id)?;
        let project_dir =
            spec.project_dir.canonicalize().map_err(WorkspaceError::io("cannot open", &spec.project_dir))?;
        match spec.mode {
            WorkspaceMode::InPlace => in_place(spec, project_dir, cancel),
            WorkspaceMode::Worktree | WorkspaceMode::WorktreeWithChanges => {
                Worktree::plan(spec, project_dir)?.create(spec, cancel)
            }
        }
    }
}

fn in_place(spec: &WorkspaceSpec, project_dir: PathBuf, cancel: &CancelHandle) -> Result<Workspace, WorkspaceError> {
    let repo = match Repository::find(&project_dir, &spec.env) {
        // Nothing here needs git.
        Err(WorkspaceError::GitMissing) => None,
        found => found?,
    };
    let manifests = spec.parent.join(format!("{}.manifests", spec.id));
    let (base, programs) = match &repo {
        Some(repo) => {
            let git = repo.git(&spec.env).with_cancel(cancel);
            let programs = GitPrograms::record(&git, &repo.git_dir, &repo.common_dir)?;
            let own = OwnGit::new(&spec.parent, &spec.id, &repo.common_dir);
            (start_tree(&own, &git, &repo.git_dir, &repo.root, spec, cancel)?, programs)
        }
        None => (manifest::record(&project_dir, &manifests)?, GitPrograms::default()),
    };
    let workspace = Workspace {
        id: spec.id.clone(),
        dir: project_dir.clone(),
        project_dir,
        kind: Kind::InPlace { repo, manifests },
        base,
        programs,
        env: spec.env.clone(),
        cancel: cancel.clone(),
    };
    if workspace.git()?.is_some() {
        workspace.keep(workspace.base.as_str(), BASE, workspace.head()?.as_deref())?;
    }
    Ok(workspace)
}

/// Makes Belay's git directory while no agent has been here, and its index of the files. `git` is that of the work tree.
fn start_tree(
    own: &OwnGit,
    git: &Git,
    git_dir: &Path,
    root: &Path,
    spec: &WorkspaceSpec,
    cancel: &CancelHandle,
) -> Result<TreeId, WorkspaceError> {
    own.make(git, git_dir, None)?;
    let index = TemporaryIndex::copy_of_work_tree(git, git_dir)?;
    let tree = snapshot::tree(&own.files(root, &spec.env).with_cancel(cancel), &index)?;
    index.publish(&own.index())?;
    Ok(TreeId(tree))
}

/// A worktree that shall be made.
struct Worktree {
    project_dir: PathBuf,
    repo: Repository,
    base_commit: String,
    root: PathBuf,
    branch: String,
    marker: PathBuf,
    has_submodules: bool,
}

impl Worktree {
    /// Checks whether the directory can have a worktree. Nothing is changed.
    fn plan(spec: &WorkspaceSpec, project_dir: PathBuf) -> Result<Self, WorkspaceError> {
        let state = inspect(&project_dir, &spec.env)?;
        let has_submodules = state.has_submodules;
        let (repo, base_commit) = state.check(&project_dir, spec.mode)?;
        std::fs::create_dir_all(&spec.parent).map_err(WorkspaceError::io("cannot create", &spec.parent))?;
        let parent = spec.parent.canonicalize().map_err(WorkspaceError::io("cannot open", &spec.parent))?;
        Ok(Self {
            project_dir,
            repo,
            base_commit,
            root: parent.join(&spec.id),
            branch: format!("belay/{}", spec.id),
            marker: parent.join(format!("{}.creating", spec.id)),
            has_submodules,
        })
    }

    fn create(self, spec: &WorkspaceSpec, cancel: &CancelHandle) -> Result<Workspace, WorkspaceError> {
        let git = self.repo.git(&spec.env).with_cancel(cancel);
        self.make_room(spec, &git)?;
        let root = self.root.as_os_str();
        let add = ["worktree", "add", "--quiet", "--no-track", "-b", &self.branch, "--"].map(std::ffi::OsStr::new);
        git.run(&[&add[..], &[root, self.base_commit.as_ref()]].concat())?;
        // No agent has been here yet, so that the new `.git` file can be trusted.
        let git_dir = Git::discover(&self.root, &spec.env).path(&["rev-parse", "--absolute-git-dir"])?;
        let worktree = Git::pinned(&git_dir, &self.root, &spec.env).with_cancel(cancel);
        if spec.mode == WorkspaceMode::WorktreeWithChanges {
            let changed = snapshot::tree(&git, &TemporaryIndex::copy_of_work_tree(&git, &self.repo.git_dir)?)?;
            worktree.run(&["read-tree", "--reset", "-u", &changed])?;
            // The changes are in the files only, as most of them are in the person's directory.
            worktree.run(&["read-tree", "-m", &self.base_commit])?;
        }
        if self.has_submodules {
            update_submodules(&Git::discover(&self.root, &spec.env).with_cancel(cancel), &["--init"])?;
        }
        let dir = match self.project_dir.strip_prefix(&self.repo.root) {
            Ok(below) if !below.as_os_str().is_empty() => self.root.join(below),
            _ => self.root.clone(),
        };
        // A directory without tracked files is not in the worktree.
        std::fs::create_dir_all(&dir).map_err(WorkspaceError::io("cannot create", &dir))?;
        for path in &spec.copy {
            copy_files::copy(&self.project_dir, &dir, path)?;
        }
        for command in &spec.setup {
            run_setup(command, &dir, spec, cancel)?;
        }
        let programs = GitPrograms::record(&worktree, &git_dir, &self.repo.common_dir)?;
        let base = start_tree(&self.own_git(spec), &worktree, &git_dir, &self.root, spec, cancel)?;
        let Self { project_dir, repo, base_commit, root, branch, marker, .. } = self;
        let kind = Kind::Worktree { repo, root, git_dir, branch, base_commit: base_commit.clone() };
        let (id, env, cancel) = (spec.id.clone(), spec.env.clone(), cancel.clone());
        let workspace = Workspace { id, project_dir, dir, kind, base, programs, env, cancel };
        workspace.keep(workspace.base.as_str(), BASE, Some(&base_commit))?;
        std::fs::remove_file(&marker).map_err(WorkspaceError::io("cannot remove", &marker))?;
        Ok(workspace)
    }

    /// Removes what an earlier call left half-made, and leaves the mark of this one.
    fn make_room(&self, spec: &WorkspaceSpec, git: &Git) -> Result<(), WorkspaceError> {
        let branch_ref = format!("refs/heads/{}", self.branch);
        let branch = git.resolve(&branch_ref)?;
        if !self.marker.exists() {
            let exists = self.root.symlink_metadata().is_ok();
            if exists && !self.is_registered(git)? {
                return Err(WorkspaceError::Occupied { path: self.root.clone() });
            }
            if (exists || branch.is_some()) && !self.is_untouched(spec, git)? {
                return Err(WorkspaceError::HasWork { id: spec.id.clone(), path: self.root.clone() });
            }
            std::fs::write(&self.marker, b"").map_err(WorkspaceError::io("cannot write", &self.marker))?;
        }
        if self.root.symlink_metadata().is_ok() {
            remove_all(&self.root)?;
        }
        if self.is_registered(git)? {
            remove::unregister(git, &self.root)?;
        }
        if branch.is_some() {
            git.run(&["update-ref", "-d", &branch_ref])?;
        }
        self.own_git(spec).remove()?;
        delete_refs(git, &spec.id)
    }

    fn own_git(&self, spec: &WorkspaceSpec) -> OwnGit {
        OwnGit::new(self.root.parent().unwrap_or(&spec.parent), &spec.id, &self.repo.common_dir)
    }

    fn is_registered(&self, git: &Git) -> Result<bool, WorkspaceError> {
        remove::is_registered(git, &self.root)
    }

    /// A worktree that was completed, but whose making was not recorded by the caller: nothing has happened in it.
    fn is_untouched(&self, spec: &WorkspaceSpec, git: &Git) -> Result<bool, WorkspaceError> {
        let base = format!("refs/belay/{}/{BASE}", spec.id);
        let (tree, commit) = (git.resolve(&format!("{base}^{{tree}}"))?, git.resolve(&format!("{base}^"))?);
        // A `.git` file that is gone or leads elsewhere: not as it was made.
        let Ok(Some(worktree)) = Repository::find(&self.root, &spec.env) else { return Ok(false) };
        let found = worktree.git(&spec.env);
        let is_same = |path: &Path, other: &Path| path.canonicalize().ok() == other.canonicalize().ok();
        Ok(tree.is_some()
            && is_same(&worktree.root, &self.root)
            && is_same(&worktree.common_dir, &self.repo.common_dir)
            && Some(snapshot::tree(&found, &TemporaryIndex::copy_of_work_tree(&found, &worktree.git_dir)?)?) == tree
            && found.resolve("HEAD^{commit}")? == commit
            && found.resolve(&format!("refs/heads/{}", self.branch))? == commit)
    }
}

/// Deletes the refs of a workspace.
pub(super) fn delete_refs(git: &Git, id: &str) -> Result<(), WorkspaceError> {
    let listed = git.run(&["for-each-ref", "--format=delete %(refname)", &format!("refs/belay/{id}/")])?;
    if !listed.is_empty() {
        git.run_with(&["update-ref", "--stdin"], &listed)?;
    }
    Ok(())
}

/// Removes a directory of Belay's own; links are removed, not followed.
pub(super) fn remove_all(path: &Path) -> Result<(), WorkspaceError> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        _ => std::fs::remove_file(path),
    };
    removed.map_err(WorkspaceError::io("cannot remove", path))
}

/// Checks out the submodules as the index names them.
pub(super) fn update_submodules(git: &Git, options: &[&str]) -> Result<(), WorkspaceError> {
    let args = [&["submodule", "--quiet", "update", "--checkout", "--recursive", "--force"], options].concat();
    let updated = git.output(&args, b"")?;
    if updated.status.success() {
        return Ok(());
    }
    Err(WorkspaceError::Submodules { dir: git.work_tree()?, message: updated.stderr_text() })
}

fn run_setup(command: &str, dir: &Path, spec: &WorkspaceSpec, cancel: &CancelHandle) -> Result<(), WorkspaceError> {
    let (env, marker) = (Some(clean_environment(&spec.env)), spec.marker.as_ref());
    let run = CommandRun { command, dir, env: &env, timeout: spec.setup_timeout, grace: GRACE, cancel, marker };
    let failed = |source| WorkspaceError::Io { what: format!("cannot run the setup command `{command}`"), source };
    let exit = run_command(&run).map_err(failed)?;
    if exit.succeeded() {
        return Ok(());
    }
    let output = exit.output.tail_text(MAX_MESSAGE_BYTES).trim().to_owned();
    Err(WorkspaceError::Setup { command: command.to_owned(), how: exit.describe(), output })
}
