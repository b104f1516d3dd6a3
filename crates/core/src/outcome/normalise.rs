//! Normalises text: removes what varies from run to run.
//!
//! One pass over the bytes, line by line, without regular expressions. A line is first stripped of terminal
//! control sequences ([`ansi`]), then read word by word; times, durations, process ids, addresses, ids, ports
//! and names in temporary directories become placeholders.
//!
//! Guarantees: idempotent; non-ASCII text is unchanged except for spinner glyphs; file names stay; numbers of
//! an assertion stay, because `3 != 4` and `3 != 5` are different failures.

mod ansi;
mod candidates;
mod paths;
mod times;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;

use crate::literal_set::LiteralSet;

/// The text without volatile parts, trailing whitespace, and blank lines at both ends.
pub fn normalise(text: &str) -> String {
    mask(text).0
}

/// The normalised text, and whether anything volatile was replaced.
pub(super) fn mask(text: &str) -> (String, bool) {
    run(text, TextScope::Output)
}

/// An input without timestamps, random ids and random names in temporary directories. Numbers, ports and
/// durations are part of the request and stay.
pub(crate) fn strip_volatile(text: &str) -> Cow<'_, str> {
    // Everything volatile contains a digit or a temporary directory.
    if !text.bytes().any(|b| b.is_ascii_digit()) && !text.contains("tmp") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(run(text, TextScope::Input).0)
}

/// What counts as volatile depends on the kind of text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextScope {
    Output,
    Input,
}

/// Notes that a harness adds to tool results.
const HARNESS_NOTE_OPEN: &str = "<system-reminder>";
const HARNESS_NOTE_CLOSE: &str = "</system-reminder>";

/// Cached, because building it takes longer than searching a short text.
static NOTE_FINDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(HARNESS_NOTE_OPEN));

fn run(text: &str, scope: TextScope) -> (String, bool) {
    let mut lines = Lines { out: String::with_capacity(text.len()), blank: 0, begun: false, scope, replaced: false };
    let mut scratch = String::new();
    let notes = NOTE_FINDER.find(text.as_bytes()).is_some();
    let controlled = candidates::has_control(text);
    let mut in_note = false;
    let mut from = 0;
    for to in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        let raw = &text[from..to];
        from = to + 1;
        let mut line = raw;
        if controlled && candidates::has_control(line) {
            line = ansi::strip_ansi(raw, &mut scratch);
        }
        // Without control characters, no new tag can appear.
        if !notes && !controlled {
            lines.push(line);
            continue;
        }
        loop {
            if in_note {
                let Some(at) = memmem::find(line.as_bytes(), HARNESS_NOTE_CLOSE.as_bytes()) else { break };
                line = &line[at + HARNESS_NOTE_CLOSE.len()..];
                in_note = false;
            }
            // A note has lines of its own; a tag inside a line is ordinary text.
            match line.trim_start().strip_prefix(HARNESS_NOTE_OPEN) {
                Some(rest) => {
                    line = rest;
                    in_note = true;
                }
                None => {
                    lines.push(line);
                    break;
                }
            }
        }
    }
    (lines.out, lines.replaced)
}

struct Lines {
    out: String,
    /// Pending blank lines, dropped at the end of the text.
    blank: usize,
    begun: bool,
    scope: TextScope,
    /// Anything volatile was replaced.
    replaced: bool,
}

impl Lines {
    fn push(&mut self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() {
            self.blank += usize::from(self.begun);
            return;
        }
        if self.begun {
            for _ in 0..=self.blank {
                self.out.push('\n');
            }
        }
        self.begun = true;
        self.blank = 0;
        self.settle(line);
    }

    /// Repeats until nothing is replaced, because a placeholder can turn the text before it into a time, and
    /// normalisation must be idempotent. Most lines need one pass.
    fn settle(&mut self, line: &str) {
        const MAX_CUTS: usize = 32;
        let floor = self.out.len();
        let mut again = cut(line, self.scope, &mut self.out);
        self.replaced |= again;
        for _ in 1..MAX_CUTS {
            if !again {
                return;
            }
            let before = self.out.split_off(floor);
            again = cut(&before, self.scope, &mut self.out) && self.out[floor..] != before;
        }
    }
}

/// Byte classes as bits; the class of a word is the union over its bytes.
const DIGIT: u8 = 1;
const HEX_LOWER: u8 = 2;
const HEX_UPPER: u8 = 4;
const LETTER: u8 = 8;
const NON_ASCII: u8 = 16;

