//! Groups files that copy each other. A forked or resumed session starts with records of another file, under the same
//! ids; one thread replays such files in sequence.

use std::collections::HashMap;

use crate::discover::SessionFile;

/// Groups of sources that share ids, oldest first. The groups are sorted by their first path.
pub fn group_forks(sources: Vec<SessionFile>) -> Vec<Vec<SessionFile>> {
    let mut union = UnionFind::new(sources.len());
    let mut first: HashMap<u64, usize> = HashMap::new();
    for (at, source) in sources.iter().enumerate() {
        for mark in &source.marks {
            union.join(at, *first.entry(*mark).or_insert(at));
        }
    }
    let mut groups: HashMap<usize, usize> = HashMap::new();
    let mut families: Vec<Vec<SessionFile>> = Vec::new();
    for (at, source) in sources.into_iter().enumerate() {
        let place = *groups.entry(union.root(at)).or_insert_with(|| {
            families.push(Vec::new());
            families.len() - 1
        });
        families[place].push(source);
    }
    for family in &mut families {
        // A copy starts with the records of its original, and was written later.
        family.sort_by(|a, b| (a.started, a.modified, &a.path).cmp(&(b.started, b.modified, &b.path)));
    }
    families
}

/// Union-find with path halving; the smallest member is the root.
struct UnionFind(Vec<usize>);

impl UnionFind {
    fn new(size: usize) -> Self {
        Self((0..size).collect())
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn source(name: &str, age: u64, marks: &[u64]) -> SessionFile {
        SessionFile {
            path: name.into(),
            format: &belay_agents::tool_call_format::ToolCallFormat,
            bytes: 0,
            started: SystemTime::UNIX_EPOCH + Duration::from_secs(age),
            modified: SystemTime::UNIX_EPOCH,
            marks: marks.to_vec(),
        }
    }

    #[test]
    fn files_that_share_an_id_are_one_family_oldest_first() {
        let sources =
            vec![source("a", 3, &[1, 2]), source("b", 2, &[9]), source("c", 1, &[2, 3]), source("d", 0, &[3])];
        let families = group_forks(sources);
        let names: Vec<Vec<String>> = families
            .iter()
            .map(|family| family.iter().map(|source| source.path.to_string_lossy().into_owned()).collect())
            .collect();
        assert_eq!(names, [vec!["d", "c", "a"], vec!["b"]]);
    }
}
