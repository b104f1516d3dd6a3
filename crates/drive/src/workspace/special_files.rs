//! FIFOs and devices where git expects files.
//!
//! Git opens its own files, and the rules in a work tree, without a look at what they are. A FIFO would hold it, and the
//! task, until the limit of a command's duration. So they are looked for before git is started.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::FileType;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use belay_fs::Links;
use belay_fs::repository::Repository;

use super::error::WorkspaceError;

/// Files in any directory of a work tree that git reads. It does not follow links of these names.
const RULES: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];

/// A longer list of object directories is not followed.
const MAX_ALTERNATES_BYTES: u64 = 1024 * 1024;

/// Refuses rules of git in any directory of a work tree that would block git, and such files of other repositories in
/// it. Ignored directories count: git reads the rules there for files that are tracked.
pub(super) fn check_work_tree(root: &Path) -> Result<(), WorkspaceError> {
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        // What cannot be read, git reports.
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            if name == ".git" {
                // A file of this name may lead to a git directory anywhere.
                let found = Repository::find(&dir).filter(|found| dir != root && found.root == dir);
                if let Some(found) = found.filter(|found| found.git_dir.join("HEAD").symlink_metadata().is_ok()) {
                    check_git_dir(&found.git_dir, &[])?;
                }
            } else if kind.is_dir() {
                open.push(entry.path());
            } else if is_special(kind) && RULES.iter().any(|rules| name == *rules) {
                return Err(refused(&entry.path()));
            }
        }
    }
    Ok(())
}

/// Refuses files of a git directory that would block git, except those of these names. A link to one would block it, too.
/// Directories that links and `objects/info/alternates` name belong to it.
pub(super) fn check_git_dir(git_dir: &Path, except: &[&str]) -> Result<(), WorkspaceError> {
    let (mut open, mut linked) = (vec![git_dir.to_owned()], HashSet::new());
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if except.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let target = path.metadata().ok().filter(|_| kind.is_symlink()).map(|found| found.file_type());
            if is_special(kind) || target.is_some_and(is_special) {
                return Err(refused(&path));
            }
            let mut add = |dir: &Path| open.extend(dir.canonicalize().ok().filter(|dir| linked.insert(dir.clone())));
            if target.is_some_and(|kind| kind.is_dir()) {
                add(&path);
            } else if path.ends_with("info/alternates") {
                alternates(&path).iter().for_each(|objects| add(objects));
            } else if kind.is_dir() {
                open.push(path);
            }
        }
    }
    Ok(())
}

/// The object directories that a list names: absolute, or relative to the one of the list.
fn alternates(list: &Path) -> Vec<PathBuf> {
    let bytes = belay_fs::read_regular(list, Links::Follow, MAX_ALTERNATES_BYTES).unwrap_or_default();
    let objects = list.ancestors().nth(2).unwrap_or(Path::new("/"));
    bytes.split(|byte| *byte == b'\n').map(|line| objects.join(OsStr::from_bytes(line))).collect()
}

/// Sockets cannot be opened, so that they block nothing; git's file system monitor has one.
fn is_special(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device()
}

fn refused(path: &Path) -> WorkspaceError {
    WorkspaceError::io("git cannot read", path)(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}
