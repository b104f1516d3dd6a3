//! Phrases by which tools and harnesses report the status of a call. Each has a required position, because the
//! same words inside a file mean nothing.

use std::sync::LazyLock;

use super::phrase_groups::PhraseGroups;
use crate::excerpt::{ceil, floor};

/// The statuses found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StatusSigns {
    pub error: bool,
    pub refused: bool,
    pub timed_out: bool,
    pub outage: bool,
    pub empty: bool,
    pub acknowledged: bool,
    pub started: bool,
}

/// Harness messages are short; longer texts are tool output.
const MAX_HARNESS_TEXT_BYTES: usize = 1200;

/// Finds status phrases. `failed`: exit code or wrapper already report a failure, so phrases count anywhere.
pub(super) fn classify(text: &str, failed: bool) -> StatusSigns {
    let text = text.trim();
    let brief = text.len() <= MAX_HARNESS_TEXT_BYTES;
    let error = error_label(text).is_some() || (brief && starts(text, ERROR_STARTS));
    let all = brief.then(|| PHRASES.scan(text));
    let (opening, closing) = match all {
        // Fast path: most texts contain no phrase.
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
        started: brief && first(PhraseGroup::Started),
    }
}

/// A service on this machine is part of the work, not an external system.
fn is_local(text: &str) -> bool {
    let ends = [floor(text, MAX_HARNESS_TEXT_BYTES), ceil(text, text.len().saturating_sub(MAX_HARNESS_TEXT_BYTES))];
    ends.iter().any(|end| ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"].iter().any(|host| end.contains(host)))
}

/// Maximum number of bytes read per line.
const MAX_LINE_BYTES: usize = 400;

/// The first lines, if they may come from a harness.
pub(super) fn first_lines(text: &str) -> &str {
    let head = floor(text, MAX_LINE_BYTES);
    let end = memchr::memchr_iter(b'\n', head.as_bytes()).nth(2).unwrap_or(head.len());
    if is_message(head) { &head[..end] } else { "" }
}

/// The last line, if it may come from a harness.
fn closing(text: &str) -> &str {
    let tail = ceil(text, text.len().saturating_sub(MAX_LINE_BYTES));
    let line = tail.rsplit('\n').next().unwrap_or(tail);
    if is_message(line) { line } else { "" }
}

/// Whether a line is a message rather than a line of a file: no indentation, line number, `file:12:` prefix,
/// or leading punctuation of code, comments or lists.
fn is_message(line: &str) -> bool {
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
    Started,
}

static PHRASES: LazyLock<PhraseGroups> = LazyLock::new(|| {
    PhraseGroups::new([
        REFUSAL_PHRASES,
        OUTAGE_PHRASES,
        EMPTY_RESULT_PHRASES,
        ACKNOWLEDGEMENTS,
        ERROR_FIELDS,
        TIMEOUT_PHRASES,
        START_PHRASES,
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

/// Offset of the first label. Searched by the labels' rare endings.
fn label(text: &str) -> Option<usize> {
    memchr::memchr2_iter(b':', b']', text.as_bytes()).find_map(|end| {
        let before = &text.as_bytes()[..=end];
        ERROR_LABELS.iter().find(|label| before.ends_with(label.as_bytes())).map(|label| before.len() - label.len())
    })
}

/// Offset of `Error:` at the start of a text, possibly after a few introductory words (`Tool x returned:
/// Error: ...`). A position (`a.py:12: Error:`) is not an introduction.
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

/// How tools start the report of a failure.
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

/// Results of tools that return JSON or print an object.
const ERROR_FIELDS: &[&str] = &[
    "\"success\": false",
    "\"success\":false",
    "'success': false",
    "\"is_error\": true",
    "\"iserror\":true",
    "\"iserror\": true",
];

/// Refused by a person, a policy or a sandbox.
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

/// Timed out, or the shell no longer responds.
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

/// External failures.
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

/// External failures as error codes.
const OUTAGE_CODES: &[&str] = &["ECONNRESET", "ECONNREFUSED", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH"];

/// Searches without results.
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

/// Complete outputs that mean "nothing".
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

/// Receipts of something that was started and goes on.
const START_PHRASES: &[&str] = &[
    "agent launched successfully",
    "agent spawned",
    "spawned agent",
    "started agent",
    "launched in the background",
    "started in the background",
    "started in background",
    "running in background with id",
    "running in the background",
    "started background",
    "background task started",
    "background process started",
    "background job started",
    "process running with session id",
    "submitted batch job",
    "job submitted",
    "job started with id",
    "\"status\":\"async_launched\"",
    "\"status\": \"async_launched\"",
];

/// Fixed confirmations.
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
