//! Lists of tasks and their names, from their files: the same with and without the process that runs them.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use crate::error::TaskError;
use crate::performer::{Names, Performer};
use crate::task_dir::TaskDir;

/// The directories of all tasks of a driver.
pub fn task_dirs(root: &Path, names: &Names) -> Vec<TaskDir> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> = ids.filter(|id| id.starts_with(names.prefix)).collect();
    ids.sort();
    ids.iter().map(|id| TaskDir::new(root, id)).filter(TaskDir::is_task).collect()
}

/// When a summary was last written, for a process that follows the tasks without the one that runs them.
pub fn newest_change(root: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.path().join("meta.json").metadata().ok()?.modified().ok()).max()
}

/// The task with this id, or with the only id that begins like this.
pub fn resolve(root: &Path, names: &Names, name: &str) -> Result<TaskDir, TaskError> {
    let dirs = task_dirs(root, names);
    if let Some(dir) = dirs.iter().find(|dir| dir.id() == name) {
        return Ok(dir.clone());
    }
    let matches_name = |dir: &&TaskDir| {
        !name.is_empty() && (dir.id().starts_with(name) || dir.id().trim_start_matches(names.prefix).starts_with(name))
    };
    let found: Vec<&TaskDir> = dirs.iter().filter(matches_name).collect();
    let (noun, name) = (names.noun, name.to_owned());
    match found[..] {
        [] => Err(TaskError::NotFound { noun, name }),
        [dir] => Ok(dir.clone()),
        _ => {
            let matches = found.iter().map(|dir| dir.id().to_owned()).collect();
            Err(TaskError::Ambiguous { noun, name, matches })
        }
    }
}

/// Summaries that were read before, so that a list of many tasks reads only those that changed.
#[derive(Debug)]
pub struct SummaryCache<T>(HashMap<String, (FileVersion, T)>);

/// Two versions of a file can be written within one tick of the file system's clock, but are never the same inode.
type FileVersion = (SystemTime, u64);

impl<T> Default for SummaryCache<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// The summaries of all tasks, by id.
pub fn summaries<P: Performer>(root: &Path, cache: &mut SummaryCache<P::Summary>) -> Vec<P::Summary> {
    task_dirs(root, &P::NAMES).iter().filter_map(|dir| cached::<P>(dir, cache)).collect()
}

fn cached<P: Performer>(dir: &TaskDir, cache: &mut SummaryCache<P::Summary>) -> Option<P::Summary> {
    let metadata = dir.path().join("meta.json").metadata().ok();
    let changed = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.ino())));
    match (cache.0.get(dir.id()), changed) {
        (Some((known, summary)), Some(changed)) if *known == changed => Some(summary.clone()),
        _ => {
            let summary = summary::<P>(dir)?;
            if let Some(changed) = changed {
                cache.0.insert(dir.id().to_owned(), (changed, summary.clone()));
            }
            Some(summary)
        }
    }
}

/// The summary as it was last written, or from the journal if a crash prevented that.
fn summary<P: Performer>(dir: &TaskDir) -> Option<P::Summary> {
    dir.read_summary().or_else(|| {
        let replayed = dir.replay::<P::Machine>().ok()?;
        Some(P::summary(replayed.view(dir)))
    })
}
