//! Digests of a file before and after an edit, so that an undone edit is detected exactly.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use belay_agents::hook::{EditedFile, ParsedHook};
use belay_core::Digest;
use belay_core::event::{ChangeKind, FileChanged};
use belay_fs::Links;

/// Maximum size of a file; larger ones are skipped.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum number of pending edits.
const MAX_PENDING_EDITS: usize = 256;

/// Digests of files with a pending edit; `None` for a file that did not exist.
#[derive(Debug, Default)]
pub(super) struct FileSnapshots(Mutex<VecDeque<(PathBuf, Option<Digest>)>>);

impl FileSnapshots {
    /// Records the files of an edit that is about to run.
    pub(super) fn snapshot(&self, parsed: &ParsedHook) {
        if parsed.edited.is_empty() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for edited in &parsed.edited {
            let path = resolve(&edited.path, parsed.cwd.as_deref());
            let content = digest(&path);
            kept.retain(|(known, _)| *known != path);
            if kept.len() == MAX_PENDING_EDITS {
                kept.pop_front();
            }
            kept.push_back((path, content));
        }
    }

    /// Returns the changes of finished edits.
    pub(super) fn take_changes(&self, parsed: &ParsedHook) -> Vec<FileChanged> {
        parsed.edited.iter().filter_map(|edited| self.change(edited, parsed.cwd.as_deref())).collect()
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
            // Something exists, but it is not a readable regular file.
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

/// Digest of a regular file within the size limit.
fn digest(path: &Path) -> Option<Digest> {
    belay_fs::read_regular(path, Links::Follow, MAX_FILE_BYTES).ok().map(Digest::from_bytes)
}
