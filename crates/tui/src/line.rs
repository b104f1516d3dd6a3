//! Lines of a known width, built from left to right. All external text passes through here.

use std::borrow::Cow;

use belay_core::printable::single_line;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text that cannot control the terminal or change its width: one line, single spaces, no variation selectors.
pub(crate) fn clean(text: &str) -> String {
    let line = single_line(text);
    let shown: Cow<'_, str> = match line.contains(is_variation_selector) {
        true => line.chars().filter(|c| !is_variation_selector(*c)).collect(),
        false => line,
    };
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The part of a text that can matter in this many columns: a frame must not take longer because a text is long.
fn bounded(text: &str, columns: usize) -> &str {
    // Controls and invisible characters may be dropped from it.
    let max_chars = columns.saturating_mul(4).saturating_add(64);
    text.char_indices().nth(max_chars).map_or(text, |(end, _)| &text[..end])
}

/// Terminals disagree about the width of a character that one of these follows.
fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// Display width in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `max` columns; an ellipsis marks a cut.
pub(crate) fn clip(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let Some(room) = max.checked_sub(1) else { return String::new() };
    let (mut clipped, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        clipped.push(c);
    }
    clipped.truncate(clipped.trim_end().len());
    clipped.push('…');
    clipped
}

/// The text in at most `max_lines` lines, broken at spaces where possible; the last line is clipped.
pub(crate) fn wrap(text: &str, max: usize, max_lines: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = clean(bounded(text, max.saturating_mul(max_lines)));
    while !rest.is_empty() && lines.len() + 1 < max_lines && width(&rest) > max {
        let end = break_at(&rest, max);
        let tail = rest[end..].trim_start().to_owned();
        rest.truncate(end);
        lines.push(rest.trim_end().to_owned());
        rest = tail;
    }
    if !rest.is_empty() {
        lines.push(clip(&rest, max));
    }
    lines
}

/// The byte index of the best break within `max` columns; at least one character.
fn break_at(text: &str, max: usize) -> usize {
    let (mut used, mut end, mut space) = (0, 0, None);
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > max && end > 0 {
            break;
        }
        if c == ' ' {
            space = Some(at);
        }
        end = at + c.len_utf8();
    }
    // The character after the limit may be the space.
    let ends_word = text[end..].starts_with(' ');
    if ends_word { end } else { space.filter(|at| *at > 0).unwrap_or(end) }
}

/// A line of at most `max` columns.
#[derive(Debug)]
pub(crate) struct LineBuilder {
    spans: Vec<Span<'static>>,
    used: usize,
    max: usize,
}

impl LineBuilder {
    pub(crate) fn new(max: usize) -> Self {
        Self { spans: Vec::new(), used: 0, max }
    }

    pub(crate) fn left(&self) -> usize {
        self.max.saturating_sub(self.used)
    }

    /// Appends text, clipped to what is left of the line.
    #[must_use]
    pub(crate) fn put(self, text: impl AsRef<str>, style: Style) -> Self {
        let left = self.left();
        self.put_within(text, left, style)
    }

    /// Appends text, clipped to `max` columns.
    #[must_use]
    pub(crate) fn put_within(mut self, text: impl AsRef<str>, max: usize, style: Style) -> Self {
        let max = max.min(self.left());
        let text = clip(&clean(bounded(text.as_ref(), max)), max);
        self.used += width(&text);
        if !text.is_empty() {
            self.spans.push(Span::styled(text, style));
        }
        self
    }

    /// Appends text of our own, whose spaces matter.
    #[must_use]
    pub(crate) fn raw(mut self, text: &str, style: Style) -> Self {
        let text = clip(text, self.left());
        self.used += width(&text);
        self.spans.push(Span::styled(text, style));
        self
    }

    #[must_use]
    pub(crate) fn space(self, columns: usize) -> Self {
        let columns = columns.min(self.left());
        self.raw(&" ".repeat(columns), Style::new())
    }

    /// Appends spaces up to a column.
    #[must_use]
    pub(crate) fn to(self, column: usize) -> Self {
        let columns = column.saturating_sub(self.used);
        self.space(columns)
    }

    /// Appends text in a column of its own, left-aligned.
    #[must_use]
    pub(crate) fn cell(self, text: impl AsRef<str>, columns: usize, style: Style) -> Self {
        let end = self.used + columns;
        self.put_within(text, columns, style).to(end)
    }

    /// Appends text in a column of its own, right-aligned.
    #[must_use]
    pub(crate) fn number(self, text: impl AsRef<str>, columns: usize, style: Style) -> Self {
        let text = clip(&clean(bounded(text.as_ref(), columns)), columns);
        let end = self.used + columns - width(&text);
        self.to(end).put(text, style)
    }

    /// Places text at the right end, if it fits behind the rest.
    #[must_use]
    pub(crate) fn right(self, text: impl AsRef<str>, style: Style) -> Self {
        let text = clean(text.as_ref());
        let needed = width(&text);
        match self.left() > needed + 1 {
            true => {
                let column = self.max - needed;
                self.to(column).put(text, style)
            }
            false => self,
        }
    }

    pub(crate) fn build(self) -> Line<'static> {
        Line::from(self.spans)
    }
}

/// Places blocks of lines next to each other, each `columns` wide with a gap.
pub(crate) fn side_by_side(blocks: Vec<Vec<Line<'static>>>, columns: usize, gap: usize) -> Vec<Line<'static>> {
    let height = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let mut joined = vec![Line::default(); height];
    let count = blocks.len();
    for (at, block) in blocks.into_iter().enumerate() {
        let mut block = block.into_iter();
        for line in &mut joined {
            let part = block.next().unwrap_or_default();
            let padding = (columns + gap).saturating_sub(part.width());
            line.spans.extend(part.spans);
            if at + 1 < count {
                line.spans.push(Span::raw(" ".repeat(padding)));
            }
        }
    }
    joined
}
