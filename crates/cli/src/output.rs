//! stdout is data, stderr is talk. Colour only where a terminal shows it, and never as the only sign.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

/// Where a command writes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet }
    }

    /// One JSON value on a line of its own.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, value)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Data for people.
    pub(crate) fn line(&self, text: impl AsRef<str>) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        writeln!(out, "{}", text.as_ref())?;
        out.flush()
    }

    /// Talk: what was done, what to do next. Not for programs.
    pub(crate) fn info(&self, text: impl AsRef<str>) {
        if !self.quiet && !self.json {
            // Nobody is hurt when talk is not heard.
            let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
        }
    }

    /// Something is not as it should be, and the command goes on.
    pub(crate) fn warn(&self, text: &str, hint: Option<&str>) {
        let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into())).bold();
        let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into())).bold();
        let mut err = anstream::stderr();
        let _ = writeln!(err, "{yellow}Warning:{yellow:#} {text}");
        if let Some(hint) = hint {
            let _ = writeln!(err, "{cyan}Hint:{cyan:#} {hint}");
        }
    }
}

/// Rows and columns for people. On a terminal the lines are cut to its width rather than wrapped.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| heading.to_uppercase()).collect()], right: Vec::new() }
    }

    /// Numbers stand to the right.
    pub(crate) fn right(mut self, columns: &[usize]) -> Self {
        self.right = columns.to_vec();
        self
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.rows[0].len(), "a cell for every column");
        self.rows.push(cells.iter().map(|cell| single_line(cell)).collect());
    }

    pub(crate) fn print(&self, out: &Output) -> io::Result<()> {
        let columns = self.rows[0].len();
        let widest = |column: usize| self.rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let screen = terminal_width();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let space = " ".repeat(widths[column] - width(cell));
                let (before, after) =
                    if self.right.contains(&column) { (space, String::new()) } else { (String::new(), space) };
                line.push_str(&format!("{before}{cell}{after}  "));
            }
            out.line(cut(line.trim_end(), screen))?;
        }
        Ok(())
    }
}

/// Columns a text takes; wide characters take two.
fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// Text from outside cannot draw on the terminal: no control characters, no line breaks.
pub(crate) fn single_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Columns of the terminal on stdout; `None` when it is none.
fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= 20)
}

/// A line that fits; what is left out is marked.
fn cut(line: &str, screen: Option<usize>) -> String {
    let Some(screen) = screen.filter(|screen| width(line) > *screen) else { return line.to_owned() };
    let mut kept = String::new();
    let mut used = 0;
    for c in line.chars() {
        used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used >= screen {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}
