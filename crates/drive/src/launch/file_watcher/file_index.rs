//! What is known of the files of a tree: which there are, and what those that changed held last.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use belay_core::Digest;
use belay_core::event::{ChangeKind, FileChanged};

/// Files beyond this are not read, only mentioned.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The files. Of one that never changed only the digest of its path is kept: a hundred thousand of them
/// are less than two megabytes.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    there: HashSet<Digest>,
    held: HashMap<PathBuf, Digest>,
}

impl FileIndex {
    pub(super) fn contains(&self, file: &Path) -> bool {
        self.there.contains(&of_path(file))
    }

    pub(super) fn is_there(&mut self, file: PathBuf) {
        self.there.insert(of_path(&file));
    }

    /// What became of a file, if anything did.
    pub(super) fn update(&mut self, path: &Path) -> Option<FileChanged> {
        let found = path.symlink_metadata().ok().filter(|found| found.is_file());
        let Some(found) = found else {
            let before = self.held.remove(path);
            // One that came and went between two looks was a means to an end.
            let was_there = self.there.remove(&of_path(path));
            return was_there.then(|| change(path, ChangeKind::Deleted, before, None));
        };
        let after = if found.len() <= MAX_FILE_BYTES { Some(Digest::of(std::fs::read(path).ok()?)) } else { None };
        let before = match after {
            Some(after) => self.held.insert(path.to_path_buf(), after),
            None => self.held.remove(path),
        };
        // Touched, or written again as it was.
        if after.is_some() && before == after {
            return None;
        }
        let kind = if self.there.insert(of_path(path)) { ChangeKind::Created } else { ChangeKind::Modified };
        Some(change(path, kind, before, after))
    }
}

fn of_path(path: &Path) -> Digest {
    Digest::of(path.as_os_str().as_encoded_bytes())
}

fn change(path: &Path, change: ChangeKind, before: Option<Digest>, after: Option<Digest>) -> FileChanged {
    FileChanged { path: path.display().to_string(), change, before, after, added: None, removed: None, call: None }
}
