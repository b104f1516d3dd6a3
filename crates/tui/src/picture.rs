//! The loop picture as text: one column per call, new ground above, repeats as marks on lettered rows.

use belay_core::format;
use belay_core::session::CallMark;
use belay_ipc::views::{CallView, FlagKind, PictureView};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::app::App;
use crate::line::LineBuilder;
use crate::style::{Theme, Tone};
use crate::words;

/// Height of the line of new ground.
const GROUND_ROWS: usize = 4;
/// Most calls that a page carries.
const MAX_CALLS: usize = 120;
const MAX_FLAGS: usize = 8;

/// Columns of the labels.
fn label_columns(columns: usize) -> usize {
    (columns * 2 / 5).clamp(8, 46)
}

/// Number of calls that fit.
pub(crate) fn window(columns: usize) -> usize {
    columns.saturating_sub(label_columns(columns) + 2).clamp(10, MAX_CALLS)
}

/// Letters for the last calls: equal letters did the same and ended the same way; a dot was made once.
pub(crate) fn shape(calls: &[CallView], max: usize) -> String {
    let calls = &calls[calls.len().saturating_sub(max)..];
    let mut letters: Vec<&str> = Vec::new();
    let mut shape = String::new();
    for call in calls {
        let repeats = calls.iter().filter(|other| other.pair == call.pair).count() > 1;
        let known = letters.iter().position(|pair| *pair == call.pair);
        shape.push(match (repeats, known) {
            (false, _) => '·',
            (true, Some(at)) => row_letter(at),
            (true, None) => {
                letters.push(&call.pair);
                row_letter(letters.len() - 1)
            }
        });
    }
    shape
}

pub(crate) fn row_letter(row: usize) -> char {
    u8::try_from(row).ok().filter(|row| *row < 26).map_or('*', |row| char::from(b'A' + row))
}

/// The letter of a pair that belongs to the finding.
pub(crate) fn letter_of(picture: &PictureView, pair: &str) -> Option<(usize, char)> {
    let at = picture.rows.iter().filter(|row| row.in_finding).position(|row| row.pair == pair)?;
    Some((at, row_letter(at)))
}

fn mark(mark: CallMark) -> char {
    match mark {
        CallMark::Running => '□',
        CallMark::Ok => '■',
        CallMark::Failed => '×',
        CallMark::Written => '▲',
        CallMark::Reverted => '▼',
        CallMark::HeldBack => '▣',
    }
}

fn flag_sign(kind: FlagKind) -> (char, &'static str) {
    match kind {
        FlagKind::Notice => ('n', "notice"),
        FlagKind::Nudge => ('N', "nudge"),
        FlagKind::Pause => ('P', "pause"),
        FlagKind::Kill => ('K', "kill"),
        FlagKind::Resume => ('R', "resume"),
        FlagKind::Prompt => ('>', "prompt"),
        FlagKind::Compacted => ('c', "compacted"),
    }
}

/// Where calls are drawn.
struct Grid<'a> {
    theme: Theme,
    columns: usize,
    label: usize,
    /// Columns of a call.
    step: usize,
    calls: &'a [CallView],
}

impl Grid<'_> {
    /// A line with a label and one cell per call.
    fn line(&self, label: LineBuilder, cells: &[(char, Style)]) -> Line<'static> {
        let mut line = label.to(self.label).build();
        for (symbol, style) in cells {
            line.spans.push(Span::styled(format!("{symbol}{}", " ".repeat(self.step - 1)), *style));
        }
        line
    }

    fn label(&self, text: &str, style: Style) -> LineBuilder {
        LineBuilder::new(self.columns).put_within(text, self.label.saturating_sub(1), style)
    }

    /// A line with texts that begin at calls.
    fn texts(&self, label: LineBuilder, texts: impl Iterator<Item = (u64, String)>) -> Line<'static> {
        let mut line = label.to(self.label);
        for (call, text) in texts {
            let Some(at) = self.calls.iter().position(|other| other.call == call) else { continue };
            let column = self.label + at * self.step;
            if self.columns - line.left() <= column {
                line = line.to(column).put(text, self.theme.muted());
            }
        }
        line.build()
    }

    fn figures(&self, label: &str, values: impl Iterator<Item = u64> + Clone) -> Line<'static> {
        self.bars(label, &words::sparkline(values))
    }

    fn bars(&self, label: &str, bars: &str) -> Line<'static> {
        let cells: Vec<(char, Style)> = bars.chars().map(|bar| (bar, self.theme.plain())).collect();
        self.line(self.label(label, self.theme.muted()), &cells)
    }
}

