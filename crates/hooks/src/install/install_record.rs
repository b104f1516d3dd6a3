//! What was changed, and what was there before.

use std::io;
use std::path::{Path, PathBuf};

use belay_agents::install::Scope;
use belay_config::{Paths, atomic_file};
use belay_core::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

use super::{InstallerError, name_of};

/// Hooks of one agent in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallRecord {
    pub agent: String,
    /// The project's folder; none for the user's own settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// When the hooks were put in last.
    pub at: Timestamp,
    /// What they call.
    pub belay: String,
    pub files: Vec<SavedFile>,
    /// Folders that were made for them, the innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFile {
    pub path: PathBuf,
    /// What it held before us; none when it was not there.
    pub before: Option<String>,
    /// Digest of what we wrote; none when we removed it.
    pub after: Option<Digest>,
}

impl SavedFile {
    pub fn is_unmodified(&self, now: Option<&str>) -> bool {
        now.map(Digest::of) == self.after
    }
}

impl InstallRecord {
    pub(super) fn new(agent: &str, scope: Scope, project: &Path) -> Self {
        Self {
            agent: agent.to_owned(),
            project: (scope == Scope::Project).then(|| project.to_owned()),
            at: Timestamp::UNKNOWN,
            belay: String::new(),
            files: Vec::new(),
            folders: Vec::new(),
        }
    }

    /// The receipt of hooks in this place, if there is one that can be read.
    pub fn find(places: &Paths, agent: &str, scope: Scope, project: &Path) -> Option<Self> {
        Self::read(&folder(places).join(format!("{}.json", name_of(agent, scope, project))))
    }

    /// Every receipt there is.
    pub fn all(places: &Paths) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir(folder(places)) else { return Vec::new() };
        let mut all: Vec<Self> = entries.filter_map(|entry| Self::read(&entry.ok()?.path())).collect();
        all.sort_by(|a, b| (&a.agent, &a.project).cmp(&(&b.agent, &b.project)));
        all
    }

    pub fn scope(&self) -> Scope {
        if self.project.is_some() { Scope::Project } else { Scope::User }
    }

    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    pub(super) fn of(&self, path: &Path) -> Option<&SavedFile> {
        self.files.iter().find(|kept| kept.path == path)
    }

    pub(super) fn record_original(&mut self, path: &Path, before: Option<String>, after: Option<&str>) {
        let kept = SavedFile { path: path.to_owned(), before, after: after.map(Digest::of) };
        match self.files.iter_mut().find(|known| known.path == path) {
            Some(known) => *known = kept,
            None => self.files.push(kept),
        }
    }

    pub(super) fn record_created(&mut self, folders: Vec<PathBuf>) {
        for folder in folders {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        // Deeper ones go first.
        self.folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    }

    fn path(&self, places: &Paths) -> PathBuf {
        let project = self.project.as_deref().unwrap_or(Path::new(""));
        folder(places).join(format!("{}.json", name_of(&self.agent, self.scope(), project)))
    }

    pub(super) fn save(&self, places: &Paths) -> Result<(), InstallerError> {
        let path = self.path(places);
        let bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        // Settings may hold keys: the copy is for their owner only.
        atomic_file::write(&path, &bytes, atomic_file::FileMode::Private)
            .map_err(|source| InstallerError::Receipt { path, source })
    }

    pub(super) fn delete(&self, places: &Paths) -> Result<(), InstallerError> {
        let path = self.path(places);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(InstallerError::Receipt { path, source }),
            _ => Ok(()),
        }
    }
}

fn folder(places: &Paths) -> PathBuf {
    places.state().join("installed")
}
