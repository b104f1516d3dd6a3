//! The known files of a tree, and the last content digest of the changed ones.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use belay_core::Digest;
use belay_core::event::{ChangeKind, FileChanged};
use belay_fs::Links;

/// Larger files are reported without a digest.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The known files. An unchanged file takes only the digest of its path: less than two megabytes for a hundred thousand.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    known: HashSet<Digest>,
    contents: HashMap<PathBuf, Digest>,
}

impl FileIndex {
    pub(super) fn contains(&self, file: &Path) -> bool {
        self.known.contains(&path_digest(file))
    }

    pub(super) fn insert(&mut self, file: &Path) {
        self.known.insert(path_digest(file));
    }

    /// Compares a file with its last known content; `None` if it is unchanged.
    pub(super) fn update(&mut self, path: &Path) -> Option<FileChanged> {
        if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            let before = self.contents.remove(path);
            // A file that was created and deleted in between is not reported.
            let was_known = self.known.remove(&path_digest(path));
            return was_known.then(|| change(path, ChangeKind::Deleted, before, None));
        }
        let after = match belay_fs::read_regular(path, Links::Refuse, MAX_FILE_BYTES) {
            Ok(content) => Some(Digest::from_bytes(content)),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => None,
            Err(_) => return None,
        };
        let before = match after {
            Some(after) => self.contents.insert(path.to_path_buf(), after),
            None => self.contents.remove(path),
        };
        // Touched, or rewritten with the same content.
        if after.is_some() && before == after {
            return None;
        }
        let kind = if self.known.insert(path_digest(path)) { ChangeKind::Created } else { ChangeKind::Modified };
        Some(change(path, kind, before, after))
    }
}

fn path_digest(path: &Path) -> Digest {
    Digest::from_bytes(path.as_os_str().as_encoded_bytes())
}

fn change(path: &Path, change: ChangeKind, before: Option<Digest>, after: Option<Digest>) -> FileChanged {
    FileChanged { path: path.display().to_string(), change, before, after, added: None, removed: None, call: None }
}
