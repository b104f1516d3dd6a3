//! Replacing a file: a reader sees the old or the new content, never a mixture.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::dir::{Dir, sys};

/// Number of names tried for the temporary file.
const MAX_ATTEMPTS: u32 = 16;

/// Maximum number of links followed, as in the kernel.
const MAX_LINKS: u32 = 40;

/// The permissions of a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// Only the owner (0600).
    Private,
    /// Those of the file it replaces; for a new file, those of the user's umask.
    Keep,
}

/// Replaces `path` by a file with these bytes. A link, FIFO or device of that name is replaced, never followed or
/// opened. The directory must exist.
pub fn replace_file(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))?;
    Dir::open(parent(path))?.replace_file(name, bytes, mode)
}

/// Replaces a file of the user's own configuration. Follows links, so that a linked file stays where it is, and creates
/// missing directories.
pub fn atomic_write(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    let target = resolve_link(path);
    std::fs::create_dir_all(parent(&target))?;
    replace_file(&target, bytes, mode)
}

/// The file that a path leads to through links, even if the last link's target does not exist.
pub fn resolve_link(path: &Path) -> PathBuf {
    if let Ok(target) = std::fs::canonicalize(path) {
        return target;
    }
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(next) = std::fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    target
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file that is about to take the place of another.
pub(crate) struct Replacement<'a> {
    dir: &'a Dir,
    name: &'a OsStr,
    temporary: OsString,
    file: File,
    /// The permissions of the old file.
    permissions: Option<sys::Permissions>,
}

impl<'a> Replacement<'a> {
    pub(crate) fn begin(dir: &'a Dir, name: &'a OsStr, mode: FileMode) -> io::Result<Self> {
        let permissions = dir.permissions_of(name).filter(|_| mode == FileMode::Keep);
        // The old file may be closed to others, so the new one is until it has the same permissions.
        let private = mode == FileMode::Private || permissions.is_some();
        // A random suffix, so that a repository cannot occupy the names in advance.
        let random = RandomState::new();
        for attempt in 0..MAX_ATTEMPTS {
            let mut temporary = OsString::from(".");
            temporary.push(name);
            temporary.push(format!(".{:016x}", random.hash_one((std::process::id(), attempt))));
            match dir.create_new(&temporary, private) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    return created.map(|file| Self { dir, name, temporary, file, permissions });
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "cannot create a temporary file: all names are taken"))
    }

    pub(crate) fn finish(mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self
            .file
            .write_all(bytes)
            .and_then(|()| self.permissions.take().map_or(Ok(()), |kept| sys::set_permissions(&self.file, kept)))
            .and_then(|()| self.file.sync_all())
            .and_then(|()| self.dir.rename(&self.temporary, self.name));
        match written {
            Ok(()) => self.dir.sync(),
            // The error of the write is the one to report.
            Err(_) => drop(self.dir.remove(&self.temporary)),
        }
        written
    }
}
