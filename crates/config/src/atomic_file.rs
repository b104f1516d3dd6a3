//! Writing a file whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Who may read what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// Only the owner (0600).
    Private,
    /// As the file was; a new one as the user's umask says.
    Keep,
}

/// Replaces `path` by a file with these bytes. Links are followed, so that a configuration kept
/// elsewhere by link stays there. A reader sees the old or the new content, never a mixture.
pub fn write(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    let target = resolve_link(path);
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let name = target.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))?;
    let (aside, mut file) = create_beside(folder, &name.to_string_lossy(), mode)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| keep_mode(&target, &file, mode))
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&aside, &target));
    if written.is_err() {
        // The error below is what matters; a file left aside does no harm.
        let _ = std::fs::remove_file(&aside);
        return written;
    }
    // Not every file system can sync a folder; the rename is done either way.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// The file a path means: links followed, also one that leads to a file that is not there yet.
pub fn resolve_link(path: &Path) -> PathBuf {
    if let Ok(target) = std::fs::canonicalize(path) {
        return target;
    }
    let mut target = path.to_path_buf();
    // As many as the system itself would follow.
    for _ in 0..40 {
        let Ok(next) = std::fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    target
}

fn create_beside(folder: &Path, name: &str, mode: FileMode) -> io::Result<(PathBuf, File)> {
    for attempt in 0..64 {
        let aside = folder.join(format!(".{name}.{}-{attempt}", std::process::id()));
        match options(mode).open(&aside) {
            Ok(file) => return Ok((aside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many files left aside here"))
}

fn options(mode: FileMode) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if mode == FileMode::Private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = mode;
    options
}

fn keep_mode(target: &Path, file: &File, mode: FileMode) -> io::Result<()> {
    match (mode, std::fs::metadata(target)) {
        (FileMode::Keep, Ok(before)) => file.set_permissions(before.permissions()),
        _ => Ok(()),
    }
}
