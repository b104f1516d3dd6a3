//! Classifies the error in an output by its decisive line.
//!
//! Programs report the cause in one line among many. Its position is a convention: last for an interpreter
//! (after the trace), first for a compiler (the rest follows from it), at the start for a tool. The family
//! retains the cause and drops specifics: numbers, paths, quoted texts longer than a name.

use std::sync::LazyLock;

use super::error_line::error_line;
use super::known_causes;
use crate::digest::Digest;
use crate::literal_set::LiteralSet;
use crate::redact::redact;

/// The error an output reports.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ErrorFamily {
    /// Short text of the cause.
    pub cause: String,
    /// Digest of the message with numbers, without positions.
    pub message: Digest,
    /// The line it names.
    pub line: Option<u32>,
}

/// Maximum length of a cause.
const CAUSE_BYTES: usize = 96;

/// `lines` are the offsets of candidate lines. `at_start`: the call itself reported the failure, so the text
/// starts with the message.
pub(super) fn parse(text: &str, lines: &[usize], at_start: bool) -> Option<ErrorFamily> {
    let message = match decisive(text, lines) {
        // A trace or a compiler error is more specific than the tool's introduction.
        Some((weight, line)) if weight >= DECISIVE_WEIGHT || !at_start => line,
        _ if at_start => opening(text)?,
        // Tools have their own error sentences.
        _ => {
            let said = super::status_phrases::first_lines(text);
            return known_causes::known_cause(said).map(|cause| family(cause.to_owned(), said, text));
        }
    };
    // A known cause may follow a long quotation.
    let around = if at_start { text } else { message };
    let known =
        known_causes::known_cause(message).or_else(|| known_causes::known_cause(&super::head_and_tail(around, 4096)));
    let cause = known.map_or_else(|| generalize(&redact(message)), str::to_owned);
    (!cause.is_empty()).then(|| family(cause, message, text))
}

fn family(cause: String, message: &str, text: &str) -> ErrorFamily {
    ErrorFamily { cause, message: Digest::from_bytes(strip_positions(message)), line: error_line(text, message) }
}

/// The first line of a tool's failure message.
fn opening(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    // Leading warnings are not the cause.
    while let Some((line, below)) = rest.split_once('\n')
        && (line.contains("Warning: ") || line.starts_with("  "))
        && !below.trim().is_empty()
    {
        rest = below;
    }
    if let Some(at) = super::status_phrases::error_label(rest) {
        rest = rest[at..].trim_start();
    }
    for label in ["[error]", "ERROR:", "Error:", "error:"] {
        rest = rest.strip_prefix(label).unwrap_or(rest).trim_start();
    }
    let message = crate::excerpt::floor(rest, 600);
    (!message.trim().is_empty()).then_some(message)
}

/// From this weight on, a line is decisive.
const DECISIVE_WEIGHT: u8 = 5;

/// The decisive line and its weight, among the candidates in `lines`.
fn decisive<'a>(text: &'a str, lines: &[usize]) -> Option<(u8, &'a str)> {
    let mut best: Option<(u8, &str)> = None;
    let mut consider = |weight: u8, last_wins: bool, line: &'a str| {
        if best.is_none_or(|(held, _)| weight > held || (weight == held && last_wins)) {
            best = Some((weight, line));
        }
    };
    for &start in lines {
        let rest = &text[start..];
        let line = rest.lines().next().unwrap_or_default();
        if line.ends_with("Traceback (most recent call last):") {
            // Frames are indented; the first line that is not is the exception.
            if let Some(exception) =
                rest.lines().skip(1).find(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
            {
                consider(6, true, exception);
            }
        } else if let Some((weight, last_wins)) = rank(line) {
            consider(weight, last_wins, line);
        }
    }
    best.map(|(weight, line)| (weight, strip_label(line)))
}

/// Every line that `rank` accepts contains one of these.
pub(super) fn line_literals() -> impl Iterator<Item = &'static str> {
    LINE_PREFIXES.iter().chain(ERROR_NAME_SUFFIXES).chain(UNIX_ERRORS).copied()
}

/// Weight of a line, and whether the last of equal ones wins.
fn rank(line: &str) -> Option<(u8, bool)> {
    let trimmed = line.trim_start();
    if trimmed.len() < 5 || trimmed.len() > 2000 {
        return None;
    }
    let indent = line.len() - trimmed.len();
    let text = trimmed.strip_prefix("E ").map_or(trimmed, str::trim_start);
    if let Some(name) = exception_name(text) {
        // Traces indent the frames but not the exception; test reports mark it with E.
        if indent > 0 && text.len() == trimmed.len() {
            return Some((2, true));
        }
        return Some((if name.ends_with("Warning") { 1 } else { 6 }, true));
    }
    if text.starts_with("Caused by: ") || text.starts_with("Exception in thread ") {
        return Some((6, true));
    }
    // Fast path for lines with only an exception name.
    let said = LINE_CLUES.mask(text);
    if text.starts_with("panic: ") || text.starts_with("fatal error: ") || said & CLUE_PANIC != 0 {
        return Some((6, false));
    }
    if ["error[", "error: ", "error TS"].iter().any(|start| text.starts_with(start)) || said & CLUE_COMPILER != 0 {
        // Summaries come last and are less specific.
        let summary =
            text.contains("aborting due to") || text.contains("could not compile") || text.contains("build failed");
        return Some((if summary { 3 } else { 5 }, false));
    }
    let starts =
        |start: &&str| text.as_bytes().get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start.as_bytes()));
    if ["fatal:", "npm err!", "npm error", "error ", "error:"].iter().any(starts) {
        return Some((4, false));
    }
    // Errors of the shell itself, or `program: what: errno text` of Unix tools.
    let colon = memchr::memchr_iter(b':', text.as_bytes()).find(|at| text.as_bytes().get(at + 1) == Some(&b' '));
    let program = &text[..colon.filter(|_| indent == 0)?];
    let is_shell = ["bash", "sh", "zsh", "dash"].contains(&program.rsplit('/').next().unwrap_or(program));
    (is_shell || UNIX_ERRORS.iter().any(|phrase| text.ends_with(phrase))).then_some((4, false))
}

