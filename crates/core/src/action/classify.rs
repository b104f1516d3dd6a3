//! Classifies tools by name and by the fields of their input.

use serde_json::Value;

use super::ToolKind;
use super::input::ToolInput;
use super::tool_names;

/// Field names that different tools use for the same thing.
pub(super) const COMMAND_FIELDS: &[&str] =
    &["command", "cmd", "commands", "script", "shell_command", "command_line", "CommandLine"];
pub(super) const CODE_FIELDS: &[&str] = &["code", "python_code", "source", "source_code"];
pub(super) const PATH_FIELDS: &[&str] = &[
    "file_path",
    "path",
    "filePath",
    "filepath",
    "absolute_path",
    "absolutePath",
    "target_file",
    "targetFile",
    "TargetFile",
    "AbsolutePath",
    "notebook_path",
    "relative_workspace_path",
    "relative_path",
    "relativePath",
    "file_name",
    "fileName",
    "filename",
    "file",
    "uri",
    "dir_path",
    "directory",
    "DirectoryPath",
    "folder",
];
pub(super) const OLD_TEXT_FIELDS: &[&str] = &[
    "old_string",
    "old_str",
    "oldString",
    "oldStr",
    "old_text",
    "oldText",
    "search",
    "find",
    "old_content",
    "oldContent",
];
pub(super) const NEW_TEXT_FIELDS: &[&str] = &[
    "new_string",
    "new_str",
    "newString",
    "newStr",
    "new_text",
    "newText",
    "replace",
    "replacement",
    "new_content",
    "newContent",
    "insert_text",
    "new_source",
    "code_edit",
    "updated_content",
];
pub(super) const CONTENT_FIELDS: &[&str] =
    &["content", "contents", "file_text", "fileText", "text", "body", "file_content"];
pub(super) const PATTERN_FIELDS: &[&str] = &[
    "pattern",
    "query",
    "regex",
    "search_term",
    "searchTerm",
    "glob",
    "glob_pattern",
    "q",
    "keyword",
    "keywords",
    "queries",
    "name_pattern",
    "search_query",
];
/// Fields that make a call return before its work is done.
pub(super) const BACKGROUND_FIELDS: &[&str] =
    &["run_in_background", "runInBackground", "is_background", "isBackground", "background", "detach", "detached"];
pub(super) const URL_FIELDS: &[&str] = &["url", "urls", "link", "href"];
pub(super) const PATCH_FIELDS: &[&str] = &["patch", "diff", "input", "patch_text", "patchText"];

/// Kind of an unlisted tool, from its name and input.
pub fn classify(name: &str, input: &Value) -> ToolKind {
    let input = ToolInput::read(input);
    let bare = bare_name(name);
    if is_mcp(name) {
        return ToolKind::Mcp;
    }
    if let Some(kind) = editor_command(&input).or_else(|| stdin_to_process(bare, &input)) {
        return kind;
    }
    if let Some(text) = input.as_plain_text()
        && let Some(kind) = command_line(bare, text)
    {
        return kind;
    }
    tool_names::kind_of(bare).or_else(|| by_shape(&input)).or_else(|| by_words(bare)).unwrap_or_default()
}

/// Agents prefix names with a namespace (`functions.exec`, `default_api:read_file`).
pub(super) fn bare_name(name: &str) -> &str {
    name.rsplit(['.', ':', '/']).next().unwrap_or(name)
}

pub(super) fn is_mcp(name: &str) -> bool {
    name.starts_with("mcp__") || name.starts_with("mcp_") || name.starts_with("mcp-") || name.starts_with("mcp.")
}

/// Multi-purpose editors, distinguished by `command` (or `mode`, `action`).
fn editor_command(input: &ToolInput<'_>) -> Option<ToolKind> {
    let command = input.text(&["command", "mode", "action", "operation"])?;
    if !input.has(PATH_FIELDS) && command != "undo_edit" {
        return None;
    }
    Some(match command.as_ref() {
        "view" | "read" | "open" | "list" | "ls" => ToolKind::Read,
        "create" | "write" | "overwrite" | "delete" => ToolKind::Write,
        "str_replace" | "insert" | "undo_edit" | "append" | "replace" | "edit" | "set" | "add" | "remove" => {
            ToolKind::Edit
        }
        _ => return None,
    })
}

/// Writing nothing to a running process is a poll; writing something is a command.
fn stdin_to_process(name: &str, input: &ToolInput<'_>) -> Option<ToolKind> {
    if tool_names::normalize_name(name) != "writestdin" {
        return None;
    }
    let chars = input.text(&["chars", "input", "data", "text"]).unwrap_or_default();
    Some(if chars.is_empty() { ToolKind::Poll } else { ToolKind::Shell })
}

/// A tool whose input is a command line that starts with its own name (`open a.py 12`) is a program; listed
/// tools keep their kind.
fn command_line(name: &str, text: &str) -> Option<ToolKind> {
    let first = text.split_whitespace().next()?;
    if !first.eq_ignore_ascii_case(name) {
        return None;
    }
    Some(tool_names::kind_of(name).filter(|kind| *kind != ToolKind::Other).unwrap_or(ToolKind::Shell))
}

fn by_shape(input: &ToolInput<'_>) -> Option<ToolKind> {
    input.fields()?;
    if input.has(OLD_TEXT_FIELDS) && input.first_present(NEW_TEXT_FIELDS).is_some() {
        return Some(ToolKind::Edit);
    }
    if input.has(PATCH_FIELDS) && input.text(PATCH_FIELDS).is_some_and(|text| looks_like_patch(&text)) {
        return Some(ToolKind::Edit);
    }
    if input.has(PATH_FIELDS) {
        if input.has(NEW_TEXT_FIELDS) {
            return Some(ToolKind::Edit);
        }
        return Some(if input.has(CONTENT_FIELDS) {
            ToolKind::Write
        } else if input.has(PATTERN_FIELDS) {
            ToolKind::Search
        } else {
            return None;
        });
    }
    if input.has(COMMAND_FIELDS) {
        return Some(ToolKind::Shell);
    }
    None
}

pub(super) fn looks_like_patch(text: &str) -> bool {
    text.contains("*** Begin Patch") || text.starts_with("--- ") || text.contains("\n+++ ") || text.contains("\n@@")
}

/// Last resort: the verb in an unlisted name.
fn by_words(name: &str) -> Option<ToolKind> {
    let words = split_words(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    // The verb decides: `read_database_schema` reads, `search_tests` searches.
    Some(match words.first()?.as_str() {
        "read" | "view" | "open" | "cat" | "list" | "show" | "get" | "extract"
            if has(&["file", "files", "range", "dir", "directory", "code", "folder", "method", "class", "classes"]) =>
        {
            ToolKind::Read
        }
        "search" | "find" | "grep" | "lookup" | "query" => ToolKind::Search,
        "edit" | "replace" | "patch" | "modify" | "insert" | "apply" => ToolKind::Edit,
        "write" | "create" | "save" if has(&["file", "fix", "code", "patch"]) => ToolKind::Write,
        "fetch" | "visit" | "download" => ToolKind::Fetch,
        "run" | "exec" | "execute"
            if has(&["command", "cmd", "shell", "bash", "terminal", "code", "script", "tests", "test"]) =>
        {
            ToolKind::Shell
        }
        "wait" | "poll" | "await" => ToolKind::Poll,
        "ask" => ToolKind::Ask,
        "think" | "plan" | "todo" => ToolKind::Plan,
        _ => return None,
    })
}

/// `readFileRange`, `read_file_range`, `read-file range` -> read, file, range.
pub(super) fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}
