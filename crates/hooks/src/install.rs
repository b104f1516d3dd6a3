//! Installs hooks into agents' settings and removes them completely.
//!
//! Changes are computed first ([`belay_agents::install::HookInstaller::install`]), so they can be shown and confirmed. An
//! [`InstallRecord`] stores each file's original content and a digest of the new content. Removal restores an unmodified
//! file byte for byte; from a modified one it removes only Belay's entries.

mod diff;
mod files;
mod install_record;
mod self_test;

use std::io;
use std::path::{Path, PathBuf};

use belay_agents::install::{FileChange, HookInstaller, InstallContext, InstallError, Scope};
use belay_config::Paths;
use belay_core::Digest;
use belay_fs::{FileMode, Links};

pub use diff::diff;
pub use install_record::{InstallRecord, SavedFile, installed_timeout};
pub use self_test::{SELF_TEST_SESSION_PREFIX, SelfTestError, run_self_test};

/// Why hooks could not be installed or removed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallerError {
    #[error(transparent)]
    Recipe(#[from] InstallError),
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
    #[error("{} was changed by another program just now", .0.display())]
    Changed(PathBuf),
    #[error("{} is a symbolic link; Belay does not follow links inside a project", .0.display())]
    Link(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot store the record of the changes in {}: {source}", path.display())]
    Receipt { path: PathBuf, source: io::Error },
}

/// The changes that remove hooks.
#[derive(Debug, Default)]
pub struct UninstallPlan {
    pub changes: Vec<FileChange>,
    /// Files modified since the installation: only Belay's entries are removed.
    pub edited: Vec<PathBuf>,
    /// Copies of Belay's own files that were modified and are deleted.
    pub aside: Vec<PathBuf>,
}

/// A larger settings file is refused.
const MAX_SETTINGS_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a settings file. Follows links.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    match belay_fs::read_regular_text(path, Links::Follow, MAX_SETTINGS_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Hooks that were just installed, and what was there before.
#[derive(Debug)]
pub struct Installation<'a> {
    record: InstallRecord,
    previous: Option<InstallRecord>,
    changes: &'a [FileChange],
}

impl Installation<'_> {
    /// Restores the files and the record that were there before.
    pub fn roll_back(self, paths: &Paths) -> Result<(), InstallerError> {
        let invert = |change: &FileChange| FileChange {
            path: change.path.clone(),
            before: change.after.clone(),
            after: change.before.clone(),
        };
        let inverse: Vec<_> = self.changes.iter().map(invert).collect();
        files::check(&inverse)?;
        files::write(&inverse)?;
        self.forget(paths)
    }

    /// Restores the record, after its files.
    fn forget(self, paths: &Paths) -> Result<(), InstallerError> {
        files::remove_empty(&self.record.dirs);
        match self.previous {
            Some(previous) => previous.save(paths),
            None => self.record.delete(paths),
        }
    }
}

/// Writes the install record, then all changes or none.
pub fn install<'a>(
    paths: &Paths,
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
    changes: &'a [FileChange],
) -> Result<Installation<'a>, InstallerError> {
    files::check(changes)?;
    files::check_project_links(setting, changes)?;
    let known = InstallRecord::find(paths, recipe.agent(), setting.scope, setting.project);
    let mut receipt =
        known.clone().unwrap_or_else(|| InstallRecord::new(recipe.agent(), setting.scope, setting.project));
    for change in changes {
        let original = match receipt.saved_file(&change.path) {
            // Unmodified since: the recorded original stays the one to restore.
            Some(kept) if kept.is_unmodified(change.before.as_deref()) => kept.before.clone(),
            // Modified since: the original to restore is that version without Belay's entries.
            Some(_) => without_us(recipe, setting, change)?,
            None => change.before.clone(),
        };
        receipt.record_original(&change.path, original, change.after.as_deref());
        receipt.record_created(files::missing_dirs(&change.path));
    }
    receipt.belay.clone_from(&setting.belay.program);
    receipt.options.clone_from(&setting.belay.options);
    let events = belay_agents::find(recipe.agent()).and_then(|agent| agent.hooks).map_or(&[][..], |hooks| hooks.events);
    receipt.timeouts = events.iter().map(|event| (event.name.to_owned(), event.timeout.as_secs())).collect();
    receipt.at = belay_clock::now();
    receipt.save(paths)?;
    let installation = Installation { record: receipt, previous: known, changes };
    match files::write(changes) {
        Ok(()) => Ok(installation),
        Err(error) => {
            installation.forget(paths)?;
            Err(error)
        }
    }
}