/// A phrase within a decisive line, and its meaning.
struct LineClue {
    literals: LiteralSet,
    masks: [u8; 5],
}

const CLUE_PANIC: u8 = 1;
const CLUE_COMPILER: u8 = 2;

static LINE_CLUES: LazyLock<LineClue> = LazyLock::new(|| LineClue {
    literals: LiteralSet::case_sensitive(["' panicked at ", ": error: ", ": fatal error: ", ": error TS", "): error "]),
    masks: [CLUE_PANIC, CLUE_COMPILER, CLUE_COMPILER, CLUE_COMPILER, CLUE_COMPILER],
});

impl LineClue {
    fn mask(&self, line: &str) -> u8 {
        let mut mask = 0;
        self.literals.for_each(line, |hit| mask |= self.masks[hit.number]);
        mask
    }
}

const LINE_PREFIXES: &[&str] =
    &["Traceback", "Caused by: ", "panic", "fatal", "Fatal", "FATAL", "error", "ERROR", "ERR!", "bash: ", "sh: "];

/// Suffixes of error names.
const ERROR_NAME_SUFFIXES: &[&str] =
    &["Error", "Exception", "Warning", "Exit", "Interrupt", "Failure", "Fault", "Panic", "NotFound", "DoesNotExist"];

const UNIX_ERRORS: &[&str] = &[
    "No such file or directory",
    "command not found",
    "Permission denied",
    "Is a directory",
    "Not a directory",
    "File exists",
    "Connection refused",
    "Directory not empty",
    "not found",
    "Operation not permitted",
    "No space left on device",
    "Invalid argument",
    "Broken pipe",
    "Killed",
    "Segmentation fault",
    "core dumped)",
    "cannot execute binary file",
    "syntax error near unexpected token",
];

/// `package.module.SomeError: message`, `SomeException`.
pub(super) fn exception_name(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'))).unwrap_or(text.len());
    let name = &text[..end];
    let after = &text[end..];
    if name.is_empty() || !(after.is_empty() || after.starts_with(':') || after.starts_with(" [")) {
        return None;
    }
    let class = name.rsplit(['.', '$']).next().unwrap_or(name);
    let fits = class.starts_with(|c: char| c.is_ascii_uppercase())
        && ERROR_NAME_SUFFIXES.iter().any(|ending| class.ends_with(ending));
    fits.then_some(class)
}

fn strip_label(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("E ").map_or(line, str::trim_start);
    ["Caused by: ", "npm ERR! ", "npm error ", "Error: "]
        .iter()
        .find_map(|label| line.strip_prefix(label))
        .unwrap_or(line)
}

/// The message without specifics.
fn generalize(message: &str) -> String {
    let message = message.trim();
    let mut out = String::new();
    let mut rest = message;
    while let Some(c) = rest.chars().next() {
        if out.len() >= CAUSE_BYTES {
            break;
        }
        let mut taken = c.len_utf8();
        match c {
            '\'' | '"' | '`' => {
                let after_word = out.ends_with(|c: char| c.is_alphanumeric());
                match rest[1..].find(c) {
                    // An apostrophe inside a word is not a quote.
                    Some(len) if !(c == '\'' && after_word) => {
                        let quoted = &rest[1..1 + len];
                        out.push_str(if is_name(quoted) { quoted } else { "_" });
                        taken = len + 2;
                    }
                    _ => {}
                }
            }
            '/' => {
                taken = rest
                    .find(|c: char| c.is_whitespace() || matches!(c, ':' | ',' | ')' | '\'' | '"'))
                    .unwrap_or(rest.len())
                    .max(1);
                while out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')) {
                    out.pop();
                }
                out.push_str("PATH");
            }
            c if c.is_ascii_digit() => {
                taken = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                out.push('N');
            }
            c if c.is_whitespace() => {
                if c == '\n' && out.len() > 24 {
                    break;
                }
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(c),
        }
        rest = &rest[taken..];
    }
    crate::excerpt::floor(out.trim(), CAUSE_BYTES).trim_end().to_owned()
}

/// Short enough to be the name of a module, variable or parameter.
fn is_name(quoted: &str) -> bool {
    quoted.bytes().any(|b| !b.is_ascii_digit())
        && quoted.len() <= 40
        && quoted.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ':' | '@'))
}

/// The message with numbers but without line numbers and columns.
pub(super) fn strip_positions(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let bytes = message.as_bytes();
    let mut at = 0;
    let mut copied = 0;
    while let Some(found) = memchr::memchr2(b':', b'l', &bytes[at..]) {
        let here = at + found;
        at = here + 1;
        // `name.ext:12:3` and `line 12`.
        let start = if bytes[here] == b':' {
            if !(here > 0 && (bytes[here - 1].is_ascii_alphanumeric() || bytes[here - 1] == b'>')) {
                continue;
            }
            at
        } else if bytes[here..].starts_with(b"line ") && !(here > 0 && bytes[here - 1].is_ascii_alphanumeric()) {
            here + 5
        } else {
            continue;
        };
        let digits = bytes[start..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 && !bytes.get(start + digits).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.') {
            out.push_str(&message[copied..start]);
            out.push('#');
            copied = start + digits;
            at = copied;
        }
    }
    out.push_str(&message[copied..]);
    out
}
