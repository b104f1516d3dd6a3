//! The rules of each folder, for a process that lives long and is asked at every event.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use belay_core::Rules;

use crate::diagnostic::Diagnostic;
use crate::env::EnvSnapshot;
use crate::load::{Loader, Strictness};
use crate::paths::Paths;
use crate::project::ProjectFile;

/// Files are looked at again after this long: a changed file counts soon, and an event costs nothing.
const RECHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Folders remembered at most.
const MAX_FOLDERS: usize = 256;

/// Told what was left out of a configuration, once per change.
pub type DiagnosticSink = Box<dyn Fn(&Diagnostic) + Send + Sync>;

/// Rules by folder, read again when a file changes.
pub struct RulesByFolder {
    places: Paths,
    env: EnvSnapshot,
    flags: Vec<(String, String, String)>,
    notice: DiagnosticSink,
    known: Mutex<HashMap<Option<PathBuf>, CachedRules>>,
}

struct CachedRules {
    looked_at: Instant,
    stamp: FileStamp,
    rules: Arc<Rules>,
}

/// What tells that a file is another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp([Option<(PathBuf, SystemTime, u64)>; 3]);

impl std::fmt::Debug for RulesByFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rulesets").field("places", &self.places).finish_non_exhaustive()
    }
}

impl RulesByFolder {
    pub fn new(places: Paths, env: EnvSnapshot, flags: Vec<(String, String, String)>, notice: DiagnosticSink) -> Self {
        Self { places, env, flags, notice, known: Mutex::default() }
    }

    /// The rules for a session that works in `folder`. Equal rules are the same `Arc`.
    pub fn for_folder(&self, folder: Option<&Path>) -> Arc<Rules> {
        // A lookup cannot leave the map half changed: what a panic elsewhere left is good.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder.filter(|folder| folder.is_absolute()).map(Path::to_path_buf);
        if let Some(found) = known.get(&folder).filter(|found| found.looked_at.elapsed() < RECHECK_INTERVAL) {
            return Arc::clone(&found.rules);
        }
        let stamp = self.stamp(folder.as_deref());
        let rules = match known.get(&folder) {
            Some(found) if found.stamp == stamp => Arc::clone(&found.rules),
            _ => {
                let rules = self.read(folder.as_deref());
                known
                    .values()
                    .map(|known| &known.rules)
                    .find(|known| ***known == rules)
                    .map_or_else(|| Arc::new(rules), Arc::clone)
            }
        };
        if known.len() >= MAX_FOLDERS {
            known.clear();
        }
        known.insert(folder, CachedRules { looked_at: Instant::now(), stamp, rules: Arc::clone(&rules) });
        rules
    }

    fn read(&self, folder: Option<&Path>) -> Rules {
        let mut loader = Loader::new(&self.places, &self.env).strictness(Strictness::Lenient);
        if let Some(folder) = folder {
            loader = loader.from_folder(folder);
        }
        for (flag, key, value) in &self.flags {
            loader = loader.flag(flag, key, value);
        }
        match loader.load() {
            Ok(loaded) => {
                loaded.notes.iter().for_each(|note| (self.notice)(note));
                loaded.config.detect
            }
            // Lenient loading fails only on a broken built-in document, which a test reads.
            Err(_) => Rules::default(),
        }
    }

    fn stamp(&self, folder: Option<&Path>) -> FileStamp {
        let project = folder.and_then(|folder| ProjectFile::locate(&self.places, folder));
        let files = [Some(self.places.config_file().to_path_buf()), project, Some(self.places.trust())];
        FileStamp(files.map(|file| {
            let file = file?;
            let found = file.symlink_metadata().ok()?;
            Some((file, found.modified().ok()?, found.len()))
        }))
    }
}
