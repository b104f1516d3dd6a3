//! The valid part of a layer. Deserialization stops at the first error, so invalid values are removed one by one to find
//! the next. Reported paths refer to the original file.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::name_key;
use crate::key::ConfigKey;
use crate::source_position::PathStep;

/// A layer without its invalid values.
pub(super) struct ValidSubset {
    pub(super) table: Table,
    /// Indices of removed list elements in the original file.
    removed: BTreeMap<ConfigKey, BTreeSet<usize>>,
}

impl ValidSubset {
    pub(super) fn new(table: Table) -> Self {
        Self { table, removed: BTreeMap::new() }
    }

    /// Removes the value at a path of the original file.
    pub(super) fn remove(&mut self, path: &[PathStep]) -> bool {
        let key = longest_present(&self.table, path);
        let Some(key) = key else { return false };
        let Some(PathStep::Index(index)) = path.get(key.parts().len()) else {
            return key.remove(&mut self.table).is_some();
        };
        let removed = self.removed.entry(key.clone()).or_default();
        if removed.contains(index) {
            return true;
        }
        let now = index - removed.range(..index).count();
        match key.get_mut(&mut self.table).and_then(Value::as_array_mut) {
            Some(list) if now < list.len() => {
                list.remove(now);
                removed.insert(*index);
                true
            }
            _ => key.remove(&mut self.table).is_some(),
        }
    }

    /// Maps a path in the remaining table to the original file.
    pub(super) fn original_path(&self, mut path: Vec<PathStep>) -> Vec<PathStep> {
        let key = name_key(&path);
        if let (Some(removed), Some(PathStep::Index(index))) = (self.removed.get(&key), path.get_mut(key.parts().len()))
        {
            for index_before in removed {
                *index += usize::from(*index_before <= *index);
            }
        }
        path
    }
}

/// The longest prefix of `path` that is set in `table`.
fn longest_present(table: &Table, path: &[PathStep]) -> Option<ConfigKey> {
    let key = name_key(path);
    (1..=key.parts().len())
        .rev()
        .map(|len| key.parts()[..len].iter().cloned().collect::<ConfigKey>())
        .find(|key| key.get(table).is_some())
}
