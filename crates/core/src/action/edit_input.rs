//! Fingerprints of edits and whole-file writes.

use super::classify::{CONTENT_FIELDS, NEW_TEXT_FIELDS, OLD_TEXT_FIELDS, PATCH_FIELDS, PATH_FIELDS, looks_like_patch};
use super::input::{ToolInput, canonical, normalize_path};
use super::{Action, EditSides, FingerprintBuilder, MAX_SKETCHED_BYTES, ToolKind, skeleton_of, sketch_of};
use crate::digest::Digest;
use crate::outcome::head_and_tail;

pub(super) fn read_action(kind: ToolKind, name: &str, input: &ToolInput<'_>) -> (Action, String) {
    let print = FingerprintBuilder::new(kind, name);
    let patch = patch_text(input);
    let sides = match &patch {
        Some(patch) => Some(EditTexts::of_patch(patch)),
        None => EditTexts::of_fields(kind, input),
    };
    let mut paths = match &sides {
        Some(sides) => sides.paths.clone(),
        None => Vec::new(),
    };
    if let Some(path) = input.text(PATH_FIELDS) {
        paths = vec![normalize_path(&path)];
    }
    let whole = canonical(input, &[]);
    let path = paths.join(" ");
    let sketch = match &sides {
        Some(sides) => {
            let before = sides.before.as_deref().unwrap_or_default();
            sketch_of(
                &[
                    &head_and_tail(before, MAX_SKETCHED_BYTES / 2),
                    "\n",
                    &head_and_tail(&sides.after, MAX_SKETCHED_BYTES / 2),
                ]
                .concat(),
            )
        }
        None => sketch_of(&whole),
    };
    // The name of the file, because its path may be written in several ways.
    let file_name = paths.first().and_then(|path| path.rsplit('/').next()).unwrap_or(name);
    let shape = print.digest("shape", &[file_name]);
    let action = Action {
        key: print.digest("key", &[&path, &whole]),
        shape,
        skeleton: print.digest("skeleton", &[&path, &skeleton_of(&whole)]),
        sketch,
        target: (paths.len() == 1).then(|| Digest::from_bytes(&path)),
        hunk: sides.as_ref().map(|sides| EditSides {
            before: sides.before.as_ref().map(Digest::from_bytes),
            after: Digest::from_bytes(&sides.after),
        }),
        mutates: true,
        ..Action::default()
    };
    let salient = match (&patch, &sides) {
        (Some(patch), _) => patch.clone(),
        (None, Some(sides)) => sides.show(&path),
        (None, None) => whole,
    };
    (action, salient)
}

fn patch_text(input: &ToolInput<'_>) -> Option<String> {
    let text = match input.as_plain_text() {
        Some(text) => text.to_owned(),
        None => input.text(PATCH_FIELDS)?.into_owned(),
    };
    looks_like_patch(&text).then_some(text)
}

/// Removed and inserted text.
#[derive(Default)]
struct EditTexts {
    paths: Vec<String>,
    /// `None` for a whole file, whose previous content is unknown.
    before: Option<String>,
    after: String,
}

impl EditTexts {
    fn of_fields(kind: ToolKind, input: &ToolInput<'_>) -> Option<Self> {
        let map = input.fields()?;
        if let Some(edits) = map.get("edits").or_else(|| map.get("replacements")).and_then(|edits| edits.as_array()) {
            let mut sides = Self { before: Some(String::new()), ..Self::default() };
            for edit in edits {
                let edit = ToolInput::read(edit);
                if let Some(before) = &mut sides.before {
                    before.push_str(&edit.first_present(OLD_TEXT_FIELDS).unwrap_or_default());
                    before.push('\n');
                }
                sides.after.push_str(&edit.first_present(NEW_TEXT_FIELDS).unwrap_or_default());
                sides.after.push('\n');
            }
            return Some(sides);
        }
        if kind == ToolKind::Write {
            return Some(Self { after: input.first_present(CONTENT_FIELDS)?.into_owned(), ..Self::default() });
        }
        let before = input.first_present(OLD_TEXT_FIELDS);
        let after = input.first_present(NEW_TEXT_FIELDS).or_else(|| input.first_present(CONTENT_FIELDS));
        if before.is_none() && after.is_none() {
            return None;
        }
        Some(Self {
            paths: Vec::new(),
            before: Some(before.unwrap_or_default().into_owned()),
            after: after.unwrap_or_default().into_owned(),
        })
    }

    /// Parses unified diffs and the `*** Begin Patch` format.
    fn of_patch(patch: &str) -> Self {
        let mut sides = Self { before: Some(String::new()), ..Self::default() };
        let mut before = String::new();
        for line in patch.lines() {
            if let Some(path) = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/", "+++ "]
                .iter()
                .find_map(|mark| line.strip_prefix(mark))
            {
                let path = path.split('\t').next().unwrap_or(path);
                if path != "/dev/null" {
                    sides.paths.push(normalize_path(path));
                }
            } else if line.starts_with("*** ")
                || line.starts_with("--- ")
                || line.starts_with("@@")
                || line.starts_with("diff ")
                || line.starts_with("index ")
            {
            } else if let Some(line) = line.strip_prefix('-') {
                before.push_str(line);
                before.push('\n');
            } else if let Some(line) = line.strip_prefix('+') {
                sides.after.push_str(line);
                sides.after.push('\n');
            }
        }
        sides.before = Some(before);
        sides.paths.dedup();
        sides
    }

    fn show(&self, path: &str) -> String {
        match &self.before {
            Some(before) if !before.is_empty() => [path, "\n--- ", before, "\n+++ ", &self.after].concat(),
            _ => [path, "\n", &self.after].concat(),
        }
    }
}
