//! File contents by their digests: a content that comes back is an undo.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::call::Mark;

/// How many contents are remembered over all files.
const KEPT: usize = 48;

/// The last contents of files, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contents(VecDeque<Content>);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(Mark, Mark, bool, u64)", into = "(Mark, Mark, bool, u64)")]
struct Content {
    path: Mark,
    content: Mark,
    /// The file had it before, and something else in between.
    back: bool,
    /// The call it was seen after.
    call: u64,
}

impl From<(Mark, Mark, bool, u64)> for Content {
    fn from((path, content, back, call): (Mark, Mark, bool, u64)) -> Self {
        Self { path, content, back, call }
    }
}

impl From<Content> for (Mark, Mark, bool, u64) {
    fn from(Content { path, content, back, call }: Content) -> Self {
        (path, content, back, call)
    }
}

impl Contents {
    /// A file has this content now. Tells whether that is new to the file.
    pub(super) fn see(&mut self, path: Mark, content: Mark, call: u64) -> bool {
        let mut past = self.0.iter().rev().filter(|seen| seen.path == path);
        let back = match past.next() {
            // Still the same: nothing happened.
            Some(latest) if latest.content == content => return false,
            Some(_) => past.any(|seen| seen.content == content),
            None => false,
        };
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Content { path, content, back, call });
        !back
    }

    /// The calls after which the file that was changed last came back to an earlier content, oldest
    /// first, since a given call, and to how many different contents it came back; nothing unless the
    /// last change was such a return.
    pub fn returns(&self, since: u64) -> (Vec<u64>, usize) {
        let Some(latest) = self.0.back().filter(|latest| latest.back) else { return (Vec::new(), 0) };
        let back = |seen: &&Content| seen.path == latest.path && seen.back && seen.call >= since;
        let mut contents: Vec<Mark> = self.0.iter().filter(back).map(|seen| seen.content).collect();
        contents.sort_unstable();
        contents.dedup();
        (self.0.iter().filter(back).map(|seen| seen.call).collect(), contents.len())
    }

    /// The file that was changed last.
    pub fn latest(&self) -> Mark {
        self.0.back().map_or(Mark::NONE, |latest| latest.path)
    }
}