pub(crate) fn lines(app: &App, columns: usize, picture: &PictureView) -> Vec<Line<'static>> {
    let theme = app.theme();
    let label = label_columns(columns);
    let room = columns.saturating_sub(label);
    let calls = &picture.calls[picture.calls.len().saturating_sub(room)..];
    let step = if calls.len() * 2 <= room { 2 } else { 1 };
    let grid = Grid { theme, columns, label, step, calls };
    let (Some(first), Some(last)) = (calls.first(), calls.last()) else { return Vec::new() };
    let range = format!("calls {} to {} of {}", first.call, last.call, format::grouped(picture.total));
    let head = LineBuilder::new(columns).put("Shape of the work", theme.strong()).right(range, theme.muted());
    let mut lines = vec![head.build(), strip(&grid, picture, room)];
    if !picture.rounds.is_empty() {
        let rounds = picture.rounds.iter().enumerate().map(|(at, round)| (round.first, (at + 1).to_string()));
        lines.push(grid.texts(grid.label("Rounds", theme.muted()), rounds));
    }
    if !picture.flags.is_empty() {
        lines.push(flags(&grid, picture));
    }
    lines.extend(new_ground(&grid, picture));
    lines.extend(rows(&grid, picture));
    let since = format!("Since progress {}", format::dollars_or_dash(last.since_progress_micros));
    lines.push(grid.figures(&since, calls.iter().map(|call| call.since_progress_micros)));
    let tokens = |call: &CallView| call.fresh_tokens.saturating_add(call.cached_tokens);
    lines.push(grid.figures(&format!("Burn {}", format::tokens(tokens(last))), calls.iter().map(tokens)));
    if let Some(context) = calls.iter().rev().find_map(|call| call.context_percent) {
        let values = calls.iter().map(|call| u64::from(call.context_percent.unwrap_or(0)));
        lines.push(grid.bars(&format!("Context {context} %"), &words::sparkline_of(100, values)));
    }
    let tens = calls.iter().filter(|call| call.call.is_multiple_of(10));
    lines.push(grid.texts(grid.label("Call", theme.muted()), tens.map(|call| (call.call, call.call.to_string()))));
    let legend = "■ ok  × failed  ▲ file written  ▼ file back to earlier content  ▣ held back  ● progress  ○ new";
    lines.push(LineBuilder::new(columns).raw(legend, theme.muted()).build());
    lines.extend(flag_texts(app, columns, picture));
    lines
}

