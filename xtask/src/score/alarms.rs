//! Reads what `belay audit --json` prints, without a JSON library: one object per line, written by us.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::corpus::file_name;

/// One nudge or pause, or one notice.
#[derive(Clone, Debug)]
pub(crate) struct Alarm {
    pub call: u64,
    pub pattern: String,
    pub pauses: bool,
    pub sentence: String,
}

/// The alarms and notices by file, and the files that were read.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    pub by_file: BTreeMap<String, Vec<Alarm>>,
    pub notices: BTreeMap<String, Vec<Alarm>>,
    pub read: BTreeSet<String>,
}

impl Alarms {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        Ok(Self::parse(&text))
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut alarms = Self::default();
        for line in text.lines() {
            let Some(file) = field(line, "file").map(|file| file_name(Path::new(&file))) else { continue };
            match field(line, "type").as_deref() {
                Some("session") => {
                    alarms.read.insert(file);
                    // A session that is split over several files names them all.
                    alarms.read.extend(list(line, "files").iter().map(|file| file_name(Path::new(file))));
                }
                Some("alarm") => alarms.by_file.entry(file).or_default().push(Alarm::from_line(line)),
                Some("notice") => alarms.notices.entry(file).or_default().push(Alarm::from_line(line)),
                _ => {}
            }
        }
        alarms
    }
}

impl Alarm {
    fn from_line(line: &str) -> Self {
        Self {
            call: number(line, "call").unwrap_or(0),
            pattern: field(line, "pattern").unwrap_or_default(),
            pauses: field(line, "action").as_deref() == Some("pause"),
            sentence: field(line, "sentence").unwrap_or_default(),
        }
    }
}

/// The value of a text field. Keys are written before any text that could contain them.
fn field(line: &str, name: &str) -> Option<String> {
    Some(string(after_key(line, name)?)?.0)
}

/// The values of a field that is a list of texts; empty if there is none.
fn list(line: &str, name: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = after_key(line, name).and_then(|rest| rest.strip_prefix('['));
    while let Some((value, after)) = rest.and_then(string) {
        values.push(value);
        rest = after.strip_prefix(',');
    }
    values
}

/// A JSON string at the beginning of a text, and what follows it.
fn string(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.strip_prefix('"')?.chars();
    loop {
        match chars.next()? {
            '"' => return Some((value, chars.as_str())),
            '\\' => match chars.next()? {
                'n' | 't' | 'r' => value.push(' '),
                other => value.push(other),
            },
            c => value.push(c),
        }
    }
}

fn number(line: &str, name: &str) -> Option<u64> {
    let rest = after_key(line, name)?;
    rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

fn after_key<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let key = format!("\"{name}\":");
    Some(&line[line.find(&key)? + key.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_any_order_of_types() {
        let line = r#"{"type":"alarm","session":"a.jsonl","file":"/x/a.jsonl","call":12,"pattern":"cycle","action":"pause","sentence":"It said \"no\".\nAgain."}"#;
        assert_eq!(field(line, "file").as_deref(), Some("/x/a.jsonl"));
        assert_eq!(number(line, "call"), Some(12));
        assert_eq!(field(line, "sentence").as_deref(), Some("It said \"no\". Again."));
        assert_eq!(field(line, "absent"), None);
    }

    #[test]
    fn every_file_of_a_session_is_named() {
        let line = r#"{"type":"session","file":"/x/a.jsonl","files":["/x/a.jsonl","/x/b \"2\".jsonl"],"project":"p"}"#;
        assert_eq!(list(line, "files"), ["/x/a.jsonl", "/x/b \"2\".jsonl"]);
        assert_eq!(list(r#"{"files":[]}"#, "files"), Vec::<String>::new());
        assert_eq!(list("{}", "files"), Vec::<String>::new());
    }
}
