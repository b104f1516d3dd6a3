//! What is left of a layer once its mistakes are taken out. One mistake hides the next, so they are
//! taken out one by one; what is reported keeps the places of the file.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::name_key;
use crate::key::ConfigKey;
use crate::source_position::PathStep;

/// A layer without what was wrong with it.
pub(super) struct ValidSubset {
    pub(super) table: Table,
    /// Elements of lists that are gone, by their place in the file.
    gone: BTreeMap<ConfigKey, BTreeSet<usize>>,
}

impl ValidSubset {
    pub(super) fn new(table: Table) -> Self {
        Self { table, gone: BTreeMap::new() }
    }

    /// Takes out what stands at a path of the file.
    pub(super) fn take(&mut self, path: &[PathStep]) -> bool {
        let key = longest_present(&self.table, path);
        let Some(key) = key else { return false };
        let Some(PathStep::Index(index)) = path.get(key.parts().len()) else {
            return key.remove(&mut self.table).is_some();
        };
        let gone = self.gone.entry(key.clone()).or_default();
        if gone.contains(index) {
            return true;
        }
        let now = index - gone.range(..index).count();
        match key.look_up_mut(&mut self.table).and_then(Value::as_array_mut) {
            Some(list) if now < list.len() => {
                list.remove(now);
                gone.insert(*index);
                true
            }
            _ => key.remove(&mut self.table).is_some(),
        }
    }

    /// A path of what is left, as a path of the file.
    pub(super) fn document(&self, mut path: Vec<PathStep>) -> Vec<PathStep> {
        let key = name_key(&path);
        if let (Some(gone), Some(PathStep::Index(index))) = (self.gone.get(&key), path.get_mut(key.parts().len())) {
            for passed in gone {
                *index += usize::from(*passed <= *index);
            }
        }
        path
    }
}

/// The longest beginning of `path` that is set in `table`.
fn longest_present(table: &Table, path: &[PathStep]) -> Option<ConfigKey> {
    let key = name_key(path);
    (1..=key.parts().len())
        .rev()
        .map(|len| key.parts()[..len].iter().cloned().collect::<ConfigKey>())
        .find(|key| key.get(table).is_some())
}
