//! Writing several files, all or none.

use std::io;
use std::path::{Path, PathBuf};

use belay_agents::install::FileChange;
use belay_config::atomic_file;

use super::{InstallerError, read};

/// Whether everything can be written, as far as that shows beforehand. A file that was made
/// read-only was made so on purpose: it is not replaced behind its owner's back.
pub(super) fn check(changes: &[FileChange]) -> Result<(), InstallerError> {
    for change in changes {
        if std::fs::metadata(&change.path).is_ok_and(|found| found.permissions().readonly()) {
            return Err(InstallerError::ReadOnly(change.path.clone()));
        }
        // What was shown and agreed to is what was there then.
        if read(&change.path).is_ok_and(|now| now != change.before) {
            return Err(InstallerError::Changed(change.path.clone()));
        }
    }
    Ok(())
}

/// Writes all of them. If one cannot be written, those before it are put back.
pub(super) fn write(changes: &[FileChange]) -> Result<(), InstallerError> {
    for (at, change) in changes.iter().enumerate() {
        if let Err(source) = set(&change.path, change.after.as_deref()) {
            for done in changes[..at].iter().rev() {
                if let Err(error) = set(&done.path, done.before.as_deref()) {
                    tracing::error!(path = %done.path.display(), %error, "a settings file could not be put back");
                }
            }
            return Err(InstallerError::Write { path: change.path.clone(), source });
        }
    }
    Ok(())
}

fn set(path: &Path, text: Option<&str>) -> io::Result<()> {
    match text {
        Some(text) => atomic_file::write(path, text.as_bytes(), atomic_file::FileMode::Keep),
        // A link to it is not ours to remove.
        None => match std::fs::remove_file(atomic_file::resolve_link(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// Folders that have to be made for this file, the innermost first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let target = atomic_file::resolve_link(path);
    target.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect()
}

/// Removes those of the folders that hold nothing.
pub(super) fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        // One that somebody else uses by now stays.
        let _ = std::fs::remove_dir(folder);
    }
}
