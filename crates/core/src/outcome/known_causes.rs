//! Well-known causes of failure in the wordings of many tools, as data.

use std::sync::LazyLock;

use super::phrase_groups::PhraseGroups;

/// The canonical cause in a message, if it is one that every tool words differently.
pub(super) fn known_cause(message: &str) -> Option<&'static str> {
    static CAUSE_LITERALS: LazyLock<PhraseGroups> =
        LazyLock::new(|| PhraseGroups::new(CAUSES.iter().map(|(_, signs)| *signs)));
    // If several causes match, the earlier row is more specific.
    CAUSES.get(CAUSE_LITERALS.scan(message).trailing_zeros() as usize).map(|(cause, _)| *cause)
}

const CAUSES: &[(&str, &[&str])] = &[
    (
        "text to replace not found",
        &[
            "did not appear verbatim",
            "string to replace not found",
            "old_string not found",
            "old_str not found",
            "oldstring not found",
            "old string not found",
            "0 occurrences found",
            "could not find the string to replace",
            "could not find exact match",
            "no exact match found",
            "failed to find expected lines",
            "failed to find context",
            "search block not found",
            "search text not found",
            "no match found for search",
            "no sufficiently similar match",
            "patch does not apply",
            "patch failed",
            "hunk #1 failed",
            "does not match the file",
            "target content not found",
        ],
    ),
    (
        "text to replace is ambiguous",
        &[
            "multiple occurrences of",
            "multiple matches",
            "matches of the string to replace, but",
            "is not unique",
            "occurs multiple times",
            "found multiple times",
            "must be unique",
            "appears multiple times",
            "more than one match",
            "occurrences but expected 1",
            "expected 1 occurrence but found",
            "expected 1 occurrences but found",
        ],
    ),
    (
        "nothing would change",
        &[
            "no changes to make",
            "old_string and new_string are exactly the same",
            "old_str and new_str are the same",
            "old_str` and `new_str` are the same",
            "is the same as `old_str`",
            "must be different",
            "no changes to apply",
            "no changes detected",
        ],
    ),
    (
        "file not read yet",
        &["file has not been read", "must read the file", "read the file first", "read it first before"],
    ),
    (
        "file changed meanwhile",
        &["modified since read", "has been modified since", "unexpectedly modified", "changed on disk"],
    ),
    ("file exists already", &["file already exists", "file exists", "cannot overwrite", "eexist"]),
    (
        "command not found",
        &["command not found", "is not recognized as", "commandnotfound", ": not found", "no such command"],
    ),
    (
        "unknown tool",
        &[
            "unknown tool",
            "unknown command",
            "no such tool",
            "tool not found",
            "is not a valid tool",
            "unknown function",
        ],
    ),
    ("permission denied", &["permission denied", "eacces", "operation not permitted", "eperm", "access is denied"]),
    ("no space left", &["no space left on device", "enospc", "disk quota exceeded"]),
    ("out of memory", &["out of memory", "cannot allocate memory", "memoryerror", "oomkilled", "oom-kill"]),
    ("address in use", &["address already in use", "eaddrinuse"]),
    ("is a directory", &["is a directory", "eisdir"]),
    ("not a directory", &["not a directory", "enotdir"]),
    (
        "no such file",
        &[
            "no such file or directory",
            "enoent",
            "filenotfounderror",
            "file does not exist",
            "path does not exist",
            "does not exist. please provide a valid path",
            "file not found",
            "no such file",
            "cannot find the path",
            "cannot find the file",
            "not a valid path",
        ],
    ),
];
