//! Putting hooks into agents' settings, and taking them out again as if they had never been there.
//!
//! What is written is known beforehand ([`belay_agents::install::HookInstaller::install`]), so it can be shown and confirmed. What
//! was there is kept: a [`InstallRecord`] names every file, what it held and what we made of it. Taking
//! the hooks out restores a file byte for byte if nobody has changed it since; else it removes our
//! entries and leaves the rest.

mod diff;
mod files;
mod install_record;
mod self_test;

use std::io;
use std::path::{Path, PathBuf};

use belay_agents::install::{FileChange, HookInstaller, InstallContext, InstallError, Scope};
use belay_config::{Paths, atomic_file};
use belay_core::Digest;

pub use diff::diff;
pub use install_record::{InstallRecord, SavedFile};
pub use self_test::{SELF_TEST_SESSION_PREFIX, SelfTestError, run_self_test};

/// Why hooks could not be put in or taken out. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum InstallerError {
    #[error(transparent)]
    Recipe(#[from] InstallError),
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
    #[error("{} has been changed just now by somebody else", .0.display())]
    Changed(PathBuf),
    #[error("{} cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the record of what was changed cannot be kept in {}: {source}", path.display())]
    Receipt { path: PathBuf, source: io::Error },
}

/// What taking hooks out means.
#[derive(Debug, Default)]
pub struct UninstallPlan {
    pub changes: Vec<FileChange>,
    /// Files that somebody has changed since we did: only our part goes.
    pub edited: Vec<PathBuf>,
    /// A file of ours that somebody has changed is not deleted without a copy; where it is kept.
    pub aside: Vec<PathBuf>,
}

/// Reads a settings file, links followed.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the changes, after the receipt that allows to undo them. All of them, or none.
pub fn install(
    places: &Paths,
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
    changes: &[FileChange],
) -> Result<InstallRecord, InstallerError> {
    files::check(changes)?;
    let known = InstallRecord::find(places, recipe.agent(), setting.scope, setting.project);
    let mut receipt =
        known.clone().unwrap_or_else(|| InstallRecord::new(recipe.agent(), setting.scope, setting.project));
    for change in changes {
        let original = match receipt.of(&change.path) {
            // Ours, untouched since: what was there before us is still what to restore.
            Some(kept) if kept.is_unmodified(change.before.as_deref()) => kept.before.clone(),
            // Changed by others: restore their version, without us in it.
            Some(_) => without_us(recipe, setting, change)?,
            None => change.before.clone(),
        };
        receipt.record_original(&change.path, original, change.after.as_deref());
        receipt.record_created(files::missing_folders(&change.path));
    }
    receipt.belay = setting.belay.to_owned();
    receipt.at = crate::now();
    receipt.save(places)?;
    if let Err(error) = files::write(changes) {
        files::remove_empty(&receipt.folders);
        match known {
            Some(known) => known.save(places)?,
            None => receipt.delete(places)?,
        }
        return Err(error);
    }
    Ok(receipt)
}

/// What has to be done to take the hooks out.
pub fn uninstall(
    places: &Paths,
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
) -> Result<UninstallPlan, InstallerError> {
    let receipt = InstallRecord::find(places, recipe.agent(), setting.scope, setting.project);
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
    // What we left as it was needs no understanding; the rest has to be read.
    let known = receipt.iter().flat_map(|receipt| &receipt.files).count();
    if known == 0 || restored.len() < known {
        let others = recipe.remove(setting)?.into_iter().filter(|change| !restored.contains(&change.path));
        removal.changes.extend(others);
    }
    removal.changes.retain(|change| change.before != change.after);
    removal.edited.retain(|path| removal.changes.iter().any(|change| change.path == *path));
    for change in removal.changes.iter().filter(|change| change.after.is_none()) {
        if removal.edited.contains(&change.path) {
            removal.aside.push(copy_of(places, &change.path));
        }
    }
    Ok(removal)
}

/// Writes what [`uninstall`] found, and forgets the receipt.
pub fn restore(
    places: &Paths,
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
    removal: &UninstallPlan,
) -> Result<(), InstallerError> {
    files::check(&removal.changes)?;
    for change in &removal.changes {
        let copy = copy_of(places, &change.path);
        if let Some(text) = change.before.as_deref().filter(|_| removal.aside.contains(&copy)) {
            atomic_file::write(&copy, text.as_bytes(), atomic_file::FileMode::Private)
                .map_err(|source| InstallerError::Write { path: copy, source })?;
        }
    }
    files::write(&removal.changes)?;
    if let Some(receipt) = InstallRecord::find(places, recipe.agent(), setting.scope, setting.project) {
        files::remove_empty(&receipt.folders);
        receipt.delete(places)?;
    }
    Ok(())
}

/// Where a file that somebody changed is kept when it goes.
fn copy_of(places: &Paths, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    places.state().join("removed").join(format!("{}-{name}", Digest::of(path.as_os_str().as_encoded_bytes())))
}

/// A file others have changed since, without our entries.
fn without_us(
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
    change: &FileChange,
) -> Result<Option<String>, InstallError> {
    let removal = recipe.remove(setting)?;
    let found = removal.into_iter().find(|removed| removed.path == change.path);
    Ok(found.map_or_else(|| change.before.clone(), |removed| removed.after))
}

/// Names the place of a receipt.
fn name_of(agent: &str, scope: Scope, project: &Path) -> String {
    match scope {
        Scope::User => format!("{agent}-user"),
        Scope::Project => format!("{agent}-{}", Digest::of(project.as_os_str().as_encoded_bytes())),
    }
}

#[cfg(test)]
mod tests;
