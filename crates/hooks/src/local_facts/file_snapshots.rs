//! What a file holds before and after an edit, so that an edit that is undone shows exactly.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use belay_agents::hook::{EditedFile, ParsedHook};
use belay_core::Digest;
use belay_core::event::{ChangeKind, FileChanged};

/// Larger files are not looked at.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Edits under way that are kept in mind.
const MAX_PENDING_EDITS: usize = 256;

/// What files held when an edit of them was announced; `None` for a file that was not there.
#[derive(Debug, Default)]
pub(super) struct FileSnapshots(Mutex<VecDeque<(PathBuf, Option<Digest>)>>);

impl FileSnapshots {
    /// An edit is about to happen.
    pub(super) fn snapshot(&self, heard: &ParsedHook) {
        if heard.edited.is_empty() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for edited in &heard.edited {
            let path = resolve(&edited.path, heard.cwd.as_deref());
            let content = digest(&path);
            kept.retain(|(known, _)| *known != path);
            if kept.len() == MAX_PENDING_EDITS {
                kept.pop_front();
            }
            kept.push_back((path, content));
        }
    }

    /// Edits have happened: what became of the files.
    pub(super) fn take_changes(&self, heard: &ParsedHook) -> Vec<FileChanged> {
        heard.edited.iter().filter_map(|edited| self.change(edited, heard.cwd.as_deref())).collect()
    }

    fn change(&self, edited: &EditedFile, cwd: Option<&str>) -> Option<FileChanged> {
        let path = resolve(&edited.path, cwd);
        let known = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let at = kept.iter().position(|(known, _)| *known == path);
            at.and_then(|at| kept.remove(at)).map(|(_, content)| content)
        };
        let after = digest(&path);
        let change = match (known, after) {
            // There is something, but nothing we would read.
            (_, None) if path.symlink_metadata().is_ok() => return None,
            (_, None) => ChangeKind::Deleted,
            (Some(None), Some(_)) => ChangeKind::Created,
            (_, Some(_)) => ChangeKind::Modified,
        };
        Some(FileChanged {
            path: edited.path.clone(),
            change,
            before: edited.before.or(known.flatten()),
            after,
            added: None,
            removed: None,
            call: edited.call.clone(),
        })
    }
}

fn resolve(path: &str, cwd: Option<&str>) -> PathBuf {
    match cwd {
        Some(cwd) => Path::new(cwd).join(path),
        None => PathBuf::from(path),
    }
}

/// Digest of a regular file of reasonable size.
fn digest(path: &Path) -> Option<Digest> {
    // Looked at before it is opened: opening a pipe would wait for a writer.
    let found = std::fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > MAX_FILE_BYTES {
        return None;
    }
    let mut content = Vec::with_capacity(usize::try_from(found.len()).ok()?);
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut content).ok()?;
    Some(Digest::of(content))
}
