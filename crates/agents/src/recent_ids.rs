//! The last few ids, for readers that meet the same fact twice.

use std::collections::VecDeque;

/// How many are remembered.
const CAPACITY: usize = 512;

/// A bounded set of ids; the oldest is forgotten first.
#[derive(Debug, Default)]
pub(crate) struct RecentIds(VecDeque<String>);

impl RecentIds {
    /// Remembers an id; `false` when it was known.
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
        // What is met again was usually met lately.
        self.0.iter().rev().any(|known| known == id)
    }
}
