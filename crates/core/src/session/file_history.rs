//! File contents by their digests: a content that comes back is an undo.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::call::ShortDigest;

/// How many contents are remembered over all files.
const MAX_VERSIONS: usize = 48;

/// The last contents of files, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileHistory(VecDeque<FileVersion>);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(ShortDigest, ShortDigest, bool, u64)", into = "(ShortDigest, ShortDigest, bool, u64)")]
struct FileVersion {
    path: ShortDigest,
    content: ShortDigest,
    /// The file had it before, and something else in between.
    back: bool,
    /// The call it was seen after.
    call: u64,
}

impl From<(ShortDigest, ShortDigest, bool, u64)> for FileVersion {
    fn from((path, content, back, call): (ShortDigest, ShortDigest, bool, u64)) -> Self {
        Self { path, content, back, call }
    }
}

impl From<FileVersion> for (ShortDigest, ShortDigest, bool, u64) {
    fn from(FileVersion { path, content, back, call }: FileVersion) -> Self {
        (path, content, back, call)
    }
}

impl FileHistory {
    /// A file has this content now. Tells whether that is new to the file.
    pub(super) fn record(&mut self, path: ShortDigest, content: ShortDigest, call: u64) -> bool {
        let mut past = self.0.iter().rev().filter(|seen| seen.path == path);
        let back = match past.next() {
            // Still the same: nothing happened.
            Some(latest) if latest.content == content => return false,
            Some(_) => past.any(|seen| seen.content == content),
            None => false,
        };
        if self.0.len() == MAX_VERSIONS {
            self.0.pop_front();
        }
        self.0.push_back(FileVersion { path, content, back, call });
        !back
    }

    /// The calls after which the file that was changed last came back to an earlier content, oldest
    /// first, since a given call, and to how many different contents it came back; nothing unless the
    /// last change was such a return.
    pub fn reverts_since(&self, since: u64) -> (Vec<u64>, usize) {
        let Some(latest) = self.0.back().filter(|latest| latest.back) else { return (Vec::new(), 0) };
        let back = |seen: &&FileVersion| seen.path == latest.path && seen.back && seen.call >= since;
        let mut contents: Vec<ShortDigest> = self.0.iter().filter(back).map(|seen| seen.content).collect();
        contents.sort_unstable();
        contents.dedup();
        (self.0.iter().filter(back).map(|seen| seen.call).collect(), contents.len())
    }

    /// The file that was changed last.
    pub fn last_changed(&self) -> ShortDigest {
        self.0.back().map_or(ShortDigest::NONE, |latest| latest.path)
    }
}
