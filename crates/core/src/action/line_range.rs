//! Which lines of a file a read shows: by the fields of a tool, or by a command such as `sed -n '10,20p'`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::classify::PATH_FIELDS;
use super::command::base_name;
use super::input::{ToolInput, canonical};
use super::shell::{ShellOperator, SimpleCommand};

/// Consecutive lines of a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineRange {
    pub first: u32,
    /// `u32::MAX` for the end of the file.
    pub last: u32,
}

/// Fields with the first line, fields with the last line, and fields with the number of lines.
const FIRST_LINE_FIELDS: &[&str] = &["offset", "start_line", "startLine", "line_start", "from_line"];
const LAST_LINE_FIELDS: &[&str] = &["end_line", "endLine", "line_end", "to_line"];
const LINE_COUNT_FIELDS: &[&str] = &["limit", "line_count"];
/// A list of the first and the last line; -1 is the end of the file.
const RANGE_FIELD: &str = "view_range";

/// Fields of a read besides its path that only say which lines, or nothing.
const OTHER_FIELDS: &[&str] = &[RANGE_FIELD, "command", "should_read_entire_file"];

impl LineRange {
    pub const WHOLE_FILE: Self = Self { first: 1, last: u32::MAX };

    fn new(first: u32, last: u32) -> Option<Self> {
        // Some tools count from 0.
        let first = first.max(1);
        (first <= last).then_some(Self { first, last })
    }

    /// Whether it has every line of the other range.
    pub fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// The lines that a tool for reading files shows. `None` if its input says anything else than a path and lines.
    pub(super) fn of_fields(input: &ToolInput<'_>) -> Option<Self> {
        let map = input.fields()?;
        let known: Vec<&str> =
            [PATH_FIELDS, FIRST_LINE_FIELDS, LAST_LINE_FIELDS, LINE_COUNT_FIELDS, OTHER_FIELDS].concat();
        if canonical(input, &known) != "{}" || map.get("command").is_some_and(|command| command != "view") {
            return None;
        }
        let number = |names: &[&str]| names.iter().find_map(|name| line_number(map.get(*name)?));
        if let Some(Value::Array(range)) = map.get(RANGE_FIELD) {
            let [first, last] = range.as_slice() else { return None };
            let last = if last.as_i64() == Some(-1) { Some(u32::MAX) } else { line_number(last) };
            return Self::new(line_number(first)?, last?);
        }
        let first = number(FIRST_LINE_FIELDS).unwrap_or(1).max(1);
        let last = number(LAST_LINE_FIELDS).or_else(|| Some(first.saturating_add(number(LINE_COUNT_FIELDS)?) - 1));
        Self::new(first, last.unwrap_or(u32::MAX))
    }

    /// The lines of one file that a script prints, if it does nothing else.
    pub(super) fn of_script(commands: &[SimpleCommand]) -> Option<Self> {
        let plain = |command: &SimpleCommand| command.redirects.is_empty() && command.documents.is_empty();
        match commands {
            [print] if plain(print) => of_command(&print.words, 1),
            // `nl -ba FILE | sed -n '1,20p'`
            [print, filter] if filter.op == ShellOperator::Pipe && plain(print) && plain(filter) => {
                of_command(&print.words, 1).filter(|range| *range == Self::WHOLE_FILE)?;
                of_command(&filter.words, 0)
            }
            _ => None,
        }
    }
}