static BYTE_CLASSES: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = match b as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'f' => HEX_LOWER,
            b'A'..=b'F' => HEX_UPPER,
            b'g'..=b'z' | b'G'..=b'Z' | b'_' => LETTER,
            0x80..=0xff => NON_ASCII,
            _ => 0,
        };
        b += 1;
    }
    table
};

const WORD_CLASSES: u8 = DIGIT | HEX_LOWER | HEX_UPPER | LETTER | NON_ASCII;

fn is_word(b: u8) -> bool {
    BYTE_CLASSES[usize::from(b)] & WORD_CLASSES != 0
}

/// End of the run of word bytes at `at`, and the union of their classes.
fn word_end(bytes: &[u8], at: usize) -> (usize, u8) {
    let mut end = at;
    let mut mask = 0;
    while let Some(&b) = bytes.get(end) {
        let class = BYTE_CLASSES[usize::from(b)];
        if class & WORD_CLASSES == 0 {
            break;
        }
        mask |= class;
        end += 1;
    }
    (end, mask)
}

/// A line during normalisation.
struct Line<'a> {
    text: &'a str,
    bytes: &'a [u8],
    scope: TextScope,
    /// Whether it is an assertion; computed lazily.
    assertion: Option<bool>,
}

/// A replacement: where it ends, and its placeholder.
struct Replacement {
    end: usize,
    mark: &'static str,
}

/// Writes the normalised line; returns whether anything was replaced.
fn cut(text: &str, scope: TextScope, out: &mut String) -> bool {
    let mut line = Line { text, bytes: text.as_bytes(), scope, assertion: None };
    let bytes = line.bytes;
    let floor = out.len();
    // Start of the pending verbatim copy.
    let mut copied = 0;
    let mut at = 0;
    while let Some(sign) = candidates::byte_flags(bytes, at) {
        if bytes[sign] == b'/' {
            at = match paths::temp_path(bytes, sign) {
                Some(end) if paths::is_normalized(&text[sign..end]) => end,
                Some(_) => {
                    // Whether a line is an assertion must not depend on random names: normalise the paths,
                    // then start over.
                    out.truncate(floor);
                    cut(&paths::normalize_path(text), scope, out);
                    return true;
                }
                None => sign + 1,
            };
            continue;
        }
        at = candidates::next_candidate(bytes, at, sign);
        while at <= sign {
            let class = BYTE_CLASSES[usize::from(bytes[at])];
            if class & WORD_CLASSES == 0 {
                at += 1;
                continue;
            }
            let (end, mask) = word_end(bytes, at);
            if mask & NON_ASCII != 0 && class != DIGIT {
                if let Some(spun) = ansi::normalize_spinner(&text[at..end]) {
                    out.push_str(&text[copied..at]);
                    out.push_str(&spun);
                    copied = end;
                }
                at = end;
                continue;
            }
            match line.find(&Word { at, end, mask }) {
                Some((from, found)) => {
                    out.push_str(&text[copied..from]);
                    mark(out, floor, found.mark);
                    copied = found.end;
                    at = found.end;
                }
                None => at = end,
            }
        }
    }
    out.push_str(&text[copied..]);
    copied > 0
}

/// Writes a placeholder and drops padding that depends on the original width.
fn mark(out: &mut String, floor: usize, mark: &str) {
    while out.len() > floor + 1 && out.ends_with("  ") {
        out.pop();
    }
    out.push_str(mark);
}

struct Word {
    at: usize,
    end: usize,
    mask: u8,
}

