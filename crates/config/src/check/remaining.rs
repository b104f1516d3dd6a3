//! What is left of a layer once its mistakes are taken out. One mistake hides the next, so they are
//! taken out one by one; what is reported keeps the places of the file.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::name_key;
use crate::key::Key;
use crate::locate::Step;

/// A layer without what was wrong with it.
pub(super) struct Remaining {
    pub(super) table: Table,
    /// Elements of lists that are gone, by their place in the file.
    gone: BTreeMap<Key, BTreeSet<usize>>,
}

impl Remaining {
    pub(super) fn new(table: Table) -> Self {
        Self { table, gone: BTreeMap::new() }
    }

    /// Takes out what stands at a path of the file.
    pub(super) fn take(&mut self, path: &[Step]) -> bool {
        let key = longest_present(&self.table, path);
        let Some(key) = key else { return false };
        let Some(Step::Index(index)) = path.get(key.parts().len()) else { return key.take(&mut self.table).is_some() };
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
            _ => key.take(&mut self.table).is_some(),
        }
    }

    /// A path of what is left, as a path of the file.
    pub(super) fn in_file(&self, mut path: Vec<Step>) -> Vec<Step> {
        let key = name_key(&path);
        if let (Some(gone), Some(Step::Index(index))) = (self.gone.get(&key), path.get_mut(key.parts().len())) {
            for passed in gone {
                *index += usize::from(*passed <= *index);
            }
        }
        path
    }
}

/// The longest beginning of `path` that is set in `table`.
fn longest_present(table: &Table, path: &[Step]) -> Option<Key> {
    let key = name_key(path);
    (1..=key.parts().len())
        .rev()
        .map(|len| key.parts()[..len].iter().cloned().collect::<Key>())
        .find(|key| key.look_up(table).is_some())
}
