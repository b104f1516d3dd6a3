//! Fingerprints of inputs that are neither commands nor edits.

use super::classify::{PATH_FIELDS, PATTERN_FIELDS, URL_FIELDS, is_mcp, split_words};
use super::input::{ToolInput, canonical, normalize_path};
use super::line_range::LineRange;
use super::programs::{appends_output, is_changing_tool};
use super::{Action, FingerprintBuilder, ToolKind, skeleton_of, sketch_of};
use crate::digest::Digest;
use crate::outcome::strip_volatile;

pub(super) fn read_action(kind: ToolKind, name: &str, input: &ToolInput<'_>) -> (Action, String) {
    let print = FingerprintBuilder::new(kind, name);
    let path = input.text(PATH_FIELDS).or_else(|| input.text(&["paths", "files"])).map(|path| normalize_path(&path));
    let pattern = input.text(PATTERN_FIELDS);
    let url = input.text(URL_FIELDS);
    let whole = canonical(input, PATH_FIELDS);
    let words = strip_volatile(&whole);
    let path_text = path.as_deref().unwrap_or_default();
    let key = print.digest("key", &[path_text, &words]);
    let shape = match kind {
        ToolKind::Read => print.digest("shape", &[path_text]),
        ToolKind::Search => print.digest("shape", &[name, path_text]),
        ToolKind::Fetch => print.digest("shape", &[url.as_deref().unwrap_or_default()]),
        _ => print.digest("shape", &[name, path_text]),
    };
    let verbs = tool_words(name);
    let reads_by_name = verbs.iter().any(|word| READING_VERBS.contains(&word.as_str()));
    let looks = matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Fetch) || is_mcp(name) && reads_by_name;
    let mutates = matches!(kind, ToolKind::Mcp | ToolKind::Other)
        && !reads_by_name
        && is_changing_tool(verbs.iter().map(String::as_str));
    let action = Action {
        key,
        shape,
        skeleton: print.digest("skeleton", &[path_text, &skeleton_of(&words)]),
        sketch: sketch_of(&words),
        target: path.as_ref().map(Digest::from_bytes),
        look: looks.then_some(key),
        lines: (kind == ToolKind::Read && path.is_some()).then(|| LineRange::of_fields(input)).flatten(),
        mutates,
        no_op: kind == ToolKind::Read && path.as_deref().is_none_or(|path| path == "/dev/null") && words.len() <= 2,
        poll: kind == ToolKind::Poll || kind == ToolKind::Read && path.as_deref().is_some_and(appends_output),
        ..Action::default()
    };
    let salient = match (kind, &path, pattern, url) {
        (ToolKind::Search, Some(path), Some(pattern), _) => format!("{pattern} in {path}"),
        (ToolKind::Search, None, Some(pattern), _) => pattern.into_owned(),
        (ToolKind::Fetch, _, _, Some(url)) => url.into_owned(),
        (ToolKind::Read, Some(path), ..) if whole == "{}" => path.clone(),
        (_, Some(path), ..) => format!("{path} {whole}"),
        _ => whole,
    };
    (action, salient)
}

/// Verbs of tools that only read, wherever they are in the name: `get_release`, `pull_request_read`.
const READING_VERBS: &[&str] = &["get", "list", "read", "search", "find", "fetch", "query", "show", "view", "describe"];

/// The words of a tool's name without those of its server: `mcp__github__create_issue` -> create, issue.
fn tool_words(name: &str) -> Vec<String> {
    split_words(name.rsplit("__").next().unwrap_or(name))
}
