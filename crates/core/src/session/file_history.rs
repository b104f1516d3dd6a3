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
#[serde(from = "(ShortDigest, ShortDigest, u64)", into = "(ShortDigest, ShortDigest, u64)")]
struct FileVersion {
    path: ShortDigest,
    content: ShortDigest,
    /// Ordinal of the call that produced it.
    call: u64,
}

impl From<(ShortDigest, ShortDigest, u64)> for FileVersion {
    fn from((path, content, call): (ShortDigest, ShortDigest, u64)) -> Self {
        Self { path, content, call }
    }
}

impl From<FileVersion> for (ShortDigest, ShortDigest, u64) {
    fn from(FileVersion { path, content, call }: FileVersion) -> Self {
        (path, content, call)
    }
}

/// Contents of one file that returned.
#[derive(Debug, Default, PartialEq)]
pub struct Reverts {
    /// The calls that produced the most frequent content, oldest first.
    pub calls: Vec<u64>,
    /// How many different contents returned.
    pub returned: usize,
}

impl FileHistory {
    /// Records the content that an edit found. If it is not what the last known edit left, something else changed the
    /// file (a checkout, a stash, a formatter, a person), and what the agent did before says nothing about it.
    pub(super) fn record_before(&mut self, path: ShortDigest, content: ShortDigest, call: u64) {
        let latest = self.0.iter().rev().find(|seen| seen.path == path);
        if latest.is_some_and(|latest| latest.content != content) {
            self.0.retain(|seen| seen.path != path);
        }
        self.record(path, content, call);
    }

    /// Forgets all contents: a checkout or a stash has moved the files.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Records a file's current content. Returns whether it is new to the file.
    pub(super) fn record(&mut self, path: ShortDigest, content: ShortDigest, call: u64) -> bool {
        let mut past = self.0.iter().rev().filter(|seen| seen.path == path);
        let new = match past.next() {
            Some(latest) if latest.content == content => return false,
            Some(_) => past.all(|seen| seen.content != content),
            None => true,
        };
        if self.0.len() == MAX_VERSIONS {
            self.0.pop_front();
        }
        self.0.push_back(FileVersion { path, content, call });
        new
    }

    /// Contents of the most recently changed file that returned since a given call. Empty unless the latest change
    /// restored an earlier content.
    pub fn reverts_since(&self, since: u64) -> Reverts {
        let Some(latest) = self.0.back() else { return Reverts::default() };
        let versions: Vec<&FileVersion> =
            self.0.iter().filter(|seen| seen.path == latest.path && seen.call >= since).collect();
        let calls_of = |content: ShortDigest| versions.iter().filter(move |seen| seen.content == content);
        if calls_of(latest.content).count() < 2 {
            return Reverts::default();
        }
        let mut contents: Vec<ShortDigest> = versions.iter().map(|seen| seen.content).collect();
        contents.sort_unstable();
        contents.dedup();
        contents.retain(|content| calls_of(*content).count() > 1);
        let most_frequent =
            contents.iter().max_by_key(|content| (calls_of(**content).count(), **content == latest.content));
        let calls = most_frequent.map_or_else(Vec::new, |content| calls_of(*content).map(|seen| seen.call).collect());
        Reverts { calls, returned: contents.len() }
    }

    /// The most recently changed file.
    pub fn last_changed(&self) -> ShortDigest {
        self.0.back().map_or(ShortDigest::NONE, |latest| latest.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    fn digest(text: &str) -> ShortDigest {
        ShortDigest::from(Digest::from_bytes(text))
    }

    /// Edits of one file, each as its content before and after.
    fn after_edits(edits: &[(&str, &str)]) -> Reverts {
        let mut history = FileHistory::default();
        for (call, (before, after)) in (0..).zip(edits) {
            history.record_before(digest("file"), digest(before), call);
            history.record(digest("file"), digest(after), call);
        }
        history.reverts_since(0)
    }

    #[test]
    fn a_redone_edit_has_been_there_twice_and_not_three_times() {
        let redone = after_edits(&[("a", "b"), ("b", "a"), ("a", "b")]);
        assert_eq!(redone, Reverts { calls: vec![0, 2], returned: 2 });
    }

    #[test]
    fn what_a_checkout_took_away_and_the_agent_redoes_is_no_revert() {
        let redone = after_edits(&[("a", "b"), ("a", "b"), ("a", "b")]);
        assert_eq!(redone, Reverts::default());
    }

    #[test]
    fn a_base_for_experiments_returns_alone() {
        let experiments = after_edits(&[("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("a", "d"), ("d", "a")]);
        assert_eq!((experiments.calls.len(), experiments.returned), (4, 1));
    }
}
