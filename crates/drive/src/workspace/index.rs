//! Copies of git's index.
//!
//! The index of a worktree may belong to an agent by now: a link, a FIFO, or gigabytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use belay_fs::Links;

use super::error::WorkspaceError;
use super::git::Git;

/// The index of a million files has about 100 MB.
const MAX_INDEX_BYTES: u64 = 512 * 1024 * 1024;

/// A temporary index, removed with its directory.
pub(super) struct TemporaryIndex {
    dir: tempfile::TempDir,
}

impl TemporaryIndex {
    pub(super) fn empty() -> Result<Self, WorkspaceError> {
        let dir = tempfile::Builder::new().prefix("belay-index-").tempdir();
        let failed = |source| WorkspaceError::Io { what: "cannot create a temporary index".to_owned(), source };
        Ok(Self { dir: dir.map_err(failed)? })
    }

    /// A copy of an index: files whose times did not change are not read again. A repository without any file has no
    /// index.
    pub(super) fn copy_of(index: &Path) -> Result<Self, WorkspaceError> {
        let copy = Self::empty()?;
        match copy_index(index, &copy.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(WorkspaceError::io("cannot read the index", index)(error))
            }
            _ => Ok(copy),
        }
    }

    /// A copy of the index of a work tree, whose git directory is `git_dir`. `git` is git in that directory.
    pub(super) fn copy_of_work_tree(git: &Git, git_dir: &Path) -> Result<Self, WorkspaceError> {
        let copy = Self::copy_of(&git_dir.join("index"))?;
        if is_split(git_dir) {
            copy.use_with(git).run(&["update-index", "--no-split-index"])?;
        }
        Ok(copy)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    pub(super) fn use_with(&self, git: &Git) -> Git {
        git.with_env("GIT_INDEX_FILE", self.path())
    }

    /// Replaces an index by a copy of this one. A link of that name is replaced, not followed.
    pub(super) fn publish(&self, to: &Path) -> Result<(), WorkspaceError> {
        let replaced = (|| {
            let parent = to.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::Builder::new().prefix("belay-index-").tempfile_in(parent)?;
            let mut from = File::open(self.path())?;
            io::copy(&mut from, file.as_file_mut())?;
            file.as_file().set_modified(from.metadata()?.modified()?)?;
            file.persist(to).map(drop).map_err(|error| error.error)
        })();
        replaced.map_err(WorkspaceError::io("cannot write", to))
    }
}

/// Whether a part of the index is in a file of its own (`core.splitIndex`), which git finds in the git directory only.
pub(super) fn is_split(git_dir: &Path) -> bool {
    let mut names = std::fs::read_dir(git_dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with("sharedindex."))
}

/// Copies an index with its time. Git reads a file again if it may have been changed in the moment in which the index
/// was written; a later time would hide that change.
pub(super) fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let original = belay_fs::open_regular(from, Links::Refuse)?;
    let metadata = original.metadata()?;
    let too_large = || {
        let message = format!("{} is larger than {MAX_INDEX_BYTES} bytes", from.display());
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    if metadata.len() > MAX_INDEX_BYTES {
        return Err(too_large());
    }
    let mut copy = File::create_new(to)?;
    // It may grow meanwhile.
    if io::copy(&mut original.take(MAX_INDEX_BYTES + 1), &mut copy)? > MAX_INDEX_BYTES {
        return Err(too_large());
    }
    copy.set_modified(metadata.modified()?)
}
