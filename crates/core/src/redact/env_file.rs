//! Files of environment variables, where every value counts as secret.
//!
//! Such a file is recognised by the call that reads or prints it ([`names_env_file`]) or, without the call, by its
//! lines.

use std::borrow::Cow;

use super::{REDACTION_PREFIX, mark_end, redact_once};

/// Kind of a value without a kind of its own.
const KIND: &str = "env-value";

/// Whether a command or path names an environment file: `.env`, `.env.local`, `.env_old`, `prod.env`, `.envrc`.
/// Templates hold no values, and `process.env` is code.
pub(crate) fn names_env_file(text: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), b".env").any(|at| {
        let stem = &text[..at];
        let rest = &text[at + ".env".len()..];
        let is_code = ["process", "meta", "Deno", "Bun"].iter().any(|object| stem.ends_with(object));
        let rest = rest.strip_prefix("rc").unwrap_or(rest);
        // `.env_old` and `.env2` are files, `settings.env_file` is a field.
        let starts_name = !stem.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']'));
        let ends = match rest.bytes().next() {
            Some(b'_' | b'0'..=b'9') => starts_name,
            Some(b) => !b.is_ascii_alphanumeric() && !matches!(b, b'(' | b'['),
            None => true,
        };
        let is_template = rest.strip_prefix(['.', '_', '-']).is_some_and(|end| {
            ["example", "sample", "template", "dist", "schema"].iter().any(|word| end.starts_with(word))
        });
        ends && !is_code && !is_template
    })
}

/// Redacts every value of a text that is known to show an environment file.
pub(crate) fn redact_env_values(text: &str) -> Cow<'_, str> {
    redact_lines(text, |line| EnvLine::parse(line, Style::Any))
}

/// Redacts every value if most lines of the text are assignments of environment variables.
pub(super) fn redact_env_shape(text: &str) -> Cow<'_, str> {
    const MIN_LINES: usize = 2;
    // Most texts, and nearly all names and ids, have too few signs. This took a third off `redact` in an audit.
    if memchr::memchr_iter(b'=', text.as_bytes()).nth(MIN_LINES - 1).is_none() {
        return Cow::Borrowed(text);
    }
    let (mut assignments, mut others) = (0, 0);
    for line in text.lines() {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let is_assignment = line.contains('=') && EnvLine::parse(line, Style::Shell).is_some();
        if is_assignment { assignments += 1 } else { others += 1 }
    }
    if assignments < MIN_LINES || assignments <= others {
        return Cow::Borrowed(text);
    }
    redact_lines(text, |line| EnvLine::parse(line, Style::Shell).filter(|line| !line.is_public()))
}

/// Which lines are assignments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `NAME=value` with a name in capitals.
    Shell,
    /// Also `name = value` and `name: value`.
    Any,
}

/// One assignment.
struct EnvLine<'a> {
    name: &'a str,
    /// Where the name begins in the line.
    start: usize,
    value: &'a str,
}

impl<'a> EnvLine<'a> {
    fn parse(line: &'a str, style: Style) -> Option<Self> {
        let start = line.len() - skip_prefix(line).len();
        let rest = &line[start..];
        let is_name = |b: u8| match style {
            Style::Shell => b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_',
            Style::Any => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'),
        };
        let name = &rest[..rest.bytes().take_while(|b| is_name(*b)).count()];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let rest = &rest[name.len()..];
        let value = match style {
            Style::Shell => rest.strip_prefix('=')?,
            Style::Any => rest.trim_start_matches(' ').strip_prefix(['=', ':'])?,
        };
        let value = value.trim();
        (!value.is_empty()).then_some(Self { name, start, value })
    }

    /// Variables of every shell: `printenv` shows them, and they hold no secrets.
    fn is_public(&self) -> bool {
        const PUBLIC: &[&str] =
            &["PWD", "OLDPWD", "PATH", "HOME", "SHELL", "TERM", "LANG", "LC_ALL", "USER", "LOGNAME", "SHLVL", "_"];
        PUBLIC.contains(&self.name)
    }
}

/// The line without what tools put before its content: a line number, a path, a diff mark, `export`.
fn skip_prefix(line: &str) -> &str {
    let mut rest = line.trim_start_matches([' ', '\t']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        rest = rest[digits..].trim_start_matches(['→', '\t', ':', '|', '-', '.', ' ', '│']);
    } else if let Some((path, content)) = rest.split_once(':')
        && names_env_file(path)
        && !path.contains(['=', ' '])
    {
        // `grep -n` prints the path and the line number.
        return skip_prefix(content);
    }
    rest = rest.trim_start_matches(['+', '-', '>', '<', ' ']);
    for keyword in ["export ", "set ", "declare -x "] {
        rest = rest.strip_prefix(keyword).unwrap_or(rest);
    }
    rest
}

fn redact_lines<'a>(text: &'a str, parse: impl Fn(&'a str) -> Option<EnvLine<'a>>) -> Cow<'a, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        if let Some(assignment) = parse(content).filter(|assignment| !is_redaction(assignment.value)) {
            let name_start = at + assignment.start;
            let value_end = at + content.trim_end().len();
            let value_start = value_end - assignment.value.len();
            let piece = redact_once(&text[name_start..value_end]);
            out.push_str(&text[copied..value_start]);
            // The value's own kind is more specific.
            match piece.strip_prefix(&text[name_start..value_start]).filter(|value| is_redaction(value)) {
                Some(value) => out.push_str(value),
                None => out.extend([REDACTION_PREFIX, KIND, "]"]),
            }
            copied = value_end;
        }
        at += line.len();
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Whether a value is one redaction, perhaps in quotes.
fn is_redaction(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'']);
    value.starts_with(REDACTION_PREFIX) && mark_end(value, REDACTION_PREFIX.len()) == value.len()
}
