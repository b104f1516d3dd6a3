//! Writes several files, all or none.

use std::io;
use std::path::{Path, PathBuf};

use belay_agents::install::{FileChange, InstallContext, Scope};
use belay_fs::FileMode;

use super::{InstallerError, read};

/// Checks beforehand whether everything can be written. A file is read-only on purpose, so it is not replaced.
pub(super) fn check(changes: &[FileChange]) -> Result<(), InstallerError> {
    for change in changes {
        if std::fs::metadata(&change.path).is_ok_and(|found| found.permissions().readonly()) {
            return Err(InstallerError::ReadOnly(change.path.clone()));
        }
        // The user confirmed changes to the content that was shown.
        if read(&change.path).is_ok_and(|now| now != change.before) {
            return Err(InstallerError::Changed(change.path.clone()));
        }
    }
    Ok(())
}

/// A link in a repository must not redirect a project's settings to another file of the user.
pub(super) fn check_project_links(setting: &InstallContext<'_>, changes: &[FileChange]) -> Result<(), InstallerError> {
    if setting.scope != Scope::Project {
        return Ok(());
    }
    for change in changes {
        let below = change.path.ancestors().take_while(|path| *path != setting.project);
        if let Some(link) = below.into_iter().find(|path| path.is_symlink()) {
            return Err(InstallerError::Link(link.to_path_buf()));
        }
    }
    Ok(())
}

/// Writes all files. If one cannot be written, the previous ones are restored.
pub(super) fn write(changes: &[FileChange]) -> Result<(), InstallerError> {
    for (at, change) in changes.iter().enumerate() {
        if let Err(source) = set(&change.path, change.after.as_deref()) {
            for done in changes[..at].iter().rev() {
                if let Err(error) = set(&done.path, done.before.as_deref()) {
                    tracing::error!(path = %done.path.display(), %error, "cannot restore a settings file");
                }
            }
            return Err(InstallerError::Write { path: change.path.clone(), source });
        }
    }
    Ok(())
}

fn set(path: &Path, text: Option<&str>) -> io::Result<()> {
    match text {
        Some(text) => belay_fs::atomic_write(path, text.as_bytes(), FileMode::Keep),
        // The link itself belongs to the user.
        None => match std::fs::remove_file(belay_fs::resolve_link(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// Missing parent directories of this file, innermost first.
pub(super) fn missing_dirs(path: &Path) -> Vec<PathBuf> {
    let target = belay_fs::resolve_link(path);
    target.ancestors().skip(1).take_while(|dir| !dir.exists()).map(Path::to_path_buf).collect()
}

/// Removes the empty directories among these.
pub(super) fn remove_empty(dirs: &[PathBuf]) {
    for dir in dirs {
        // Fails for a directory that is in use, which stays.
        let _ = std::fs::remove_dir(dir);
    }
}
