//! Files changed by a patch. New files are recorded with their content, others with a diff only.

use belay_core::Digest;
use belay_core::event::{ChangeKind, FileChanged};
use serde::Deserialize;
use std::collections::BTreeMap;

use crate::lenient_json::LenientString;

/// Maximum number of files per patch.
const MAX_FILES: usize = 64;

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Change<'a> {
    #[serde(rename = "type")]
    kind: LenientString<'a>,
    content: LenientString<'a>,
    unified_diff: LenientString<'a>,
    move_path: LenientString<'a>,
    /// Older versions: `{"add": {...}}`.
    add: Option<Box<Change<'a>>>,
    update: Option<Box<Change<'a>>>,
    delete: Option<Box<Change<'a>>>,
}

/// The changes of one call.
pub(super) fn changes(call: &str, raw: &str) -> Vec<FileChanged> {
    let changes: BTreeMap<String, Change<'_>> = serde_json::from_str(raw).unwrap_or_default();
    changes.into_iter().take(MAX_FILES).map(|(path, change)| event(call, path, change)).collect()
}

fn event(call: &str, path: String, change: Change<'_>) -> FileChanged {
    let (kind, change) = match change {
        Change { add: Some(inner), .. } => ("add", *inner),
        Change { update: Some(inner), .. } => ("update", *inner),
        Change { delete: Some(inner), .. } => ("delete", *inner),
        change => (
            match &*change.kind {
                "add" => "add",
                "delete" => "delete",
                _ => "update",
            },
            change,
        ),
    };
    let lines = |sign: char, header: &str| {
        let of = |line: &&str| line.starts_with(sign) && !line.starts_with(header);
        u32::try_from(change.unified_diff.lines().filter(of).count()).ok()
    };
    let (kind, after, added, removed) = match kind {
        "add" => (
            ChangeKind::Created,
            Some(Digest::from_bytes(&*change.content)),
            u32::try_from(change.content.lines().count()).ok(),
            Some(0),
        ),
        "delete" => (ChangeKind::Deleted, None, None, None),
        _ if change.move_path.non_empty().is_some() => (ChangeKind::Moved, None, lines('+', "+++"), lines('-', "---")),
        _ => (ChangeKind::Modified, None, lines('+', "+++"), lines('-', "---")),
    };
    FileChanged { path, change: kind, before: None, after, added, removed, call: Some(call.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_tell_the_same_change() {
        let new = changes("c", r#"{"a.txt":{"type":"add","content":"one\n"}}"#);
        let old = changes("c", r#"{"a.txt":{"add":{"content":"one\n"}}}"#);
        assert_eq!(new, old);
        assert_eq!(
            (new[0].change, new[0].after, new[0].added),
            (ChangeKind::Created, Some(Digest::from_bytes("one\n")), Some(1))
        );
    }

    #[test]
    fn an_update_counts_its_lines() {
        let update =
            changes("c", r#"{"a.txt":{"type":"update","unified_diff":"@@ -1 +1,2 @@\n-one\n+two\n+three\n"}}"#);
        assert_eq!((update[0].change, update[0].added, update[0].removed), (ChangeKind::Modified, Some(2), Some(1)));
    }
}
