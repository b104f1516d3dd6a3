//! A cache of the rules per directory, for a long-running process that needs them at every event.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use belay_core::Rules;

use crate::diagnostic::Diagnostic;
use crate::env::EnvSnapshot;
use crate::load::{Loader, Strictness};
use crate::paths::Paths;
use crate::project::ProjectFile;

/// Interval between checks of the files.
const RECHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum number of cached directories.
const MAX_DIRS: usize = 256;

/// Receives the diagnostics of a configuration, once per change.
pub type DiagnosticSink = Box<dyn Fn(&Diagnostic) + Send + Sync>;

/// Rules by directory, reloaded when a file changes.
pub struct RulesByDir {
    paths: Paths,
    env: EnvSnapshot,
    flags: Vec<(String, String, String)>,
    notice: DiagnosticSink,
    cache: Mutex<HashMap<CacheKey, CachedRules>>,
}

/// A directory, and the settings of one session.
type CacheKey = (Option<PathBuf>, Option<BTreeMap<String, String>>);

struct CachedRules {
    checked_at: Instant,
    stamp: FileStamp,
    rules: Arc<Rules>,
}

/// Identifies the versions of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp([Option<(PathBuf, SystemTime, u64)>; 3]);

impl std::fmt::Debug for RulesByDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RulesByDir").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl RulesByDir {
    pub fn new(paths: Paths, env: EnvSnapshot, flags: Vec<(String, String, String)>, notice: DiagnosticSink) -> Self {
        Self { paths, env, flags, notice, cache: Mutex::default() }
    }

    /// The rules for sessions that work in `dir`. Equal rules are the same `Arc`.
    pub fn for_dir(&self, dir: Option<&Path>) -> Arc<Rules> {
        self.for_session(dir, None)
    }

    /// Like [`Self::for_dir`], with settings of one session, which take precedence.
    pub fn for_session(&self, dir: Option<&Path>, settings: Option<&BTreeMap<String, String>>) -> Arc<Rules> {
        // A panic cannot leave the map in an inconsistent state.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = dir.filter(|dir| dir.is_absolute());
        let key = (dir.map(Path::to_path_buf), settings.cloned());
        if let Some(found) = cache.get(&key).filter(|found| found.checked_at.elapsed() < RECHECK_INTERVAL) {
            return Arc::clone(&found.rules);
        }
        let stamp = self.stamp(dir);
        let rules = match cache.get(&key) {
            Some(found) if found.stamp == stamp => Arc::clone(&found.rules),
            _ => {
                let rules = self.read(dir, settings);
                cache
                    .values()
                    .map(|known| &known.rules)
                    .find(|known| ***known == rules)
                    .map_or_else(|| Arc::new(rules), Arc::clone)
            }
        };
        if cache.len() >= MAX_DIRS {
            cache.clear();
        }
        cache.insert(key, CachedRules { checked_at: Instant::now(), stamp, rules: Arc::clone(&rules) });
        rules
    }

    fn read(&self, dir: Option<&Path>, settings: Option<&BTreeMap<String, String>>) -> Rules {
        let mut loader = Loader::new(&self.paths, &self.env).strictness(Strictness::Lenient);
        if let Some(dir) = dir {
            loader = loader.from_dir(dir);
        }
        for (flag, key, value) in &self.flags {
            loader = loader.flag(flag, key, value);
        }
        for (key, value) in settings.into_iter().flatten() {
            loader = loader.flag("--set", key, value);
        }
        match loader.load() {
            Ok(loaded) => {
                loaded.notes.iter().for_each(|note| (self.notice)(note));
                loaded.config.rules()
            }
            // Valid when the run was started; another version of Belay may have other settings.
            Err(_) if settings.is_some() => self.read(dir, None),
            // Only an invalid flag gets here, and those are checked at start. Without knowing what the user wants, do not
            // intervene.
            Err(_) => {
                let mut rules = Rules::default();
                rules.dry_run = true;
                rules
            }
        }
    }

    fn stamp(&self, dir: Option<&Path>) -> FileStamp {
        let project = dir.and_then(|dir| ProjectFile::locate(&self.paths, dir));
        let files = [Some(self.paths.config_file().to_path_buf()), project, Some(self.paths.trust())];
        FileStamp(files.map(|file| {
            let file = file?;
            let found = file.symlink_metadata().ok()?;
            Some((file, found.modified().ok()?, found.len()))
        }))
    }
}
