//! What the tasks of all drivers share: usage limits, and directories that one task uses alone.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use belay_drive::limits::Limits;

/// Shared by all drivers of a process.
pub struct Resources {
    pub limits: Limits,
    /// Directories, by the id of the task that uses it.
    occupied: Mutex<BTreeMap<String, PathBuf>>,
    /// Called when a directory is free again.
    listeners: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listeners = lock(&self.listeners).len();
        f.debug_struct("Resources")
            .field("limits", &self.limits)
            .field("occupied", &self.occupied)
            .field("listeners", &listeners)
            .finish()
    }
}

impl Resources {
    pub fn new(limits: Limits) -> Self {
        Self { limits, occupied: Mutex::default(), listeners: Mutex::default() }
    }

    /// Calls `listener` whenever a directory may be free again. It must not block.
    pub(crate) fn on_release(&self, listener: impl Fn() + Send + Sync + 'static) {
        lock(&self.listeners).push(Box::new(listener));
    }

    pub(crate) fn released(&self) {
        lock(&self.listeners).iter().for_each(|listener| listener());
    }

    /// The other task that works in this directory, above it or below it.
    pub(crate) fn holder(&self, task: &str, dir: &Path) -> Option<String> {
        holder(&lock(&self.occupied), task, dir)
    }

    /// Takes a directory, or returns the task that uses it.
    pub(crate) fn occupy(&self, task: &str, dir: &Path) -> Result<(), String> {
        let mut occupied = lock(&self.occupied);
        match holder(&occupied, task, dir) {
            Some(holder) => Err(holder),
            None => {
                occupied.insert(task.to_owned(), dir.to_owned());
                Ok(())
            }
        }
    }

    /// Sets the directory that a task uses between its steps.
    pub(crate) fn set_occupied(&self, task: &str, dir: Option<PathBuf>) {
        let mut occupied = lock(&self.occupied);
        let before = match &dir {
            Some(dir) => occupied.insert(task.to_owned(), dir.clone()),
            None => occupied.remove(task),
        };
        drop(occupied);
        if before.is_some() && before != dir {
            self.released();
        }
    }
}

fn holder(occupied: &BTreeMap<String, PathBuf>, task: &str, dir: &Path) -> Option<String> {
    // Work in one directory can disturb work in the other.
    let overlaps = |other: &Path| other.starts_with(dir) || dir.starts_with(other);
    occupied.iter().find(|(other, used)| *other != task && overlaps(used)).map(|(other, _)| other.clone())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
