//! Replacing a file: a reader sees the old or the new content, never a mixture.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Names tried for the temporary file.
const MAX_ATTEMPTS: u32 = 16;

/// Links followed at most, as the system itself would.
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
/// opened. The folder must exist.
pub fn replace_file(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    let folder = parent(path);
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))?;
    let (temporary, mut file) = create_beside(folder, &name.to_string_lossy(), mode)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| keep_permissions(path, &file, mode))
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // The error of the write is the one to report.
        let _ = std::fs::remove_file(&temporary);
        return written;
    }
    // Not every file system can sync a folder; the rename is complete either way.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Replaces a file of the user's own configuration. Follows links, so that a file kept elsewhere by link stays there,
/// and creates missing folders.
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
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn create_beside(folder: &Path, name: &str, mode: FileMode) -> io::Result<(PathBuf, File)> {
    // A random suffix, so that a repository cannot occupy the names in advance.
    let random = RandomState::new();
    for attempt in 0..MAX_ATTEMPTS {
        let temporary = folder.join(format!(".{name}.{:016x}", random.hash_one((std::process::id(), attempt))));
        match create_new(&temporary, mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (temporary, file)),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "cannot create a temporary file: all names are taken"))
}

/// Creates a file that must not exist; a link of that name counts as existing.
fn create_new(path: &Path, mode: FileMode) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if mode == FileMode::Private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

fn keep_permissions(path: &Path, file: &File, mode: FileMode) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(before) if mode == FileMode::Keep && before.is_file() => file.set_permissions(before.permissions()),
        _ => Ok(()),
    }
}
