//! Putting hooks into agents' settings, and taking them out again as if they had never been there.
//!
//! What is written is known beforehand ([`Recipe::install`]), so it can be shown and confirmed. What
//! was there is kept: a [`Receipt`] names every file, what it held and what we made of it. Taking
//! the hooks out restores a file byte for byte if nobody has changed it since; else it removes our
//! entries and leaves the rest.

mod diff;
mod receipt;
mod trial;

use std::io;
use std::path::{Path, PathBuf};

use belay_agents::install::{Change, InstallError, Recipe, Scope, Setting};
use belay_config::{Places, atomic};
use belay_core::Digest;

pub use diff::diff;
pub use receipt::{Kept, Receipt};
pub use trial::{SELF_TEST, TrialError, try_out};

/// Why hooks could not be put in or taken out.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Recipe(#[from] InstallError),
    #[error("{} cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the record of what was changed cannot be kept in {}: {source}", path.display())]
    Receipt { path: PathBuf, source: io::Error },
}

/// Reads a settings file, links followed.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the changes, after the receipt that allows to undo them.
pub fn put_in(
    places: &Places,
    recipe: &dyn Recipe,
    setting: &Setting<'_>,
    changes: &[Change],
) -> Result<Receipt, SetupError> {
    let mut receipt = Receipt::find(places, recipe.agent(), setting.scope, setting.project)
        .unwrap_or_else(|| Receipt::new(recipe.agent(), setting.scope, setting.project));
    for change in changes {
        let original = match receipt.of(&change.path) {
            // Ours, untouched since: what was there before us is still what to restore.
            Some(kept) if kept.is_as_we_left_it(change.before.as_deref()) => kept.before.clone(),
            // Changed by others: restore their version, without us in it.
            Some(_) => without_us(recipe, setting, change)?,
            None => change.before.clone(),
        };
        receipt.keep(&change.path, original, change.after.as_deref());
    }
    receipt.belay = setting.belay.to_owned();
    receipt.at = crate::now();
    receipt.save(places)?;
    write(changes)?;
    Ok(receipt)
}

/// What has to be done to take the hooks out.
pub fn take_out(places: &Places, recipe: &dyn Recipe, setting: &Setting<'_>) -> Result<Vec<Change>, SetupError> {
    let receipt = Receipt::find(places, recipe.agent(), setting.scope, setting.project);
    let mut changes = Vec::new();
    let mut restored = Vec::new();
    for kept in receipt.iter().flat_map(|receipt| &receipt.files) {
        let now =
            (setting.read)(&kept.path).map_err(|source| InstallError::Read { path: kept.path.clone(), source })?;
        if kept.is_as_we_left_it(now.as_deref()) {
            restored.push(kept.path.clone());
            changes.push(Change { path: kept.path.clone(), before: now, after: kept.before.clone() });
        }
    }
    let others = recipe.remove(setting)?.into_iter().filter(|change| !restored.contains(&change.path));
    changes.extend(others);
    changes.retain(|change| change.before != change.after);
    Ok(changes)
}

/// Writes what [`take_out`] found, and forgets the receipt.
pub fn put_back(
    places: &Places,
    recipe: &dyn Recipe,
    setting: &Setting<'_>,
    changes: &[Change],
) -> Result<(), SetupError> {
    write(changes)?;
    if let Some(receipt) = Receipt::find(places, recipe.agent(), setting.scope, setting.project) {
        receipt.forget(places)?;
    }
    Ok(())
}

/// A file others have changed since, without our entries.
fn without_us(recipe: &dyn Recipe, setting: &Setting<'_>, change: &Change) -> Result<Option<String>, InstallError> {
    let removal = recipe.remove(setting)?;
    let found = removal.into_iter().find(|removed| removed.path == change.path);
    Ok(found.map_or_else(|| change.before.clone(), |removed| removed.after))
}

fn write(changes: &[Change]) -> Result<(), SetupError> {
    for change in changes {
        let fail = |source| SetupError::Write { path: change.path.clone(), source };
        match &change.after {
            Some(text) => atomic::write(&change.path, text.as_bytes(), atomic::Mode::Keep).map_err(fail)?,
            None => {
                match std::fs::remove_file(&change.path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
                    _ => {}
                }
                // Folders that hold nothing now were made for this file, or are as good as new.
                let folders = change.path.ancestors().skip(1).take(2);
                for folder in folders {
                    if std::fs::remove_dir(folder).is_err() {
                        break;
                    }
                }
            }
        }
    }
    Ok(())
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