/// The lines that one program prints of so many files.
fn of_command(words: &[String], files: usize) -> Option<LineRange> {
    let (program, args) = words.split_first()?;
    match (base_name(program), args) {
        ("cat" | "nl", args) => {
            let (flags, paths): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.starts_with('-'));
            let formats = flags.iter().all(|flag| matches!(flag.as_str(), "-n" | "-A" | "-b" | "-ba" | "-e" | "-v"));
            (files == 1 && formats && paths.len() == 1).then_some(LineRange::WHOLE_FILE)
        }
        ("sed", [flag, script, paths @ ..]) if flag == "-n" && paths.len() == files => {
            let lines = script.strip_suffix('p')?;
            let (first, last) = lines.split_once(',').unwrap_or((lines, lines));
            let last = if last == "$" { u32::MAX } else { last.parse().ok()? };
            LineRange::new(first.parse().ok()?, last)
        }
        ("head", args) => LineRange::new(1, head_lines(args, files)?),
        // The last lines of a file are not known by number.
        ("tail", [flag, from, paths @ ..]) if flag == "-n" && paths.len() == files => {
            LineRange::new(from.strip_prefix('+')?.parse().ok()?, u32::MAX)
        }
        _ => None,
    }
}

/// The number of lines that `head` prints: `-n 20`, `-n20`, `-20` or 10.
fn head_lines(args: &[String], files: usize) -> Option<u32> {
    let (count, paths) = match args {
        [flag, count, paths @ ..] if flag == "-n" => (count.as_str(), paths),
        [flag, paths @ ..] if flag.starts_with('-') => (flag.trim_start_matches("-n").trim_start_matches('-'), paths),
        paths => ("10", paths),
    };
    (paths.len() == files).then(|| count.parse().ok())?
}

/// A line number, which some tools take as text.
fn line_number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => u32::try_from(number.as_u64()?).ok(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Action, ToolKind};

    fn lines(kind: ToolKind, name: &str, input: serde_json::Value) -> Option<(u32, u32)> {
        Action::from_tool_call(kind, name, &input).0.lines.map(|range| (range.first, range.last))
    }

    #[test]
    fn tools_name_lines_in_several_ways() {
        let read = |input| lines(ToolKind::Read, "read_file", input);
        const END: u32 = u32::MAX;
        assert_eq!(read(json!({"file_path": "a.rs"})), Some((1, END)));
        assert_eq!(read(json!({"file_path": "a.rs", "offset": 0, "limit": 50})), Some((1, 50)));
        assert_eq!(read(json!({"file_path": "a.rs", "offset": 40, "limit": 20})), Some((40, 59)));
        assert_eq!(read(json!({"path": "a.rs", "start_line": "3", "end_line": "9"})), Some((3, 9)));
        assert_eq!(read(json!({"command": "view", "path": "a.rs", "view_range": [5, -1]})), Some((5, END)));
        assert_eq!(read(json!({"file_path": "a.pdf", "pages": "1-5"})), None, "pages are no lines");
        assert_eq!(read(json!({"file_path": "a.rs", "offset": 9, "end_line": 3})), None);
    }

    #[test]
    fn commands_print_lines_of_one_file() {
        let shell = |command| lines(ToolKind::Shell, "Bash", json!({ "command": command }));
        const END: u32 = u32::MAX;
        let table = [
            ("cat src/a.rs", Some((1, END))),
            ("cd /w && head -n 20 a.rs", Some((1, 20))),
            ("head -5 a.rs", Some((1, 5))),
            ("head a.rs", Some((1, 10))),
            ("tail -n +30 a.rs", Some((30, END))),
            ("tail -n 30 a.rs", None),
            ("sed -n '10,20p' a.rs", Some((10, 20))),
            ("sed -n '10,$p' a.rs", Some((10, END))),
            ("sed -n '7p' a.rs", Some((7, 7))),
            ("nl -ba a.rs | sed -n '10,20p'", Some((10, 20))),
            ("cat a.rs | head -40", Some((1, 40))),
            ("cat a.rs b.rs", None),
            ("cat a.rs | grep fn", None),
            ("sed -n '/fn/p' a.rs", None),
            ("sed -i '1,2d' a.rs", None),
            ("head -5 a.rs > b.rs", None),
            ("cat a.rs; cat b.rs", None),
        ];
        for (command, expected) in table {
            assert_eq!(shell(command), expected, "{command}");
        }
    }
}
