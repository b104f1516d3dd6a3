//! Trees of everything that is not ignored.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::error::WorkspaceError;
use super::git::{Git, split_nul};
use super::index::TemporaryIndex;
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
    /// A submodule counts by the commit that it has checked out. The files of a repository inside the directory that is
    /// not a submodule do not count until it has a commit.
    pub fn snapshot(&self, name: &str) -> Result<TreeId, WorkspaceError> {
        check_name(name)?;
        if [BASE, LANDED, ARCHIVED].contains(&name) {
            return Err(WorkspaceError::BadName { name: name.to_owned() });
        }
        match (self.git()?, &self.kind) {
            (Some(git), _) => {
                let (_, tree) = self.index_of_files(&git)?;
                self.keep(&tree, name, self.head()?.as_deref())?;
                Ok(TreeId(tree))
            }
            (None, Kind::InPlace { manifests, .. }) => manifest::record(&self.project_dir, manifests),
            (None, Kind::Worktree { .. }) => Err(WorkspaceError::NoGit { project_dir: self.project_dir.clone() }),
        }
    }

    /// Keeps a tree, and the commit that was checked out with it, alive under a name.
    pub(super) fn keep(&self, tree: &str, name: &str, head: Option<&str>) -> Result<(), WorkspaceError> {
        let Some(git) = self.refs()? else { return Ok(()) };
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

    /// Brings Belay's own index up to date with the files where the agent works. Returns a copy of it and its tree.
    pub(super) fn index_of_files(&self, git: &Git) -> Result<(TemporaryIndex, String), WorkspaceError> {
        let Some(own) = self.own_git() else {
            return Err(WorkspaceError::NoGit { project_dir: self.project_dir.clone() });
        };
        own.ensure_index(self.base.as_str(), &self.env)?;
        let index = TemporaryIndex::copy_of(&own.index())?;
        let on_index = index.use_with(git);
        add_files(&on_index)?;
        self.count_tracked_files(&on_index)?;
        let tree = on_index.line(&["write-tree"])?;
        index.publish(&own.index())?;
        Ok((index, tree))
    }

    /// A file that git ignores counts if it is tracked: since the start, or because the agent has added it. Of the
    /// agent's index, only the names are used.
    fn count_tracked_files(&self, git: &Git) -> Result<(), WorkspaceError> {
        let theirs = self.names_in_index(git);
        let theirs: HashSet<&[u8]> = split_nul(&theirs).collect();
        let listed = git.run(&["ls-files", "-z", "--full-name"])?;
        let known: HashSet<&[u8]> = split_nul(&listed).collect();
        let mut added = Vec::new();
        theirs
            .difference(&known)
            .filter(|path| is_file_below(self.root(), path))
            .for_each(|path| push_nul(&mut added, path));
        if !added.is_empty() {
            git.run_with(&["update-index", "--add", "-z", "--stdin"], &added)?;
        }
        let ignored = git.run(&["ls-files", "--cached", "--ignored", "--exclude-standard", "-z", "--full-name"])?;
        if ignored.is_empty() {
            return Ok(());
        }
        let base = git.run(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", self.base.as_str()])?;
        let base: HashSet<&[u8]> = split_nul(&base).collect();
        let mut dropped = Vec::new();
        let is_tracked = |path: &&[u8]| base.contains(path) || theirs.contains(path);
        split_nul(&ignored).filter(|path| !is_tracked(path)).for_each(|path| push_nul(&mut dropped, path));
        if !dropped.is_empty() {
            git.run_with(&["update-index", "--force-remove", "-z", "--stdin"], &dropped)?;
        }
        Ok(())
    }

    /// The files in the index of the work tree. An index that cannot be read has none.
    fn names_in_index(&self, git: &Git) -> Vec<u8> {
        let Some((repository, git_dir)) = self.repository_git() else { return Vec::new() };
        let listed = TemporaryIndex::copy_of_work_tree(&repository, git_dir)
            .and_then(|index| index.use_with(git).run(&["ls-files", "-z", "--full-name"]));
        listed.unwrap_or_else(|error| {
            tracing::warn!(workspace = self.id, %error, "the index of a workspace cannot be read");
            Vec::new()
        })
    }
}

/// The tree of all files that are not ignored or are in the index, of which `index` is a copy.
pub(super) fn tree(git: &Git, index: &TemporaryIndex) -> Result<String, WorkspaceError> {
    let git = index.use_with(git);
    add_files(&git)?;
    git.line(&["write-tree"])
}

/// Brings an index up to date with the files.
fn add_files(git: &Git) -> Result<(), WorkspaceError> {
    let submodules = prepare_index(git)?;
    let added = git.output(&["add", "--all", "--ignore-errors", "--", "."], b"")?;
    if !added.status.success() && !only_empty_repositories(&added.stderr_text()) {
        return Err(added.into_error());
    }
    submodules.put_back(git)
}

/// Clears the flags by which git ignores changes of a file (`assume-unchanged`, `skip-worktree`), and takes submodules
/// out of the index. Files that a sparse checkout left out stay as they are.
fn prepare_index(git: &Git) -> Result<Submodules, WorkspaceError> {
    let listed = git.run(&["ls-files", "-v", "--stage", "-z", "--full-name"])?;
    let root = git.work_tree()?;
    let (mut assumed, mut skipped, mut submodules) = (Vec::new(), Vec::new(), Submodules::default());
    for entry in split_nul(&listed).filter_map(IndexEntry::parse) {
        if entry.tag.is_ascii_lowercase() {
            push_nul(&mut assumed, entry.path);
        }
        if entry.tag.eq_ignore_ascii_case(&b'S') && exists(&root, entry.path) {
            push_nul(&mut skipped, entry.path);
        }
        if entry.is_submodule() && exists(&root, &[entry.path, b"/.git"].concat()) {
            push_nul(&mut submodules.paths, entry.path);
            push_nul(&mut submodules.entries, &[entry.mode_and_object, b"\t", entry.path].concat());
        }
    }
    let changes =
        [("--no-assume-unchanged", &assumed), ("--no-skip-worktree", &skipped), ("--force-remove", &submodules.paths)];
    for (option, paths) in changes {
        if !paths.is_empty() {
            git.run_with(&["update-index", option, "-z", "--stdin"], paths)?;
        }
    }
    Ok(submodules)
}

/// An entry of `git ls-files -v --stage`.
struct IndexEntry<'a> {
    tag: u8,
    mode_and_object: &'a [u8],
    path: &'a [u8],
}

