//! `cargo xtask label`: shows whole sessions to a reader, records what they find, and measures the detectors on it.
//! `docs/dev/labels.md` has the definition.
//!
//! ```text
//! label show FILE [FIRST LAST]                      all turns of a session file, with the numbers of its calls
//! label add LABELS SESSION LABEL FIRST LAST NOTE    appends a span to a file of labels
//! label score LABELS DIR                            which circles and look-alikes the detectors notice and nudge
//! ```

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::score::{Alarms, Replay};
use crate::shell;

const USAGE: &str = "usage: cargo xtask label show FILE [FIRST LAST] | add LABELS SESSION LABEL FIRST LAST NOTE | score LABELS DIR; \
                     LABEL is circle, progress or ambiguous";

const HEADER: &str = "session\tlabel\tstart\tend\tnote";

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// One obstacle persists through changing errors.
    Circle,
    /// It looks alike and makes progress.
    Progress,
    /// Two careful readers would argue.
    Ambiguous,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Circle, Self::Progress, Self::Ambiguous];

    fn as_str(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Progress => "progress",
            Self::Ambiguous => "ambiguous",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A labelled span of calls.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    session: String,
    kind: Kind,
    first: u64,
    last: u64,
}

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["show", rest @ ..] if matches!(rest.len(), 1 | 3) => {
            let example = ["run", "--quiet", "--package", "belay-audit", "--example", "show_session", "--"];
            shell::run(&mut shell::cargo(&[&example[..], rest].concat()))
        }
        ["add", labels, row @ ..] => add(Path::new(labels), row).map(|()| true),
        ["score", labels, dir] => score(Path::new(labels), Path::new(dir)).map(|()| true),
        _ => Err(USAGE.to_owned()),
    }
}

/// Appends a row after a check, so that a mistake is found while the session is on the screen.
fn add(labels: &Path, row: &[&str]) -> Result<(), String> {
    let line = row.join("\t");
    if row.len() != 5 || row.iter().any(|field| field.contains(['\t', '\n'])) {
        return Err(USAGE.to_owned());
    }
    parse(&line)?;
    let fails = |error: std::io::Error| format!("cannot write {}: {error}", labels.display());
    let is_new = !labels.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(labels).map_err(fails)?;
    if is_new {
        writeln!(file, "{HEADER}").map_err(fails)?;
    }
    writeln!(file, "{line}").map_err(fails)
}

fn parse(line: &str) -> Result<Span, String> {
    let wrong = || format!("cannot read the label `{line}`: it needs SESSION, LABEL, FIRST and LAST; {USAGE}");
    let mut fields = line.split('\t');
    let mut next = || fields.next().ok_or_else(wrong);
    let session = next()?.to_owned();
    let kind = Kind::from_name(next()?).ok_or_else(wrong)?;
    let mut number = || next()?.parse::<u64>().map_err(|_| wrong());
    let (first, last) = (number()?, number()?);
    if first > last {
        return Err(wrong());
    }
    Ok(Span { session, kind, first, last })
}

fn read(labels: &Path) -> Result<Vec<Span>, String> {
    let text = fs::read_to_string(labels).map_err(|error| format!("cannot read {}: {error}", labels.display()))?;
    text.lines().filter(|line| !line.is_empty() && *line != HEADER).map(parse).collect()
}

/// How many spans of one kind are found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    spans: u32,
    /// By `circling`, as a notice or more.
    noticed_as_circling: u32,
    nudged_as_circling: u32,
    /// By any pattern.
    nudged: u32,
}

fn score(labels: &Path, dir: &Path) -> Result<(), String> {
    let spans = read(labels)?;
    let work = shell::root().join("target").join("score");
    fs::create_dir_all(&work).map_err(|error| format!("cannot create {}: {error}", work.display()))?;
    let alarms = Alarms::read(&Replay::new(&work)?.run(dir, "circles", "")?)?;
    println!("{:<12}{:>8}{:>20}{:>20}{:>16}", "label", "spans", "circling notices", "circling nudges", "any nudges");
    for (kind, found) in count(&spans, &alarms) {
        let Found { spans, noticed_as_circling, nudged_as_circling, nudged } = found;
        println!("{:<12}{spans:>8}{noticed_as_circling:>20}{nudged_as_circling:>20}{nudged:>16}", kind.as_str());
    }
    Ok(())
}

fn count(spans: &[Span], alarms: &Alarms) -> BTreeMap<Kind, Found> {
    let mut found: BTreeMap<Kind, Found> = BTreeMap::new();
    for span in spans {
        let file = span.session.rsplit('/').next().unwrap_or_default();
        // An alarm may come with the call after the span.
        let within = |call: u64| (span.first..=span.last + 1).contains(&call);
        let nudges = || alarms.by_file.get(file).into_iter().flatten().filter(|alarm| within(alarm.call));
        let notices = || alarms.notices.get(file).into_iter().flatten().filter(|notice| within(notice.call));
        let circles = nudges().any(|alarm| alarm.pattern == "circling");
        let row = found.entry(span.kind).or_default();
        row.spans += 1;
        row.nudged += u32::from(nudges().next().is_some());
        row.nudged_as_circling += u32::from(circles);
        row.noticed_as_circling += u32::from(circles || notices().any(|notice| notice.pattern == "circling"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_session_kind_and_calls() {
        let span = parse("codex/a.jsonl\tcircle\t3\t9\tquotes are stripped").expect("a label");
        assert_eq!(span, Span { session: "codex/a.jsonl".to_owned(), kind: Kind::Circle, first: 3, last: 9 });
        for wrong in ["a\tround\t1\t2\t", "a\tcircle\t2\t1\t", "a\tcircle\tx\t2\t", "a\tcircle"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_found_is_counted_by_kind() {
        let span = |kind, first, last| Span { session: "pi/a.jsonl".to_owned(), kind, first, last };
        let spans = [span(Kind::Circle, 3, 9), span(Kind::Circle, 30, 40), span(Kind::Progress, 20, 25)];
        let line = |kind: &str, call: u64, pattern: &str| {
            format!(r#"{{"type":"{kind}","file":"/x/a.jsonl","call":{call},"pattern":"{pattern}","action":"nudge"}}"#)
        };
        let lines = [line("notice", 10, "circling"), line("alarm", 22, "cycle"), line("notice", 50, "circling")];
        let found = count(&spans, &Alarms::parse(&lines.join("\n")));
        assert_eq!(found[&Kind::Circle], Found { spans: 2, noticed_as_circling: 1, ..Found::default() });
        assert_eq!(found[&Kind::Progress], Found { spans: 1, nudged: 1, ..Found::default() });
    }
}
