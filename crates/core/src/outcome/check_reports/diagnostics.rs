//! Compilers, type checkers and linters: each diagnostic is a failing name, without its position.

use super::ReportBuilder;

/// One of these must occur. Linters that name neither are Python tools.
pub(super) const DIAGNOSTIC_LITERALS: &[&str] = &[
    "error",
    ".py:",
    "All checks passed!",
    "no issues found",
    "Found 0 errors",
    "0 errors",
    "Finished ",
    "10.00/10",
    "All done!",
    "All matched files",
    "Build succeeded",
    "BUILD SUCCESS",
    "0 issues.",
];

pub(super) fn read(text: &str) -> Option<ReportBuilder> {
    let mut report = ReportBuilder::default();
    let mut clean = false;
    let mut file = "";
    let mut pending: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(message) = pending {
            // rustc prints the position below the message. Other programs start lines with `error:` too;
            // without a position it is not a diagnostic.
            pending = None;
            if let Some(place) = trimmed.strip_prefix("--> ") {
                complain(&mut report, path_of(place), message);
            } else if message.starts_with("error[") {
                complain(&mut report, "", message);
            }
        }
        if CLEAN_MESSAGES.iter().any(|sign| trimmed.starts_with(sign)) {
            clean = true;
        } else if (line.starts_with("error[") || line.starts_with("error: ")) && !is_summary(line) {
            pending = Some(line);
        } else if let Some((place, message)) = placed(line) {
            complain(&mut report, place, message);
        } else if let Some(message) = stylish(trimmed) {
            complain(&mut report, file, message);
        } else if !line.starts_with(' ') && trimmed.contains(['/', '.']) && !trimmed.contains(' ') {
            // eslint groups its diagnostics by file.
            file = trimmed;
        }
    }
    (clean || !report.names.is_empty()).then_some(report)
}

/// Messages of checkers without findings.
const CLEAN_MESSAGES: &[&str] = &[
    "All checks passed!",
    "Success: no issues found",
    "Found 0 errors",
    "0 errors, 0 warnings",
    "Finished `",
    "Finished dev",
    "Finished release",
    "Your code has been rated at 10.00/10",
    "All done! \u{2728}",
    "All matched files use Prettier code style!",
    "Build succeeded.",
    "BUILD SUCCESSFUL",
    "BUILD SUCCESS",
    "[INFO] BUILD SUCCESS",
    "0 issues.",
];

fn complain(report: &mut ReportBuilder, place: &str, message: &str) {
    let name = format!("{place}: {message}");
    report.say(&name);
    report.fail(&super::strip_positions(&name));
}

/// rustc's summary repeats the diagnostics.
fn is_summary(line: &str) -> bool {
    ["aborting due to", "could not compile", "previous error", "build failed"].iter().any(|sign| line.contains(sign))
}

/// The file of `path/file.rs:12:3`.
fn path_of(place: &str) -> &str {
    place.split(':').next().unwrap_or(place)
}

/// `file:12:3: error: message`, `file(12,3): error TS1: message`, `file.py:12:3: F821 message`.
fn placed(line: &str) -> Option<(&str, &str)> {
    if line.starts_with([' ', '\t']) || line.len() > 1000 {
        return None;
    }
    // tsc without a terminal, msbuild: `a.ts(3,5): error TS2304: ...`
    if let Some((place, message)) = line.split_once("): error ") {
        return Some((place.rsplit_once('(').map_or(place, |(file, _)| file), message));
    }
    let (file, rest) = file_and_rest(line)?;
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':').trim_start();
    if after.len() == rest.len() {
        return None;
    }
    let message = ["error: ", "fatal error: ", "- error ", "error "].iter().find_map(|label| after.strip_prefix(label));
    if let Some(message) = message {
        return Some((file, message));
    }
    let code = after.split([' ', ':']).next().unwrap_or_default();
    is_lint_code(code).then_some((file, after))
}

fn file_and_rest(line: &str) -> Option<(&str, &str)> {
    // Skip the colon of a drive letter.
    let from = if line.as_bytes().get(1) == Some(&b':') { 2 } else { 0 };
    let at = from + line.get(from..)?.find(':')?;
    let (file, rest) = (&line[..at], &line[at + 1..]);
    let named = !file.is_empty() && !file.contains([' ', '"', '(']) && file.contains('.');
    (named && rest.starts_with(|c: char| c.is_ascii_digit())).then_some((file, rest))
}

/// `F821`, `E501`, `C0114`, `SIM102`.
fn is_lint_code(code: &str) -> bool {
    let letters = code.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = code.len() - letters;
    (1..=5).contains(&letters) && (2..=5).contains(&digits) && code[letters..].bytes().all(|b| b.is_ascii_digit())
}

/// eslint's `3:5  error  message  rule`.
fn stylish(line: &str) -> Option<&str> {
    let (place, rest) = line.split_once("  ")?;
    let (row, column) = place.split_once(':')?;
    let numbers = row.parse::<u32>().is_ok() && column.parse::<u32>().is_ok();
    numbers.then(|| rest.trim_start().strip_prefix("error ")).flatten().map(str::trim)
}
