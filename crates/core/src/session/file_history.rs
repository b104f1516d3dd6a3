//! Digests of file contents. A content that returns is an undo.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::call::ShortDigest;

/// Maximum number of contents over all files.
const MAX_VERSIONS: usize = 48;

/// The most recent contents of files, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileHistory(VecDeque<FileVersion>);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(ShortDigest, ShortDigest, bool, u64)", into = "(ShortDigest, ShortDigest, bool, u64)")]
struct FileVersion {
    path: ShortDigest,
    content: ShortDigest,
    /// The file had this content before, with another one in between.
    reverted: bool,
    /// Ordinal of the call that produced it.
    call: u64,
}

impl From<(ShortDigest, ShortDigest, bool, u64)> for FileVersion {
    fn from((path, content, reverted, call): (ShortDigest, ShortDigest, bool, u64)) -> Self {
        Self { path, content, reverted, call }
    }
}

impl From<FileVersion> for (ShortDigest, ShortDigest, bool, u64) {
    fn from(FileVersion { path, content, reverted, call }: FileVersion) -> Self {
        (path, content, reverted, call)
    }
}

impl FileHistory {
    /// Records a file's current content. Returns whether it is new to the file.
    pub(super) fn record(&mut self, path: ShortDigest, content: ShortDigest, call: u64) -> bool {
        let mut past = self.0.iter().rev().filter(|seen| seen.path == path);
        let reverted = match past.next() {
            Some(latest) if latest.content == content => return false,
            Some(_) => past.any(|seen| seen.content == content),
            None => false,
        };
        if self.0.len() == MAX_VERSIONS {
            self.0.pop_front();
        }
        self.0.push_back(FileVersion { path, content, reverted, call });
        !reverted
    }

    /// Reverts of the most recently changed file since a given call: the calls, oldest first, and the number
    /// of distinct contents that returned. Empty unless the latest change was a revert.
    pub fn reverts_since(&self, since: u64) -> (Vec<u64>, usize) {
        let Some(latest) = self.0.back().filter(|latest| latest.reverted) else { return (Vec::new(), 0) };
        let reverted = |seen: &&FileVersion| seen.path == latest.path && seen.reverted && seen.call >= since;
        let mut contents: Vec<ShortDigest> = self.0.iter().filter(reverted).map(|seen| seen.content).collect();
        contents.sort_unstable();
        contents.dedup();
        (self.0.iter().filter(reverted).map(|seen| seen.call).collect(), contents.len())
    }

    /// The most recently changed file.
    pub fn last_changed(&self) -> ShortDigest {
        self.0.back().map_or(ShortDigest::NONE, |latest| latest.path)
    }
}
