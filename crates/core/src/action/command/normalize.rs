//! Strips what does not change what a command does: wrapping shells, a leading `cd`, redirected output, output
//! filters.

use super::super::shell::{self, ShellOperator, SimpleCommand};
use super::effective_program::skip_options;
use super::is_shell;

/// Replaces `bash -lc "script"` by the script.
pub(super) fn unwrap_shells(commands: &mut Vec<SimpleCommand>, depth: u8) {
    if depth > 3 || commands.len() != 1 {
        return;
    }
    let words = &commands[0].words;
    let [shell, flags @ .., script] = words.as_slice() else { return };
    let runs_script = flags.iter().any(|flag| {
        let letters = flag.strip_prefix('-').unwrap_or_default();
        flag.eq_ignore_ascii_case("-command") || (letters.len() <= 4 && letters.ends_with('c'))
    });
    if is_shell(shell) && runs_script && flags.iter().all(|flag| flag.starts_with('-')) {
        *commands = shell::parse(script);
        unwrap_shells(commands, depth + 1);
    }
}

/// Strips leading `cd X &&` (also several, and `set -e;`) and returns the directory.
pub(super) fn strip_leading_cd(commands: &mut Vec<SimpleCommand>) -> Option<String> {
    let mut place: Option<String> = None;
    while commands.len() > 1 && matches!(commands[1].op, ShellOperator::And | ShellOperator::Then) {
        match commands[0].words.as_slice() {
            [cd, dir] if matches!(cd.as_str(), "cd" | "pushd") && commands[0].redirects.is_empty() => {
                place = Some(match place {
                    Some(before) if !dir.starts_with(['/', '~']) => format!("{before}/{dir}"),
                    _ => dir.clone(),
                });
            }
            [set, flags @ ..]
                if set == "set" && flags.iter().all(|flag| flag.starts_with('-') || flag == "pipefail") => {}
            _ => break,
        }
        commands.remove(0);
        commands[0].op = ShellOperator::Start;
    }
    place
}

/// Strips filters that limit the output and suffixes that print the exit code.
pub(super) fn strip_output_filters(commands: &mut Vec<SimpleCommand>) {
    loop {
        let Some(last) = commands.last() else { return };
        let first_word = last.words.first().map(String::as_str).unwrap_or_default();
        let plain_files = last.words.iter().skip(1).filter(|word| !word.starts_with('-') && !is_number(word)).count();
        let filter = last.op == ShellOperator::Pipe
            && matches!(first_word, "head" | "tail" | "less" | "more" | "cat" | "nl" | "tee")
            && (plain_files == 0
                || (first_word == "tee"
                    && last.words.iter().skip(1).all(|word| word.starts_with('-') || is_temp_path(word))));
        let shrug = last.op == ShellOperator::Or && matches!(first_word, "true" | ":" | "echo");
        let tells = matches!(last.op, ShellOperator::Then | ShellOperator::And)
            && first_word == "echo"
            && last.words.iter().any(|word| word.contains("$?"));
        if commands.len() > 1 && (filter || shrug || tells) {
            commands.pop();
        } else {
            return;
        }
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit() || b == b'+')
}

/// A path whose content does not persist.
pub(super) fn is_temp_path(path: &str) -> bool {
    path.starts_with("/dev/")
        || path.starts_with("/tmp/")
        || path.starts_with("/var/tmp/")
        || path.starts_with("$TMPDIR")
        || path.starts_with("/private/tmp/")
}

/// The commands as one text, without redirections to nowhere, descriptors, `time` and `timeout N`.
pub(super) fn to_canonical_string(commands: &[SimpleCommand]) -> String {
    let mut out = String::with_capacity(64);
    for command in commands {
        let op = match command.op {
            ShellOperator::Start => "",
            ShellOperator::And => " && ",
            ShellOperator::Or => " || ",
            ShellOperator::Then => " ; ",
            ShellOperator::Pipe => " | ",
            ShellOperator::Background => " & ",
        };
        if !out.is_empty() {
            out.push_str(op);
        }
        let words = match command.words.as_slice() {
            [time, rest @ ..] if time == "time" => rest,
            [timeout, rest @ ..] if matches!(timeout.as_str(), "timeout" | "gtimeout") => skip_options(rest),
            words => words,
        };
        for (i, word) in words.iter().enumerate() {
            if i > 0 {
                out.push(' ');
            }
            out.push_str(word);
        }
        for redirect in &command.redirects {
            let chatter = redirect.file.starts_with("/dev/")
                || (redirect.writes && is_temp_path(&redirect.file) && command.documents.is_empty());
            if !chatter {
                out.push_str(match (redirect.writes, redirect.append) {
                    (true, true) => " >> ",
                    (true, false) => " > ",
                    _ => " < ",
                });
                out.push_str(&redirect.file);
            }
        }
        for document in &command.documents {
            out.push_str(" << ");
            out.push_str(document);
        }
    }
    out.trim().to_owned()
}
