//! Output of commands: data on stdout, messages on stderr. Everything that is printed passes through here and loses its
//! control characters: sessions contain text that an agent or a repository chose.
//!
//! Colour is used on terminals only, and never as the only signal.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::Sender;

use anstyle::{AnsiColor, Style};
pub(crate) use belay_core::printable::single_line;
use belay_core::printable::{escape_json, printable};
use serde::Serialize;

/// Writes data and messages in the selected format.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    quiet: bool,
    /// Takes messages instead of stderr, which would spoil a full-screen program.
    captured: Option<Sender<String>>,
}

impl Output {
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet, captured: None }
    }

    /// Sends messages to `captured` instead of printing them.
    pub(crate) fn capture(self, captured: Sender<String>) -> Self {
        Self { captured: Some(captured), ..self }
    }

    /// Whether a message was captured.
    fn is_captured(&self, text: &str) -> bool {
        // The receiver is gone only at the end of the program.
        self.captured.as_ref().is_some_and(|captured| {
            let _ = captured.send(text.to_owned());
            true
        })
    }

    /// Prints one JSON value on its own line.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let json = serde_json::to_string(value)?;
        writeln!(out, "{}", escape_json(&json))?;
        out.flush()
    }

    /// Prints a line of data.
    pub(crate) fn line(&self, text: impl AsRef<str>) -> io::Result<()> {
        self.styled_line(&[(Style::new(), text.as_ref())])
    }

    /// Prints a line of data in parts, each with its style. Styles inside the texts have no effect.
    pub(crate) fn styled_line(&self, parts: &[(Style, &str)]) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        for (style, text) in parts {
            write!(out, "{style}{}{style:#}", printable(text))?;
        }
        writeln!(out)?;
        out.flush()
    }

    /// Prints a file. A pipe or a file gets it exactly, so that `git apply` takes a diff; on a terminal it is text without
    /// control characters.
    #[expect(clippy::unused_self, reason = "all output passes through here")]
    pub(crate) fn document(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if out.is_terminal() {
            // Of CR LF, only the line break is kept.
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
            out.write_all(printable(&text).as_bytes())?;
        } else {
            out.write_all(bytes)?;
        }
        out.flush()
    }

    /// Prints a message to stderr, unless `--quiet` or `--json` is given.
    pub(crate) fn info(&self, text: impl AsRef<str>) {
        if !self.quiet && !self.json && !self.is_captured(text.as_ref()) {
            // A message that cannot be shown must not fail the command.
            let _ = writeln!(anstream::stderr(), "{}", printable(text.as_ref()));
        }
    }

    /// Prints a message to stderr in any case: the user would miss what happened without it.
    pub(crate) fn notice(&self, text: &str) {
        if self.is_captured(text) {
            return;
        }
        let _ = writeln!(anstream::stderr(), "{}", printable(text));
    }

    /// Prints a warning to stderr; the command continues.
    pub(crate) fn warn(&self, text: &str, hint: Option<&str>) {
        if self.is_captured(&hint.map_or_else(|| text.to_owned(), |hint| format!("{text}; {hint}"))) {
            return;
        }
        let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into())).bold();
        let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into())).bold();
        let mut err = anstream::stderr();
        let _ = writeln!(err, "{yellow}Warning:{yellow:#} {}", printable(text));
        if let Some(hint) = hint {
            let _ = writeln!(err, "{cyan}Hint:{cyan:#} {}", printable(hint));
        }
    }
}

/// A table with aligned columns. On a terminal, lines are truncated to its width.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    right_aligned: Vec<usize>,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| heading.to_uppercase()).collect()], right_aligned: Vec::new() }
    }

    pub(crate) fn right_align(mut self, columns: &[usize]) -> Self {
        self.right_aligned = columns.to_vec();
        self
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.rows[0].len(), "one cell per column");
        self.rows.push(cells.iter().map(|cell| single_line(cell).into_owned()).collect());
    }

    pub(crate) fn print(&self, out: &Output) -> io::Result<()> {
        let columns = self.rows[0].len();
        let widest = |column: usize| self.rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let max_width = terminal_width();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let space = " ".repeat(widths[column] - width(cell));
                let (before, after) =
                    if self.right_aligned.contains(&column) { (space, String::new()) } else { (String::new(), space) };
                line.push_str(&format!("{before}{cell}{after}  "));
            }
            out.line(truncate(line.trim_end(), max_width))?;
        }
        Ok(())
    }
}

/// Display width in columns; wide characters take two.
fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// Width of the terminal on stdout; `None` if stdout is not a terminal.
fn terminal_width() -> Option<usize> {
    Some(usize::from(terminal_size()?.0)).filter(|columns| *columns >= 20)
}

/// Columns and rows of the terminal on stdout; `None` if stdout is not a terminal.
pub(crate) fn terminal_size() -> Option<(u16, u16)> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    Some((size.ws_col, size.ws_row))
}

/// Shortens a line to `max_width` columns and marks the cut with an ellipsis.
fn truncate(line: &str, max_width: Option<usize>) -> String {
    let Some(max_width) = max_width.filter(|max| width(line) > *max) else { return line.to_owned() };
    let mut prefix = String::new();
    let mut used = 0;
    for c in line.chars() {
        used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used >= max_width {
            break;
        }
        prefix.push(c);
    }
    prefix.push('…');
    prefix
}
