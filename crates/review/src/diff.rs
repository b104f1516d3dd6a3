//! Which lines a diff changed, and which round a line comes from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::verdict::Place;

#[cfg(test)]
mod tests;

/// The changed lines of one round, by file (its name after the change).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangedLines(BTreeMap<String, Vec<Edit>>);

/// Lines that another set of lines replaced. Numbers start at 1; an empty range is at the line before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Edit {
    old: (u32, u32),
    new: (u32, u32),
}

impl Edit {
    fn ends_at(self, old_line: u32, new_line: u32) -> bool {
        self.old.0.saturating_add(self.old.1) == old_line && self.new.0.saturating_add(self.new.1) == new_line
    }
}

/// Lines around an edit that an issue may name and still mean the edit.
const SLACK: u32 = 3;

impl ChangedLines {
    /// Reads a unified diff as `git diff` writes it.
    pub fn parse(diff: &str) -> Self {
        let mut files: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
        let (mut file, mut old_file) = (None::<String>, None::<String>);
        let mut hunk: Option<Hunk> = None;
        for line in diff.lines() {
            // Inside a hunk, `--- a` is a removed line.
            if let Some(current) = hunk.as_mut().filter(|current| !current.is_complete()) {
                let edits = file.as_ref().and_then(|file| files.get_mut(file));
                current.read(line, edits);
            } else if let Some(header) = line.strip_prefix("@@ ") {
                hunk = Hunk::parse(header);
            } else if let Some(path) = line.strip_prefix("--- ") {
                old_file = path_of(path);
            } else if let Some(path) = line.strip_prefix("+++ ") {
                // A deleted file keeps its old name.
                file = path_of(path).or_else(|| old_file.take());
                if let Some(file) = &file {
                    files.entry(file.clone()).or_default();
                }
                hunk = None;
            } else if let Some(path) = line.strip_prefix("rename to ") {
                files.entry(path.to_owned()).or_default();
            }
        }
        Self(files)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether this change made the place what it is. A place without a line is its whole file.
    pub fn touches(&self, place: &Place) -> bool {
        let is_near = |edit: &Edit, line: u32| {
            let (start, len) = edit.new;
            let last = start.saturating_add(len.saturating_sub(1));
            line.saturating_add(SLACK) >= start && line <= last.saturating_add(SLACK)
        };
        self.edits_of(&place.file).any(|edits| match place.line {
            None => true,
            Some(line) => edits.iter().any(|edit| is_near(edit, line)),
        })
    }

    /// The edits of a file. A diff names files from the top of the repository; a reviewer who works in a directory below it,
    /// or who writes absolute paths, names them otherwise. Several files may then be meant.
    fn edits_of(&self, file: &str) -> impl Iterator<Item = &[Edit]> {
        let exact = self.0.get(file);
        let is_tail = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
        let alike = self.0.iter().filter(move |(name, _)| is_tail(name, file) || is_tail(file, name));
        let alike = alike.map(|(_, edits)| edits).filter(move |_| exact.is_none());
        exact.into_iter().chain(alike).map(Vec::as_slice)
    }

    /// Where the place was before this change.
    pub fn before(&self, place: &Place) -> Place {
        let mut found = self.edits_of(&place.file);
        let (Some(edits), None, Some(line)) = (found.next(), found.next(), place.line) else { return place.clone() };
        let mut shifted = i64::from(line);
        for edit in edits.iter().filter(|edit| edit.new.0.saturating_add(edit.new.1) <= line) {
            shifted += i64::from(edit.old.1) - i64::from(edit.new.1);
        }
        Place { file: place.file.clone(), line: Some(u32::try_from(shifted.max(1)).unwrap_or(line)) }
    }
}

/// The round whose change made the place what it is, from the changes of rounds 1 to n.
pub fn origin(place: &Place, rounds: &[ChangedLines]) -> Option<u32> {
    let mut place = place.clone();
    for (index, changes) in rounds.iter().enumerate().rev() {
        if changes.touches(&place) {
            return u32::try_from(index + 1).ok();
        }
        place = changes.before(&place);
    }
    None
}

/// Position in a hunk, and the lines that it still has.
struct Hunk {
    old_line: u32,
    new_line: u32,
    old_left: u32,
    new_left: u32,
}

impl Hunk {
    /// Parses `-12,3 +14,5 @@ fn name()`.
    fn parse(header: &str) -> Option<Self> {
        let mut parts = header.split(' ');
        let (old, new) = (range(parts.next()?, '-')?, range(parts.next()?, '+')?);
        // The start of an empty range is the line before it.
        let first = |(start, len): (u32, u32)| if len == 0 { start.saturating_add(1) } else { start };
        Some(Self { old_line: first(old), new_line: first(new), old_left: old.1, new_left: new.1 })
    }

    fn is_complete(&self) -> bool {
        self.old_left == 0 && self.new_left == 0
    }

    fn read(&mut self, line: &str, edits: Option<&mut Vec<Edit>>) {
        let (old, new) = match line.as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => return,
            // Some tools strip the blank of an empty context line.
            _ => (1, 1),
        };
        if let Some(edits) = edits.filter(|_| (old, new) != (1, 1)) {
            // Consecutive lines are one edit.
            match edits.last_mut() {
                Some(edit) if edit.ends_at(self.old_line, self.new_line) => {
                    edit.old.1 += old;
                    edit.new.1 += new;
                }
                _ => edits.push(Edit { old: (self.old_line, old), new: (self.new_line, new) }),
            }
        }
        self.old_line = self.old_line.saturating_add(old);
        self.new_line = self.new_line.saturating_add(new);
        self.old_left = self.old_left.saturating_sub(old);
        self.new_left = self.new_left.saturating_sub(new);
    }
}

/// Start and length of `-12,3`; the length is 1 if it is not given.
fn range(text: &str, sign: char) -> Option<(u32, u32)> {
    let text = text.strip_prefix(sign)?;
    let (start, len) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, len.parse().ok()?))
}

/// The path in `a/src/x.rs` or `b/src/x.rs`, as git writes it with `core.quotePath=false`; `None` for `/dev/null`.
fn path_of(text: &str) -> Option<String> {
    let text = text.split('\t').next().unwrap_or(text);
    let text = text.strip_prefix('"').and_then(|quoted| quoted.strip_suffix('"')).unwrap_or(text);
    let path = text.strip_prefix("a/").or_else(|| text.strip_prefix("b/")).unwrap_or(text);
    (text != "/dev/null").then(|| path.to_owned())
}