impl<'a> IndexEntry<'a> {
    /// `H 100644 <object> 0<TAB>path`
    fn parse(entry: &'a [u8]) -> Option<Self> {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = (&entry[..tab], &entry[tab + 1..]);
        let (tag, rest) = head.split_first()?;
        let rest = rest.strip_prefix(b" ")?;
        let stage = rest.iter().rposition(|byte| *byte == b' ')?;
        Some(Self { tag: *tag, mode_and_object: &rest[..stage], path })
    }

    fn is_submodule(&self) -> bool {
        self.mode_and_object.starts_with(b"160000 ")
    }
}

/// Submodules that were taken out of an index. Otherwise `git add` would look for changed files in them, and run the
/// programs that their own configuration names. As repositories that are new to the index, they are added by their
/// commit.
#[derive(Default)]
struct Submodules {
    paths: Vec<u8>,
    entries: Vec<u8>,
}

impl Submodules {
    /// Puts back what `git add` did not add: submodules in ignored directories, and those without a commit.
    fn put_back(&self, git: &Git) -> Result<(), WorkspaceError> {
        if self.paths.is_empty() {
            return Ok(());
        }
        let listed = git.run(&["ls-files", "-z", "--full-name"])?;
        let added: HashSet<&[u8]> = split_nul(&listed).collect();
        let mut missing = Vec::new();
        for (path, entry) in split_nul(&self.paths).zip(split_nul(&self.entries)) {
            if !added.contains(path) {
                push_nul(&mut missing, entry);
            }
        }
        if !missing.is_empty() {
            git.run_with(&["update-index", "-z", "--index-info"], &missing)?;
        }
        Ok(())
    }
}

fn push_nul(list: &mut Vec<u8>, item: &[u8]) {
    list.extend_from_slice(item);
    list.push(0);
}

fn exists(root: &Path, path: &[u8]) -> bool {
    root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok()
}

/// Whether this is a file or a link, and no link leads to it.
fn is_file_below(root: &Path, path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    let parent = path.parent().unwrap_or(Path::new(""));
    belay_fs::Dir::open_below(root, parent).is_ok()
        && root.join(path).symlink_metadata().is_ok_and(|found| found.is_file() || found.is_symlink())
}

/// Git cannot add a repository that has no commit, and says so. Everything else has been added.
fn only_empty_repositories(stderr: &str) -> bool {
    let mut errors = stderr.lines().filter(|line| line.starts_with("error:") || line.starts_with("fatal:")).peekable();
    errors.peek().is_some() && errors.all(|line| line.ends_with("does not have a commit checked out"))
}