/// The whole session in one line: part of a loop, new, or neither.
fn strip(grid: &Grid<'_>, picture: &PictureView, room: usize) -> Line<'static> {
    let merged = picture.strip.len().div_ceil(room.max(1)).max(1);
    let mut line = grid.label("Whole session", grid.theme.muted()).to(grid.label).build();
    for buckets in picture.strip.chunks(merged) {
        let (symbol, style) = match () {
            () if buckets.iter().any(|bucket| bucket.in_finding > 0) => ("█", grid.theme.loop_row(0)),
            () if buckets.iter().any(|bucket| bucket.new > 0) => ("▄", grid.theme.plain()),
            () => ("▁", grid.theme.muted()),
        };
        line.spans.push(Span::styled(symbol, style));
    }
    line
}

fn flags(grid: &Grid<'_>, picture: &PictureView) -> Line<'static> {
    let cells: Vec<(char, Style)> = grid
        .calls
        .iter()
        .map(|call| match picture.flags.iter().rev().find(|flag| flag.after == call.call) {
            Some(flag) if matches!(flag.kind, FlagKind::Pause | FlagKind::Kill) => {
                (flag_sign(flag.kind).0, grid.theme.tone(Tone::Bad))
            }
            Some(flag) => (flag_sign(flag.kind).0, grid.theme.plain()),
            None => (' ', grid.theme.plain()),
        })
        .collect();
    grid.line(grid.label("Flags", grid.theme.muted()), &cells)
}

/// A line that rises with every new pair of action and outcome, and is dotted from its last rise on.
fn new_ground(grid: &Grid<'_>, picture: &PictureView) -> Vec<Line<'static>> {
    let low = grid.calls.first().map_or(0, |call| call.distinct);
    let high = grid.calls.last().map_or(0, |call| call.distinct);
    let rise = (high - low.min(high)).max(1);
    let top = GROUND_ROWS as u64 - 1;
    let level = |call: &CallView| call.distinct.saturating_sub(low).saturating_mul(top) / rise;
    let last_new = grid.calls.iter().rev().find(|call| call.first).map_or(0, |call| call.call);
    let stuck = picture.calls_without_new;
    let line = |row: u64| {
        let cells: Vec<(char, Style)> = grid
            .calls
            .iter()
            .map(|call| match () {
                () if level(call) != row => (' ', grid.theme.plain()),
                () if call.first && call.progress => ('●', grid.theme.tone(Tone::Ok)),
                () if call.first => ('○', grid.theme.plain()),
                () if call.call > last_new => ('┈', grid.theme.muted()),
                () => ('─', grid.theme.muted()),
            })
            .collect();
        let label = match top - row {
            0 => grid.label("New ground", grid.theme.strong()),
            1 if stuck > 1 => grid.label(&format!("nothing new for {stuck} calls"), grid.theme.plain()),
            _ => grid.label("", grid.theme.plain()),
        };
        grid.line(label, &cells)
    };
    (0..=top).rev().map(line).collect()
}

/// One line per pair: those of the finding with letters, then others that repeat.
fn rows(grid: &Grid<'_>, picture: &PictureView) -> Vec<Line<'static>> {
    let line = |row: &belay_ipc::views::PictureRow| {
        let letter = letter_of(picture, &row.pair);
        let style = match letter {
            Some((at, _)) => grid.theme.loop_row(at),
            None => grid.theme.muted(),
        };
        let in_loop = |call: &CallView| picture.finding_from.is_none_or(|from| call.call >= from);
        let cells: Vec<(char, Style)> = grid
            .calls
            .iter()
            .map(|call| match call.pair == row.pair {
                true if row.in_finding && !in_loop(call) => (mark(call.mark), grid.theme.muted()),
                true => (mark(call.mark), style),
                false => (' ', grid.theme.plain()),
            })
            .collect();
        let count = format!("{}×", row.count);
        let sign = letter.map_or_else(|| "  ".to_owned(), |(_, letter)| format!("{letter} "));
        let label = LineBuilder::new(grid.columns).raw(&sign, style);
        let room = grid.label.saturating_sub(2 + count.chars().count() + 2);
        let text = grid.theme.plain();
        let label = label.put_within(&row.what, room, text);
        let left = (room + 2).saturating_sub(grid.columns - label.left() + 1);
        let label = if left >= 4 { label.space(1).put_within(&row.outcome, left, grid.theme.muted()) } else { label };
        let at = grid.label.saturating_sub(count.chars().count() + 1);
        grid.line(label.to(at).put(count, grid.theme.muted()), &cells)
    };
    picture.rows.iter().map(line).collect()
}

/// The newest flags in words.
fn flag_texts(app: &App, columns: usize, picture: &PictureView) -> Vec<Line<'static>> {
    let theme = app.theme();
    let flags = &picture.flags[picture.flags.len().saturating_sub(MAX_FLAGS)..];
    let line = |flag: &belay_ipc::views::PictureFlag| {
        let (sign, word) = flag_sign(flag.kind);
        LineBuilder::new(columns)
            .put(sign.to_string(), theme.strong())
            .space(1)
            .put(format!("{word} after call {}, {}", flag.after, app.clock(flag.at)), theme.plain())
            .raw("  ", theme.plain())
            .put(&flag.text, theme.muted())
            .build()
    };
    flags.iter().map(line).collect()
}
