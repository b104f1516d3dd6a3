//! FIFOs and devices where git expects files.
//!
//! Git opens its own files, and the rules in a work tree, without a look at what they are. A FIFO would hold it, and the
//! task, until the limit of a command's duration. So they are looked for before git is started.

use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::error::WorkspaceError;

/// Files in any directory of a work tree that git reads. It does not follow links of these names.
const RULES: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];

/// Refuses rules of git in any directory of a work tree that would block git, and such files of other repositories in
/// it. Ignored directories count: git reads the rules there for files that are tracked.
pub(super) fn check_work_tree(root: &Path) -> Result<(), WorkspaceError> {
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        // What cannot be read, git reports.
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            if name == ".git" {
                if dir != root {
                    check_git_dir(&entry.path(), &[])?;
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
pub(super) fn check_git_dir(git_dir: &Path, except: &[&str]) -> Result<(), WorkspaceError> {
    let mut open = vec![git_dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if except.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let target = || entry.path().metadata().map(|found| found.file_type());
            if kind.is_dir() {
                open.push(entry.path());
            } else if is_special(kind) || (kind.is_symlink() && target().is_ok_and(is_special)) {
                return Err(refused(&entry.path()));
            }
        }
    }
    Ok(())
}

/// Sockets cannot be opened, so that they block nothing; git's file system monitor has one.
fn is_special(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device()
}

fn refused(path: &Path) -> WorkspaceError {
    WorkspaceError::io("git cannot read", path)(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}
