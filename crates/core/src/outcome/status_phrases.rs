//! Short phrases by which tools and harnesses say what became of a call. Data, with care about where
//! a phrase must stand: the same words inside a file somebody reads mean nothing.

use std::sync::LazyLock;

use super::phrase_groups::PhraseGroups;
use crate::excerpt::{ceil, floor};

/// What the phrases say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StatusSigns {
    pub error: bool,
    pub refused: bool,
    pub timed_out: bool,
    pub outage: bool,
    pub empty: bool,
    pub acknowledged: bool,
}

/// A harness speaks briefly; longer texts are what a tool brought.
const MAX_HARNESS_TEXT_BYTES: usize = 1200;

/// Reads the signs. `failed`: the exit code or a wrapper has told that already, so that every word counts.
pub(super) fn classify(text: &str, failed: bool) -> StatusSigns {
    let text = text.trim();
    let brief = text.len() <= MAX_HARNESS_TEXT_BYTES;
    let error = error_label(text).is_some() || (brief && starts(text, ERROR_STARTS));
    let all = brief.then(|| PHRASES.scan(text));
    let (opening, closing) = match all {
        // Mostly there is nothing anywhere.
        Some(all) if failed || error || all == 0 => (all, all),
        _ => (PHRASES.scan(first_lines(text)), PHRASES.scan(closing(text))),
    };
    let first = |group: PhraseGroup| opening & (1 << group as u8) != 0;
    let either = |group: PhraseGroup| (opening | closing) & (1 << group as u8) != 0;
    let refused = brief && first(PhraseGroup::Refused);
    StatusSigns {
        error: error || all.is_some_and(|all| all & (1 << PhraseGroup::ErrorField as u8) != 0),
        refused,
        timed_out: !refused && either(PhraseGroup::TimedOut),
        outage: (either(PhraseGroup::Outage)
            || (brief && (failed || error) && OUTAGE_CODES.iter().any(|code| text.contains(code))))
            && !is_local(text),
        empty: text.is_empty()
            || (text.len() <= 300
                && (first(PhraseGroup::Empty) || EMPTY_TEXTS.iter().any(|word| text.eq_ignore_ascii_case(word)))),
        acknowledged: text.len() <= 400 && first(PhraseGroup::Acknowledged),
    }
}

/// What does not answer on this machine is the work at hand, not the world outside.
fn is_local(text: &str) -> bool {
    let ends = [floor(text, MAX_HARNESS_TEXT_BYTES), ceil(text, text.len().saturating_sub(MAX_HARNESS_TEXT_BYTES))];
    ends.iter().any(|end| ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"].iter().any(|host| end.contains(host)))
}

/// How much of a line is read.
const MAX_LINE_BYTES: usize = 400;

/// The first lines, when a harness may be speaking.
pub(super) fn first_lines(text: &str) -> &str {
    let head = floor(text, MAX_LINE_BYTES);
    let end = memchr::memchr_iter(b'\n', head.as_bytes()).nth(2).unwrap_or(head.len());
    if is_said(head) { &head[..end] } else { "" }
}

/// The last line, when a harness may be speaking.
fn closing(text: &str) -> &str {
    let tail = ceil(text, text.len().saturating_sub(MAX_LINE_BYTES));
    let line = tail.rsplit('\n').next().unwrap_or(tail);
    if is_said(line) { line } else { "" }
}

/// Whether a line is somebody's sentence rather than a line of a file: no indentation, no line number, no
/// `file:12:` before it, no sign that code, a comment or a list begins with.
fn is_said(line: &str) -> bool {
    let line = line.lines().next().unwrap_or_default();
    let first_word = line.split([' ', '\t']).next().unwrap_or_default();
    let numbered = first_word.split(':').nth(1).is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()));
    line.starts_with(|c: char| c.is_alphabetic() || matches!(c, '[' | '<' | '(' | '\u{26a0}' | '\u{274c}')) && !numbered
}

#[derive(Clone, Copy)]
enum PhraseGroup {
    Refused,
    Outage,
    Empty,
    Acknowledged,
    ErrorField,
    TimedOut,
}

static PHRASES: LazyLock<PhraseGroups> = LazyLock::new(|| {
    PhraseGroups::new([
        REFUSAL_PHRASES,
        OUTAGE_PHRASES,
        EMPTY_RESULT_PHRASES,
        ACKNOWLEDGEMENTS,
        ERROR_FIELDS,
        TIMEOUT_PHRASES,
    ])
});

/// Whether a text begins with one of the needles, which are in lower case.
fn starts(text: &str, needles: &[&str]) -> bool {
    let first = text.as_bytes().first().map(u8::to_ascii_lowercase);
    let starts = |needle: &&str| {
        needle.bytes().next() == first
            && text.as_bytes().get(..needle.len()).is_some_and(|head| head.eq_ignore_ascii_case(needle.as_bytes()))
    };
    needles.iter().any(starts)
}

const ERROR_LABELS: [&str; 5] = ["Error:", "ERROR:", "error:", "[error]", "[ERROR]"];

/// Where the first label stands. They are looked for by their ends, which few texts have.
fn label(text: &str) -> Option<usize> {
    memchr::memchr2_iter(b':', b']', text.as_bytes()).find_map(|end| {
        let before = &text.as_bytes()[..=end];
        ERROR_LABELS.iter().find(|label| before.ends_with(label.as_bytes())).map(|label| before.len() - label.len())
    })
}

