//! A bounded set of recent ids, for formats that record the same fact twice.

use std::collections::VecDeque;

/// Maximum number of ids.
const CAPACITY: usize = 512;

/// A bounded set of ids that evicts the oldest first.
#[derive(Debug, Default)]
pub(crate) struct RecentIds(VecDeque<String>);

impl RecentIds {
    /// Adds an id; returns `false` if the set already contains it.
    pub(crate) fn insert(&mut self, id: &str) -> bool {
        if self.contains(id) {
            return false;
        }
        if self.0.len() == CAPACITY {
            self.0.pop_front();
        }
        self.0.push_back(id.to_owned());
        true
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        // Duplicates are usually recent.
        self.0.iter().rev().any(|known| known == id)
    }
}
