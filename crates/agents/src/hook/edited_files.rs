//! The files that a tool call changes.

use belay_core::{Digest, ToolKind};
use serde_json::Value;

use super::condense::digest_of;
use super::payload::MAX_NAME_BYTES;

/// A file that a tool changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedFile {
    /// Id of the call.
    pub call: Option<String>,
    /// As the agent names it: absolute, or relative to its working directory.
    pub path: String,
    /// Digest of the previous content, if reported.
    pub before: Option<Digest>,
}

/// Maximum number of files reported for one patch.
const MAX_FILES: usize = 32;

/// Fields with the path of the edited file.
const PATH_FIELDS: &[&str] = &["file_path", "filePath", "notebook_path", "path", "target_file"];

/// JSON pointers to the previous content.
const BEFORE_FIELDS: &[&str] = &["/originalFile", "/originalContent", "/filediff/before"];

/// The files that a call of this kind changes, from its response or its input.
pub(crate) fn edited_files(kind: ToolKind, input: &Value, response: &Value, call: Option<String>) -> Vec<EditedFile> {
    if !matches!(kind, ToolKind::Edit | ToolKind::Write) {
        return Vec::new();
    }
    let named = |value: &Value| PATH_FIELDS.iter().find_map(|key| value.get(key)?.as_str().map(str::to_owned));
    let paths = match named(response).or_else(|| named(input)) {
        Some(path) => vec![path],
        None => patched_files(input),
    };
    let before = BEFORE_FIELDS.iter().find_map(|pointer| response.pointer(pointer)?.as_str()).map(digest_of);
    let usable = |path: &String| !path.is_empty() && path.len() <= MAX_NAME_BYTES && !path.contains('\0');
    paths
        .into_iter()
        .filter(usable)
        .take(MAX_FILES)
        .map(|path| EditedFile { call: call.clone(), path, before })
        .collect()
}

/// The files of a patch in the `*** Update File:` format, in any field of the input.
fn patched_files(input: &Value) -> Vec<String> {
    let texts: Vec<&str> = match input {
        Value::String(text) => vec![text],
        Value::Object(object) => object.values().filter_map(Value::as_str).collect(),
        _ => return Vec::new(),
    };
    let Some(patch) = texts.into_iter().find(|text| text.contains("*** Begin Patch")) else {
        return Vec::new();
    };
    const PATCH_HEADERS: &[&str] = &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let named =
        |line: &str| PATCH_HEADERS.iter().find_map(|head| line.strip_prefix(head)).map(|path| path.trim().to_owned());
    patch.lines().filter_map(named).collect()
}