/// Where `Error:` stands when a text begins with it, perhaps after a few plain words that introduce
/// it (`Tool x returned: Error: ...`). A place in a file (`a.py:12: Error:`) introduces nothing.
pub(super) fn error_label(text: &str) -> Option<usize> {
    let head = floor(text, 200);
    let at = label(head)?;
    let before = head[..at].trim();
    let introduced = before.is_empty()
        || (before.ends_with(':')
            && before
                .chars()
                .all(|c| c.is_alphabetic() || c.is_whitespace() || matches!(c, '_' | ':' | '`' | '-' | '\'')));
    introduced.then_some(at)
}

/// How a tool begins when it could not do what it was asked.
const ERROR_STARTS: &[&str] = &[
    "error -",
    "fatal:",
    "failed to ",
    "error executing ",
    "error calling ",
    "error running ",
    "tool execution failed",
    "tool error",
    "mcp error",
    "invalid ",
    "no replacement was performed",
    "string to replace not found",
    "file does not exist",
    "file has not been read",
    "file has been modified since",
    "file has been unexpectedly modified",
    "permission denied",
    "access denied",
    "apply_patch verification failed",
    "inputvalidationerror",
    "cannot ",
    "unable to ",
    "could not ",
    "unknown tool",
    "no such tool",
    "agentexecutionerror",
];

/// Answers of tools that speak JSON or print an object.
const ERROR_FIELDS: &[&str] = &[
    "\"success\": false",
    "\"success\":false",
    "'success': false",
    "\"is_error\": true",
    "\"iserror\":true",
    "\"iserror\": true",
];

/// A person, a policy or a sandbox stands in the way.
const REFUSAL_PHRASES: &[&str] = &[
    "requires approval",
    "require approval",
    "requires permission",
    "need permission",
    "needs your permission",
    "haven't granted",
    "have not granted",
    "hasn't been granted",
    "has not been granted",
    "permission to use",
    "user doesn't want to proceed",
    "user does not want to proceed",
    "tool use was rejected",
    "rejected by user",
    "rejected by the user",
    "user rejected",
    "user declined",
    "declined by the user",
    "denied by user",
    "denied by the user",
    "user denied",
    "permission to use this tool was denied",
    "permission has been denied",
    "permissions were denied",
    "blocked by policy",
    "blocked by pretooluse hook",
    "hook denied",
    "denied by pretooluse hook",
    "denied by policy",
    "disallowed by policy",
    "tool execution blocked",
    "operation was cancelled by the user",
    "approval was denied",
    "not allowed to run in this mode",
    "waiting for approval",
    "awaiting approval",
    "was auto-denied",
    "automatically denied",
    "auto-denied",
];

/// It did not end in time, or the shell no longer answers.
const TIMEOUT_PHRASES: &[&str] = &[
    "command timed out",
    "timed out after",
    "timed out: ",
    "timed out and",
    "timed out waiting",
    "has timed out",
    "execution timed out",
    "operation timed out",
    "timeout expired",
    "timeoutexpired",
    "timeout exceeded",
    "exceeded the timeout",
    "did not finish in time",
    "no new output after",
    "the previous command is still running",
    "process is still running",
    "command is still running",
    "has not returned in",
    "tool must be restarted",
    "bash has exited",
    "shell has exited",
    "shell is dead",
    "shell is not responding",
    "not responding",
    "sigterm after timeout",
];

/// The world outside, not the work, is at fault.
const OUTAGE_PHRASES: &[&str] = &[
    "429 too many requests",
    "too many requests",
    "rate limit",
    "rate_limit",
    "ratelimit",
    "overloaded_error",
    "overloaded error",
    "server overloaded",
    "is overloaded",
    "currently overloaded",
    "service unavailable",
    "503 service",
    "502 bad gateway",
    "bad gateway",
    "504 gateway",
    "gateway timeout",
    "500 internal server error",
    "internal_server_error",
    "status code 429",
    "status code 500",
    "status code 502",
    "status code 503",
    "status code 529",
    "http 429",
    "http 503",
    "http error 429",
    "http error 503",
    "temporarily unavailable",
    "temporary failure in name resolution",
    "could not resolve host",
    "name or service not known",
    "network is unreachable",
    "network unreachable",
    "connection reset by peer",
    "connection refused",
    "connection timed out",
    "connection aborted",
    "connection error",
    "fetch failed",
    "socket hang up",
    "tls handshake",
    "max retries exceeded",
];

/// The same as error codes.
const OUTAGE_CODES: &[&str] = &["ECONNRESET", "ECONNREFUSED", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH"];

/// Looked, found nothing.
const EMPTY_RESULT_PHRASES: &[&str] = &[
    "no matches found",
    "no match found",
    "no files found",
    "no results found",
    "no results",
    "found 0 ",
    "0 matches",
    "0 results",
    "nothing found",
    "no such symbol",
    "no occurrences",
    "did not produce any output",
    "ran successfully with no output",
    "completed with no output",
    "no content found",
    "did not match any",
];

/// Whole texts that stand for nothing.
const EMPTY_TEXTS: &[&str] = &[
    "none",
    "null",
    "[]",
    "{}",
    "()",
    "\"\"",
    "''",
    "(no output)",
    "(empty)",
    "<no output>",
    "[no output]",
    "no output",
    "no output.",
    "(no content)",
    "undefined",
];

/// "Heard you."
const ACKNOWLEDGEMENTS: &[&str] = &[
    "todos have been modified successfully",
    "todo list updated",
    "todos updated",
    "todos successfully saved",
    "plan updated",
    "plan has been updated",
    "your thought has been logged",
    "thinking step completed",
    "thought recorded",
    "updated task",
    "task created successfully",
    "task updated",
    "memory updated",
    "acknowledged",
];
