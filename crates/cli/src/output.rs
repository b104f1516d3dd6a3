//! Output of commands: data on stdout, messages on stderr. Everything that is printed passes through here and loses its
//! control characters: sessions contain text that an agent or a repository chose.
//!
//! Colour is used on terminals only, and never as the only signal.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
pub(crate) use belay_core::printable::single_line;
use belay_core::printable::{escape_json, printable};
use serde::Serialize;

/// Writes data and messages in the selected format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet }
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

    /// Prints a message to stderr, unless `--quiet` or `--json` is given.
    pub(crate) fn info(&self, text: impl AsRef<str>) {
        if !self.quiet && !self.json {
            // A message that cannot be shown must not fail the command.
            let _ = writeln!(anstream::stderr(), "{}", printable(text.as_ref()));
        }
    }

    /// Prints a message to stderr in any case: the user would miss what happened without it.
    pub(crate) fn notice(&self, text: &str) {
        let _ = writeln!(anstream::stderr(), "{}", printable(text));
    }

    /// Prints a warning to stderr; the command continues.
    pub(crate) fn warn(&self, text: &str, hint: Option<&str>) {
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
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= 20)
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
