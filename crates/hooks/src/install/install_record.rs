//! The record of an installation: the changed files and their original content.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_agents::hook::HookPoint;
use belay_agents::install::{BelayCommand, Scope};
use belay_agents::spec::HookEvent;
use belay_config::Paths;
use belay_core::{Digest, Timestamp};
use belay_fs::FileMode;
use serde::{Deserialize, Serialize};

use super::{InstallerError, name_of};

/// What earlier versions, which did not record timeouts, installed for hooks that do not wait.
const UNRECORDED_TIMEOUT: Duration = Duration::from_secs(10);

/// The installation of one agent's hooks in one scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallRecord {
    pub agent: String,
    /// The project's directory; `None` for the user's own settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Time of the last installation.
    pub at: Timestamp,
    /// The program that the hooks run.
    pub belay: String,
    /// The options that they pass it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// How long the agent waits for each hook, in seconds, by the event's name. Earlier versions did not record it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts: BTreeMap<String, u64>,
    pub files: Vec<SavedFile>,
    /// Directories created for the files, innermost first.
    #[serde(default, alias = "folders", skip_serializing_if = "Vec::is_empty")]
    pub dirs: Vec<PathBuf>,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFile {
    pub path: PathBuf,
    /// The original content; `None` if the file did not exist.
    pub before: Option<String>,
    /// Digest of the written content; `None` if the file was removed.
    pub after: Option<Digest>,
}

impl SavedFile {
    pub fn is_unmodified(&self, now: Option<&str>) -> bool {
        now.map(Digest::from_bytes) == self.after
    }
}

impl InstallRecord {
    pub(super) fn new(agent: &str, scope: Scope, project: &Path) -> Self {
        Self {
            agent: agent.to_owned(),
            project: (scope == Scope::Project).then(|| project.to_owned()),
            at: Timestamp::UNKNOWN,
            belay: String::new(),
            options: Vec::new(),
            timeouts: BTreeMap::new(),
            files: Vec::new(),
            dirs: Vec::new(),
        }
    }

    /// The record for this scope, if it exists and is readable.
    pub fn find(paths: &Paths, agent: &str, scope: Scope, project: &Path) -> Option<Self> {
        Self::read(&dir(paths).join(format!("{}.json", name_of(agent, scope, project))))
    }

    /// All records.
    pub fn all(paths: &Paths) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir(dir(paths)) else { return Vec::new() };
        let mut all: Vec<Self> = entries.filter_map(|entry| Self::read(&entry.ok()?.path())).collect();
        all.sort_by(|a, b| (&a.agent, &a.project).cmp(&(&b.agent, &b.project)));
        all
    }

    /// What the hooks call.
    pub fn command(&self) -> BelayCommand {
        BelayCommand { program: self.belay.clone(), options: self.options.clone() }
    }

    pub fn scope(&self) -> Scope {
        if self.project.is_some() { Scope::Project } else { Scope::User }
    }

    /// How long the agent waits for the installed hook of an event.
    fn timeout_of(&self, event: &HookEvent) -> Duration {
        match self.timeouts.get(event.name) {
            Some(seconds) => Duration::from_secs(*seconds),
            // Before timeouts were recorded, only permission hooks waited for something.
            None if event.point == HookPoint::Permission || event.name == "permission.asked" => event.timeout,
            None => event.timeout.min(UNRECORDED_TIMEOUT),
        }
    }

    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    pub fn saved_file(&self, path: &Path) -> Option<&SavedFile> {
        self.files.iter().find(|kept| kept.path == path)
    }

    pub(super) fn record_original(&mut self, path: &Path, before: Option<String>, after: Option<&str>) {
        let kept = SavedFile { path: path.to_owned(), before, after: after.map(Digest::from_bytes) };
        match self.files.iter_mut().find(|known| known.path == path) {
            Some(known) => *known = kept,
            None => self.files.push(kept),
        }
    }

    pub(super) fn record_created(&mut self, dirs: Vec<PathBuf>) {
        for dir in dirs {
            if !self.dirs.contains(&dir) {
                self.dirs.push(dir);
            }
        }
        // Inner directories first.
        self.dirs.sort_by_key(|dir| std::cmp::Reverse(dir.components().count()));
    }

    fn path(&self, paths: &Paths) -> PathBuf {
        let project = self.project.as_deref().unwrap_or(Path::new(""));
        dir(paths).join(format!("{}.json", name_of(&self.agent, self.scope(), project)))
    }

    pub(super) fn save(&self, paths: &Paths) -> Result<(), InstallerError> {
        let path = self.path(paths);
        let bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        // Settings may contain keys, so the copy is private.
        belay_fs::atomic_write(&path, &bytes, FileMode::Private)
            .map_err(|source| InstallerError::Receipt { path, source })
    }

    pub(super) fn delete(&self, paths: &Paths) -> Result<(), InstallerError> {
        let path = self.path(paths);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(InstallerError::Receipt { path, source }),
            _ => Ok(()),
        }
    }
}

/// How long an agent waits for the hook of an event, as it is installed for the user and for the project of `cwd`. A hook
/// that was not installed with a record, such as that of a plugin or of one run, has the timeout of this version.
pub fn installed_timeout(paths: &Paths, agent: &str, event: &HookEvent, cwd: Option<&Path>) -> Duration {
    let applies = |record: &InstallRecord| {
        let project = record.project.as_deref();
        record.agent == agent && project.is_none_or(|project| cwd.is_some_and(|cwd| cwd.starts_with(project)))
    };
    let records = InstallRecord::all(paths).into_iter().filter(applies);
    records.map(|record| record.timeout_of(event)).min().unwrap_or(event.timeout)
}

fn dir(paths: &Paths) -> PathBuf {
    paths.state().join("installed")
}

#[cfg(test)]
mod tests;
