//! Verdicts as text: a status line, then a list of issues.
//!
//! ```text
//! STATUS: ISSUES_FOUND
//! - [critical] src/charge.rs:88: two requests with one key can both charge
//!   Evidence: cargo test replay_twice fails
//! - I-3 [minor] the header name differs from the docs
//! ```

use super::{Place, RaisedIssue, Verdict, VerdictError, VerdictStatus};
use crate::severity::Severity;

/// The output without a byte order mark, surrounding blank lines, and a code fence around everything.
pub(super) fn unwrap(output: &str) -> &str {
    let mut body = output.trim_start_matches('\u{feff}').trim();
    // A fence that closes earlier surrounds a quotation, not the answer.
    if let Some(rest) = body.strip_prefix("```")
        && let Some((_language, fenced)) = rest.split_once('\n')
        && let Some(inner) = fenced.strip_suffix("```")
        && !inner.lines().any(|line| line.trim_start().starts_with("```"))
    {
        body = inner.trim();
    }
    body
}

pub(super) fn parse(body: &str) -> Result<Verdict, VerdictError> {
    let mut lines = body.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().ok_or(VerdictError::Empty)?;
    let status = status(first).ok_or_else(|| VerdictError::NoStatus(first.chars().take(80).collect()))?;
    // A second status that differs may be quoted from the work under review. Which one is meant is not for us to guess.
    if lines.clone().filter_map(self::status).any(|other| other != status) {
        return Err(VerdictError::TwoStatuses);
    }
    let mut issues = list(lines.clone());
    if status == VerdictStatus::IssuesFound && issues.is_empty() {
        let claim = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
        if claim.is_empty() {
            return Err(VerdictError::Schema("`ISSUES_FOUND` needs at least one issue".to_owned()));
        }
        issues.push(RaisedIssue { claim, ..RaisedIssue::default() });
    }
    Ok(Verdict { status, issues, unparsed: false })
}

/// The status that a line states, without emphasis around it.
fn status(line: &str) -> Option<VerdictStatus> {
    let line = line.trim().trim_matches(['*', '_', '`', '#', ' ']);
    let value = line.strip_prefix("STATUS:")?.trim().trim_matches(['*', '_', '`', ' ']);
    match value {
        "DONE" => Some(VerdictStatus::Done),
        "ISSUES_FOUND" => Some(VerdictStatus::IssuesFound),
        _ => {
            let action = value.strip_prefix("BLOCKED_ON_HUMAN:")?.trim();
            (!action.is_empty()).then(|| VerdictStatus::BlockedOnHuman { action: action.to_owned() })
        }
    }
}

/// The items of a list. Indented lines and plain text continue the item above them.
fn list<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<RaisedIssue> {
    let mut issues: Vec<RaisedIssue> = Vec::new();
    for line in lines {
        if let Some(text) = item(line) {
            issues.push(raised(text));
            continue;
        }
        let Some(issue) = issues.last_mut() else { continue };
        let text = line.trim();
        if let Some(evidence) = field(text, "evidence") {
            issue.evidence = Some(evidence);
        } else if let Some(reason) = field(text, "reason") {
            issue.reason = Some(reason);
        } else if line.starts_with([' ', '\t']) {
            issue.claim.push('\n');
            issue.claim.push_str(text);
        }
    }
    issues.retain(|issue| !issue.claim.is_empty());
    issues
}

/// The text of a list item of the first level.
fn item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let marker = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "));
        marker.filter(|_| rest.len() < line.len())
    };
    bullet.or_else(numbered).map(str::trim)
}

/// The value of `Name: value`.
fn field(line: &str, name: &str) -> Option<String> {
    let (found, value) = line.trim_start_matches(['-', '*', ' ']).split_once(':')?;
    let found = found.trim_matches(['*', '_', ' ']);
    (found.eq_ignore_ascii_case(name) && !value.trim().is_empty())
        .then(|| value.trim().trim_start_matches(['*', '_', ' ']).to_owned())
}

/// An issue from `I-3 [major] src/a.rs:12: claim`, in which everything but the claim is optional.
fn raised(text: &str) -> RaisedIssue {
    let mut issue = RaisedIssue::default();
    let mut rest = text.trim_start_matches(['*', '_', '`', ' ']);
    // Id and severity come in any order, with or without brackets and emphasis.
    while let Some((word, after)) = rest.split_once(|c: char| c.is_whitespace() || c == ':') {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_marked = bare.len() < word.len() || rest.as_bytes().get(word.len()) == Some(&b':');
        if issue.id.is_none() && is_issue_id(bare) {
            issue.id = Some(bare.to_ascii_uppercase());
        } else if let Some(severity) = Severity::from_word(bare).filter(|_| is_marked) {
            issue.severity = severity;
        } else {
            break;
        }
        rest = after.trim_start_matches(['*', '_', ' ', ':', '-']);
    }
    if let Some((place, after)) = place(rest) {
        issue.place = Some(place);
        rest = after;
    }
    rest.trim_end_matches(['*', '_', ' ']).clone_into(&mut issue.claim);
    issue
}

/// `I-12`, as the ledger writes ids.
fn is_issue_id(word: &str) -> bool {
    let digits = word.strip_prefix("I-").or_else(|| word.strip_prefix("i-"));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A path below the root, without `./`. Others name no place in the work tree.
pub(super) fn relative(path: &str) -> Option<&str> {
    let path = path.trim_start_matches("./");
    let leaves_root = path.starts_with('/') || path.split('/').any(|part| part == "..");
    (!path.is_empty() && !leaves_root && !path.contains("://")).then_some(path)
}

/// A path at the beginning of a text, followed by a separator: `src/a.rs:12: ...`, `` `src/a.rs` - ... ``.
fn place(text: &str) -> Option<(Place, &str)> {
    let text = text.trim_start_matches(['(', '[']);
    let quoted = text.strip_prefix('`').and_then(|rest| rest.split_once('`'));
    let (path, rest) = match quoted {
        Some((path, rest)) => (path, rest),
        None => text.split_once(char::is_whitespace)?,
    };
    let path = path.trim_end_matches([':', ',', ')', ']']);
    let mut parts = path.split(':');
    let file = relative(parts.next()?)?;
    let line = parts.next().map(|part| part.split('-').next().unwrap_or(part).trim_start_matches('L'));
    let line = match line {
        Some(number) => Some(number.parse().ok()?),
        None => None,
    };
    let looks_like_path = file.contains('/')
        || file.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty()
                && (1..=8).contains(&extension.len())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
    looks_like_path.then(|| {
        let rest = rest.trim_start_matches(['*', ' ', ':', '-', '\u{2013}', '\u{2014}', ')', ']']);
        (Place { file: file.to_owned(), line: line.filter(|line| *line > 0) }, rest)
    })
}
