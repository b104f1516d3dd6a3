//! Removes what agents wrap around a tool's output and extracts the facts in it.

use std::borrow::Cow;

use serde::Deserialize;

/// An output without its wrapper.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unwrapped<'a> {
    pub body: Cow<'a, str>,
    pub exit_code: Option<i32>,
    /// The process continues.
    pub running: bool,
    /// The wrapper reports a failure.
    pub error: bool,
}

/// Maximum nesting of wrappers.
const MAX_LAYERS: usize = 6;

pub(super) fn unwrap(output: &str) -> Unwrapped<'_> {
    let mut facts = Unwrapped::default();
    if let Some(text) = json_envelope(output, &mut facts) {
        let inner = peel(&text, &mut facts).to_owned();
        facts.body = Cow::Owned(inner);
        return facts;
    }
    facts.body = Cow::Borrowed(peel(output, &mut facts));
    facts
}

fn peel<'a>(output: &'a str, facts: &mut Unwrapped<'_>) -> &'a str {
    let mut body = output.trim_matches(['\n', '\r']);
    for _ in 0..MAX_LAYERS {
        let Some(inner) = tags(body, facts).or_else(|| header(body, facts)).or_else(|| footer(body, facts)) else {
            break;
        };
        body = inner.trim_matches(['\n', '\r']);
    }
    body
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(alias = "stdout", alias = "result")]
    output: String,
    #[serde(default)]
    stderr: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default, alias = "exitCode", alias = "returncode")]
    exit_code: Option<i32>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default, alias = "exitCode")]
    exit_code: Option<i32>,
}

/// `{"output": "...", "metadata": {"exit_code": 1}}`
fn json_envelope(output: &str, facts: &mut Unwrapped<'_>) -> Option<String> {
    let text = output.trim();
    let head = crate::excerpt::floor(text, 64);
    if !text.starts_with('{') || !text.ends_with('}') || !(head.contains("\"output\"") || head.contains("\"stdout\"")) {
        return None;
    }
    let envelope: Envelope = serde_json::from_str(text).ok()?;
    facts.exit_code = envelope.metadata.exit_code.or(envelope.exit_code);
    let mut body = envelope.output;
    if !envelope.stderr.trim().is_empty() {
        if !body.is_empty() && !body.ends_with('\n') {
            body.push('\n');
        }
        body.push_str(&envelope.stderr);
    }
    Some(body)
}

/// `<output>...</output>` and its like.
fn tags<'a>(body: &'a str, facts: &mut Unwrapped<'_>) -> Option<&'a str> {
    if let Some(rest) = body.strip_prefix("<returncode>") {
        let (code, rest) = rest.split_once("</returncode>")?;
        facts.exit_code = facts.exit_code.or(code.trim().parse().ok());
        return Some(rest);
    }
    for tag in ["output", "untrusted_context", "tool_use_error", "stdout", "error", "result", "tool_result"] {
        let Some(rest) =
            body.strip_prefix('<').and_then(|rest| rest.strip_prefix(tag)).and_then(|rest| rest.strip_prefix('>'))
        else {
            continue;
        };
        facts.error |= matches!(tag, "tool_use_error" | "error");
        let close = format!("</{tag}>");
        let rest = rest.trim_end();
        return Some(rest.strip_suffix(close.as_str()).unwrap_or(rest));
    }
    None
}

/// Fact lines before the output.
fn header<'a>(body: &'a str, facts: &mut Unwrapped<'_>) -> Option<&'a str> {
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    let first = first.trim_end();
    if let Some(code) = first.strip_prefix("Exit code ").and_then(|code| code.parse().ok()) {
        facts.exit_code = facts.exit_code.or(Some(code));
        return Some(rest);
    }
    // A block of labels that ends with `Output:`.
    let mut rest = body;
    for known in 0..8 {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim_end();
        if let Some(same_line) = line.strip_prefix("Output:") {
            if known == 0 && same_line.is_empty() {
                return None;
            }
            if known == 0 && !body.contains("\nExit Code: ") && !body.contains("\nProcess Group PGID: ") {
                return None;
            }
            let start = rest.len() - after.len() - if same_line.is_empty() { 0 } else { same_line.len() + 1 };
            return Some(rest.get(start..).unwrap_or(after).trim_start_matches(' '));
        }
        if !label(line, facts) {
            return None;
        }
        if after.is_empty() {
            return (facts.exit_code.is_some() || facts.running).then_some("");
        }
        rest = after;
    }
    None
}

fn label(line: &str, facts: &mut Unwrapped<'_>) -> bool {
    let Some((name, value)) = line.split_once(": ").or_else(|| line.strip_suffix(':').map(|name| (name, ""))) else {
        if let Some(code) = line.strip_prefix("Process exited with code ") {
            facts.exit_code = facts.exit_code.or(code.trim().parse().ok());
            return true;
        }
        if line.starts_with("Process running with session ID ") {
            facts.running = true;
            return true;
        }
        return false;
    };
    match name {
        "Exit code" | "Exit Code" => {
            facts.exit_code = facts.exit_code.or(value.trim().parse().ok());
            true
        }
        "Chunk ID" | "Wall time" | "Original token count" | "Total output lines" | "Command" | "Directory" => true,
        _ => false,
    }
}

/// One fact line after the output.
fn footer<'a>(body: &'a str, facts: &mut Unwrapped<'_>) -> Option<&'a str> {
    let body = body.trim_end();
    let (before, last) = match body.rsplit_once('\n') {
        Some((before, last)) => (before, last.trim()),
        None => ("", body.trim()),
    };
    let code_after = |mark: &str| {
        let at = last.find(mark)? + mark.len();
        let digits: String = last[at..].chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
        digits.parse::<i32>().ok()
    };
    let bracketed = (last.starts_with('[') && last.ends_with(']')) || (last.starts_with('<') && last.ends_with('>'));
    if bracketed {
        if let Some(code) = code_after("exit code ").or_else(|| code_after("exit status ")) {
            facts.exit_code = facts.exit_code.or(Some(code));
            return Some(before);
        }
        let inside = last[1..last.len() - 1].to_ascii_lowercase();
        if ["current working directory:", "python interpreter:", "shellid:"].iter().any(|mark| inside.starts_with(mark))
        {
            facts.running |= inside.contains("still running");
            return Some(before);
        }
        return None;
    }
    for mark in [
        "Exit Code: ",
        "Exit code: ",
        "Command exited with code ",
        "Process exited with code ",
        "(exit code ",
        "exit status ",
    ] {
        if last.starts_with(mark)
            && let Some(code) = code_after(mark)
        {
            facts.exit_code = facts.exit_code.or(Some(code));
            return Some(before);
        }
    }
    ["Process Group PGID: ", "Background PIDs: ", "Signal: (none)", "Error: (none)", "Wall time: "]
        .iter()
        .any(|mark| last.starts_with(mark))
        .then_some(before)
}
