//! File content after an edit. Claude Code records the content before the edit next to the result, so the content after
//! it can be computed exactly, and an undone edit is detected.

use std::borrow::Cow;

use belay_core::Digest;
use belay_core::event::{ChangeKind, FileChanged};
use serde::Deserialize;

use crate::lenient_json::{LenientBool, LenientString};

/// The details recorded with the result of an edit.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct EditDetails<'a> {
    #[serde(borrow)]
    file_path: LenientString<'a>,
    #[serde(borrow)]
    original_file: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    old_string: LenientString<'a>,
    #[serde(borrow)]
    new_string: Option<LenientString<'a>>,
    replace_all: LenientBool,
}

/// The change that the details of a result describe, if any.
pub(super) fn change(call: Option<String>, details: &EditDetails<'_>) -> Option<FileChanged> {
    let path = details.file_path.non_empty()?.to_owned();
    let before = details.original_file.as_deref().map(Digest::from_bytes);
    let after = match (&details.content, details.original_file.as_deref(), &details.new_string) {
        (Some(content), ..) => Some(Digest::from_bytes(&**content)),
        (None, Some(original), Some(new)) => edited(original, &details.old_string, new, details.replace_all.0),
        _ => None,
    };
    if before.is_none() && after.is_none() {
        return None;
    }
    let change = if before.is_none() { ChangeKind::Created } else { ChangeKind::Modified };
    Some(FileChanged { path, change, before, after, added: None, removed: None, call })
}

fn edited(original: &str, old: &str, new: &str, all: bool) -> Option<Digest> {
    if old.is_empty() {
        return Some(Digest::from_bytes(new));
    }
    if all {
        return Some(Digest::from_bytes(original.replace(old, new)));
    }
    let at = memchr::memmem::find(original.as_bytes(), old.as_bytes())?;
    Some(Digest::of_pieces([&original[..at], new, &original[at + old.len()..]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change_from_json(json: &str) -> Option<FileChanged> {
        change(None, &serde_json::from_str(json).ok()?)
    }

    #[test]
    fn an_edit_and_its_undoing_return_to_the_same_content() {
        let there = change_from_json(r#"{"filePath":"f","oldString":"1","newString":"2","originalFile":"a=1\n"}"#)
            .expect("a change");
        let back = change_from_json(r#"{"filePath":"f","oldString":"2","newString":"1","originalFile":"a=2\n"}"#)
            .expect("a change");
        assert_eq!(there.after, back.before);
        assert_eq!(back.after, there.before);
        assert_ne!(there.before, there.after);
    }

    #[test]
    fn a_written_file_has_the_written_content() {
        let made = change_from_json(r#"{"type":"create","filePath":"f","content":"a=1\n","originalFile":null}"#)
            .expect("a change");
        assert_eq!(
            (made.change, made.before, made.after),
            (ChangeKind::Created, None, Some(Digest::from_bytes("a=1\n")))
        );
    }

    #[test]
    fn without_content_nothing_is_claimed() {
        assert_eq!(change_from_json(r#"{"filePath":"f"}"#), None);
        assert_eq!(change_from_json(r#""Error: String to replace not found""#), None);
    }
}
