//! What a round changed, line by line.

use maud::{Markup, html};

use super::{ReviewPage, RoundDiff, footer};
use crate::parts::element_id;
use crate::text::{exact, name};
use crate::words;

/// Lines that are shown.
const MAX_LINES: usize = 4_000;

/// What a line of a diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// About the file: its names, its mode.
    Header,
    Hunk,
    Added,
    Removed,
    Same,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::Header => "meta",
            Self::Hunk => "hunk",
            Self::Added => "add",
            Self::Removed => "del",
            Self::Same => "same",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    kind: Kind,
    /// Its number in the new file, or in the old one if it was removed.
    number: Option<u64>,
    text: &'a str,
}

/// The changes of one file.
#[derive(Debug, Default, PartialEq, Eq)]
struct File<'a> {
    path: &'a str,
    added: usize,
    removed: usize,
    lines: Vec<Line<'a>>,
}

/// The lines of a hunk that are still to come, and the next line's numbers.
#[derive(Clone, Copy, Debug)]
struct Hunk {
    old_left: u64,
    new_left: u64,
    old: u64,
    new: u64,
}

impl Hunk {
    /// Reads `@@ -88,7 +88,12 @@`.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("@@ ")?.split(' ');
        let mut range = |sign: char| {
            let (first, count) =
                words.next()?.strip_prefix(sign).map(|range| range.split_once(',').unwrap_or((range, "1")))?;
            Some((first.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
        };
        let ((old, old_left), (new, new_left)) = (range('-')?, range('+')?);
        Some(Self { old_left, new_left, old, new })
    }

    fn is_complete(&self) -> bool {
        self.old_left == 0 && self.new_left == 0
    }

    fn read<'a>(&mut self, text: &'a str) -> Line<'a> {
        let (kind, in_old, in_new) = match text.as_bytes().first() {
            Some(b'+') => (Kind::Added, 0, 1),
            Some(b'-') => (Kind::Removed, 1, 0),
            Some(b'\\') => return Line { kind: Kind::Header, number: None, text },
            _ => (Kind::Same, 1, 1),
        };
        let number = if kind == Kind::Removed { self.old } else { self.new };
        self.old_left = self.old_left.saturating_sub(in_old);
        self.new_left = self.new_left.saturating_sub(in_new);
        self.old = self.old.saturating_add(in_old);
        self.new = self.new.saturating_add(in_new);
        Line { kind, number: Some(number), text }
    }
}

/// Splits a diff into files. Text that is not a diff becomes a file without a name.
fn parse(diff: &str) -> Vec<File<'_>> {
    let mut files: Vec<File<'_>> = Vec::new();
    let mut hunk: Option<Hunk> = None;
    for text in diff.lines() {
        // Inside a hunk, `--- a` is a removed line.
        let inside = hunk.as_mut().filter(|hunk| !hunk.is_complete());
        let line = match inside {
            Some(hunk) => hunk.read(text),
            None => {
                let next = Hunk::parse(text);
                let kind = if next.is_some() { Kind::Hunk } else { Kind::Header };
                if next.is_some() || !text.starts_with('\\') {
                    hunk = next;
                }
                Line { kind, number: None, text }
            }
        };
        if files.is_empty() || (line.kind == Kind::Header && text.starts_with("diff --git ")) {
            files.push(File::default());
        }
        let Some(file) = files.last_mut() else { continue };
        match line.kind {
            Kind::Added => file.added += 1,
            Kind::Removed => file.removed += 1,
            Kind::Header => file.path = path(text).unwrap_or(file.path),
            Kind::Hunk | Kind::Same => {}
        }
        file.lines.push(line);
    }
    files
}

/// The path that a header names. A deleted file keeps its old one.
fn path(header: &str) -> Option<&str> {
    let plain = ["rename to ", "+++ b/", "--- a/"].into_iter().find_map(|prefix| header.strip_prefix(prefix));
    plain.or_else(|| header.strip_prefix("diff --git a/").and_then(|rest| rest.split_once(" b/")).map(|(_, path)| path))
}

pub(super) fn panel(page: &ReviewPage, diff: &RoundDiff) -> Markup {
    let files = parse(&diff.text);
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let mut left = MAX_LINES;
    let round = diff.round.to_string();
    html! {
        section.panel id="diff" aria-labelledby="diff-h" {
            header {
                h2 id="diff-h" { "Diff of round " (round) }
                small { "+" (added) " −" (removed) ", " (words::pluralize(files.len() as u64, "file")) }
                a.button.plain href=(page.url(None, page.issues, "rounds")) { "Close" }
            }
            @if files.is_empty() { div.body { p.muted { "This round changed nothing." } } }
            @for file in &files {
                @let shown = &file.lines[..file.lines.len().min(left)];
                @let () = left -= shown.len();
                @if !shown.is_empty() { (section(file, shown)) }
            }
            @if diff.truncated || left == 0 { footer.muted { "The diff is longer than this page shows. The command below prints all of it." } }
            (footer("diff", &page.view.summary.id, &round))
        }
    }
}

fn section(file: &File<'_>, lines: &[Line<'_>]) -> Markup {
    // The summary names the file already.
    let is_shown = |line: &&Line<'_>| line.kind != Kind::Header || path(line.text).is_none();
    html! {
        details.file id=(element_id("diff", file.path)) open {
            summary { code { (name(if file.path.is_empty() { "diff" } else { file.path })) } " " small { "+" (file.added) " −" (file.removed) } }
            pre.diff tabindex="0" role="group" aria-label={ "Changes of " (name(file.path)) } {
                @for line in lines.iter().filter(is_shown) {
                    span class=(line.kind.class()) { i { @if let Some(number) = line.number { (number) } } span { (exact(line.text)) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,3 +3,3 @@ fn f\n same\n--- a/trap\n+++ b/trap\n rest\ndiff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n";

    #[test]
    fn lines_inside_a_hunk_are_never_headers() {
        let files = parse(DIFF);
        let facts: Vec<_> = files.iter().map(|file| (file.path, file.added, file.removed)).collect();
        assert_eq!(facts, [("src/a.rs", 1, 1), ("old", 0, 1)]);
        let numbers: Vec<_> = files[0].lines.iter().filter_map(|line| line.number).collect();
        assert_eq!(numbers, [3, 4, 4, 5]);
    }

    #[test]
    fn any_text_is_shown_in_full() {
        assert_eq!(parse("").len(), 0);
        for text in
            ["no diff at all", "@@ -1,9 +1,9 @@", "@@ -18446744073709551615,2 +18446744073709551615,2 @@\n+a\n-b"]
        {
            let lines: Vec<&str> = parse(text).iter().flat_map(|file| &file.lines).map(|line| line.text).collect();
            assert_eq!(lines.join("\n"), text);
        }
    }
}