impl Line<'_> {
    /// A volatile part that starts at this word or is announced by it. The first value is the position of the
    /// placeholder.
    fn find(&mut self, word: &Word) -> Option<(usize, Replacement)> {
        let &Word { at, end, mask } = word;
        let first = self.bytes[at];
        if first.is_ascii_digit() {
            let found = self.number(word)?;
            return Some((at, found));
        }
        if mask & (LETTER | NON_ASCII) == 0 && end - at >= 7 {
            return self.hex(word).map(|found| (at, found));
        }
        if mask & DIGIT == 0 {
            return self.announced(word);
        }
        None
    }

    fn number(&mut self, word: &Word) -> Option<Replacement> {
        let &Word { at, end, mask } = word;
        let bytes = self.bytes;
        let before = at.checked_sub(1).map_or(b' ', |i| bytes[i]);
        if mask & (LETTER | NON_ASCII) == 0
            && let Some(found) = self.hex(word)
        {
            return Some(found);
        }
        // `0x7f3a...`: the address of some object.
        if bytes[at..end].starts_with(b"0x") && end - at >= 8 && bytes[at + 2..end].iter().all(u8::is_ascii_hexdigit) {
            return Some(Replacement { end, mark: "<hex>" });
        }
        if before == b'.' || before == b'$' {
            return None;
        }
        if !times::is_boundary(bytes, at) {
            return self.process_id(word);
        }
        if before != b':'
            && let Some(end) = times::timestamp(bytes, at)
            && !self.asserts()
        {
            return Some(Replacement { end, mark: "<time>" });
        }
        if self.scope == TextScope::Input {
            return None;
        }
        if let Some(end) = times::duration(self.text, at)
            && !self.asserts()
        {
            return Some(Replacement { end, mark: "<dur>" });
        }
        if let Some(end) = times::rate(self.text, at)
            && !self.asserts()
        {
            return Some(Replacement { end, mark: "<rate>" });
        }
        self.process_id(word)
    }

    fn process_id(&self, word: &Word) -> Option<Replacement> {
        let &Word { at, end, mask } = word;
        let found = self.scope == TextScope::Output && mask == DIGIT && self.is_process_id(at, end);
        found.then_some(Replacement { end, mark: "<pid>" })
    }

    /// Random ids, hashes and commit ids.
    fn hex(&mut self, word: &Word) -> Option<Replacement> {
        let &Word { at, end, mask } = word;
        if end - at == 8
            && let Some(end) = paths::uuid(self.bytes, at)
        {
            return Some(Replacement { end, mark: "<uuid>" });
        }
        let mixed_case = mask & HEX_LOWER != 0 && mask & HEX_UPPER != 0;
        let hash = self.scope == TextScope::Output
            && end - at >= 7
            && mask & DIGIT != 0
            && mask & (HEX_LOWER | HEX_UPPER) != 0
            && !mixed_case;
        (hash && !self.asserts()).then_some(Replacement { end, mark: "<hex>" })
    }

    /// `==123==` of sanitizers, `name[123]:` of logs.
    fn is_process_id(&self, at: usize, end: usize) -> bool {
        let before = &self.bytes[..at];
        let after = &self.bytes[end..];
        (before == b"==" && after.starts_with(b"=="))
            || (end - at >= 3
                && after.starts_with(b"]:")
                && before.strip_suffix(b"[").is_some_and(|name| name.last().is_some_and(|b| is_word(*b))))
    }

    /// Numbers that the preceding word marks as volatile.
    fn announced(&mut self, word: &Word) -> Option<(usize, Replacement)> {
        let &Word { at, end, .. } = word;
        let bytes = self.bytes;
        if let Some(end) = times::calendar(bytes, at) {
            return (!self.asserts()).then_some((at, Replacement { end, mark: "<time>" }));
        }
        if self.scope == TextScope::Input {
            return None;
        }
        let mark = match &bytes[at..end] {
            b"pid" | b"PID" | b"Pid" | b"pgid" | b"PGID" | b"ppid" | b"PPID" | b"tid" | b"TID" | b"shellId" => "<pid>",
            b"port" | b"Port" | b"PORT" => "<port>",
            b"localhost" => "<port>",
            b"ID" | b"id" if follows(bytes, at, &[b"Chunk ", b"session ", b"Session "]) => "<id>",
            _ => return None,
        };
        let gap = bytes[end..].iter().take(3).take_while(|b| matches!(b, b' ' | b':' | b'=' | b'#' | b'(')).count();
        if gap == 0 || (mark == "<port>" && &bytes[at..end] == b"localhost" && bytes[end] != b':') {
            return None;
        }
        let from = end + gap;
        let (to, mask) = word_end(bytes, from);
        let fits = match mark {
            "<id>" => mask & DIGIT != 0 && mask & NON_ASCII == 0,
            "<port>" => mask == DIGIT && (2..=5).contains(&(to - from)),
            _ => mask == DIGIT,
        };
        (fits && !self.asserts()).then_some((from, Replacement { end: to, mark }))
    }

    /// Whether the line compares two values, so that its numbers matter.
    fn asserts(&mut self) -> bool {
        if self.scope == TextScope::Input {
            return false;
        }
        let text = self.text;
        *self.assertion.get_or_insert_with(|| ASSERTION_WORDS.is_match(text))
    }
}

/// Words of a line that compares two values.
static ASSERTION_WORDS: LazyLock<LiteralSet> = LazyLock::new(|| {
    LiteralSet::case_sensitive([
        "assert",
        "Assert",
        "expected",
        "Expected",
        "Received:",
        " != ",
        " == ",
        "actual:",
        "left:",
        "right:",
    ])
});

fn follows(bytes: &[u8], at: usize, words: &[&[u8]]) -> bool {
    words.iter().any(|word| bytes[..at].ends_with(word))
}
