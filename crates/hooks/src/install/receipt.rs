//! What was changed, and what was there before.

use std::io;
use std::path::{Path, PathBuf};

use belay_agents::install::Scope;
use belay_config::{Places, atomic};
use belay_core::{Digest, Time};
use serde::{Deserialize, Serialize};

use super::{SetupError, name_of};

/// Hooks of one agent in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub agent: String,
    /// The project's folder; none for the user's own settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// When the hooks were put in last.
    pub at: Time,
    /// What they call.
    pub belay: String,
    pub files: Vec<Kept>,
    /// Folders that were made for them, the innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub path: PathBuf,
    /// What it held before us; none when it was not there.
    pub before: Option<String>,
    /// Digest of what we wrote; none when we removed it.
    pub after: Option<Digest>,
}

impl Kept {
    pub fn is_as_we_left_it(&self, now: Option<&str>) -> bool {
        now.map(Digest::of) == self.after
    }
}

impl Receipt {
    pub(super) fn new(agent: &str, scope: Scope, project: &Path) -> Self {
        Self {
            agent: agent.to_owned(),
            project: (scope == Scope::Project).then(|| project.to_owned()),
            at: Time::UNKNOWN,
            belay: String::new(),
            files: Vec::new(),
            folders: Vec::new(),
        }
    }

    /// The receipt of hooks in this place, if there is one that can be read.
    pub fn find(places: &Places, agent: &str, scope: Scope, project: &Path) -> Option<Self> {
        Self::read(&folder(places).join(format!("{}.json", name_of(agent, scope, project))))
    }

    /// Every receipt there is.
    pub fn all(places: &Places) -> Vec<Self> {
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

    pub(super) fn of(&self, path: &Path) -> Option<&Kept> {
        self.files.iter().find(|kept| kept.path == path)
    }

    pub(super) fn keep(&mut self, path: &Path, before: Option<String>, after: Option<&str>) {
        let kept = Kept { path: path.to_owned(), before, after: after.map(Digest::of) };
        match self.files.iter_mut().find(|known| known.path == path) {
            Some(known) => *known = kept,
            None => self.files.push(kept),
        }
    }

    pub(super) fn made(&mut self, folders: Vec<PathBuf>) {
        for folder in folders {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        // Deeper ones go first.
        self.folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    }

    fn path(&self, places: &Places) -> PathBuf {
        let project = self.project.as_deref().unwrap_or(Path::new(""));
        folder(places).join(format!("{}.json", name_of(&self.agent, self.scope(), project)))
    }

    pub(super) fn save(&self, places: &Places) -> Result<(), SetupError> {
        let path = self.path(places);
        let bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        // Settings may hold keys: the copy is for their owner only.
        atomic::write(&path, &bytes, atomic::Mode::Private).map_err(|source| SetupError::Receipt { path, source })
    }

    pub(super) fn forget(&self, places: &Places) -> Result<(), SetupError> {
        let path = self.path(places);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(SetupError::Receipt { path, source }),
            _ => Ok(()),
        }
    }
}

fn folder(places: &Places) -> PathBuf {
    places.state().join("installed")
}