/// Computes the changes that remove the hooks.
pub fn uninstall(
    paths: &Paths,
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
) -> Result<UninstallPlan, InstallerError> {
    let receipt = InstallRecord::find(paths, recipe.agent(), setting.scope, setting.project);
    let mut removal = UninstallPlan::default();
    let mut restored = Vec::new();
    for kept in receipt.iter().flat_map(|receipt| &receipt.files) {
        let now =
            (setting.read)(&kept.path).map_err(|source| InstallError::Read { path: kept.path.clone(), source })?;
        if kept.is_unmodified(now.as_deref()) {
            restored.push(kept.path.clone());
            removal.changes.push(FileChange { path: kept.path.clone(), before: now, after: kept.before.clone() });
        } else if now.is_some() {
            removal.edited.push(kept.path.clone());
        }
    }
    // Unmodified files are restored without parsing; the others must be parsed.
    let known = receipt.iter().flat_map(|receipt| &receipt.files).count();
    if known == 0 || restored.len() < known {
        let others = recipe.remove(setting)?.into_iter().filter(|change| !restored.contains(&change.path));
        removal.changes.extend(others);
    }
    removal.changes.retain(|change| change.before != change.after);
    removal.edited.retain(|path| removal.changes.iter().any(|change| change.path == *path));
    for change in removal.changes.iter().filter(|change| change.after.is_none()) {
        if removal.edited.contains(&change.path) {
            removal.aside.push(copy_of(paths, &change.path));
        }
    }
    Ok(removal)
}

/// Writes the changes computed by [`uninstall`] and deletes the install record.
pub fn restore(
    paths: &Paths,
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
    removal: &UninstallPlan,
) -> Result<(), InstallerError> {
    files::check(&removal.changes)?;
    files::check_project_links(setting, &removal.changes)?;
    for change in &removal.changes {
        let copy = copy_of(paths, &change.path);
        if let Some(text) = change.before.as_deref().filter(|_| removal.aside.contains(&copy)) {
            belay_fs::atomic_write(&copy, text.as_bytes(), FileMode::Private)
                .map_err(|source| InstallerError::Write { path: copy, source })?;
        }
    }
    files::write(&removal.changes)?;
    if let Some(receipt) = InstallRecord::find(paths, recipe.agent(), setting.scope, setting.project) {
        files::remove_empty(&receipt.dirs);
        receipt.delete(paths)?;
    }
    Ok(())
}

/// The path of the copy of a modified file that is deleted.
fn copy_of(paths: &Paths, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    paths.state().join("removed").join(format!("{}-{name}", Digest::from_bytes(path.as_os_str().as_encoded_bytes())))
}

/// A modified file without Belay's entries.
fn without_us(
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
    change: &FileChange,
) -> Result<Option<String>, InstallError> {
    let removal = recipe.remove(setting)?;
    let found = removal.into_iter().find(|removed| removed.path == change.path);
    Ok(found.map_or_else(|| change.before.clone(), |removed| removed.after))
}

/// The name of an install record.
fn name_of(agent: &str, scope: Scope, project: &Path) -> String {
    match scope {
        Scope::User => format!("{agent}-user"),
        Scope::Project => format!("{agent}-{}", Digest::from_bytes(project.as_os_str().as_encoded_bytes())),
    }
}

#[cfg(test)]
mod tests;
