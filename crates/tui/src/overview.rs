//! The overview: who needs a person, what the others do, and what today cost.

mod active;
mod review;
mod today;

use std::ops::Range;

use belay_core::exact::exact_line;
use belay_core::format;
use belay_ipc::views::{NeedKind, NeedRow, NeedView};
use ratatui::text::Line;

use crate::app::App;
use crate::line::{LineBuilder, wrap};
use crate::{picture, words};

/// Below this width, every part of a row gets a line of its own.
pub(crate) const NARROW: usize = 60;
/// From this width on, the shape of a loop stands next to its reason.
const WITH_SHAPE: usize = 140;
/// Columns of symbol, word and age.
const STATE_COLUMNS: usize = 29;

/// The lines of the overview.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) lines: Vec<Line<'static>>,
    /// The lines of the selected row.
    selected: Option<Range<usize>>,
}

impl Lines {
    /// The first line to show, so that the selection is in view and as little as possible moves.
    pub(crate) fn scroll_to_selection(&self, scroll: usize, rows: usize, first_selected: bool) -> usize {
        let last = self.lines.len().saturating_sub(rows);
        let Some(selected) = &self.selected else { return scroll.min(last) };
        // Nothing selectable is above the first row, so its heading stays in view.
        let start = if first_selected { 0 } else { selected.start };
        let scroll = scroll.max(selected.end.saturating_sub(rows)).min(start);
        // At the last row, what follows the list can be seen, too.
        scroll.min(last)
    }

    fn push(&mut self, line: Line<'static>) {
        self.lines.push(line);
    }

    /// Adds the lines of a session or a review task.
    fn row(&mut self, lines: Vec<Line<'static>>, is_selected: bool) {
        let start = self.lines.len();
        self.lines.extend(lines);
        if is_selected {
            self.selected = Some(start..self.lines.len());
        }
    }
}

pub(crate) fn lines(app: &App, columns: usize) -> Lines {
    let mut all = Lines::default();
    let theme = app.theme();
    let text = |text: &str| LineBuilder::new(columns).put(text, theme.plain()).build();
    let Some(view) = &app.overview else {
        all.push(match &app.stale {
            Some((_, problem)) => text(problem),
            None => text("Reading the store …"),
        });
        return all;
    };
    let (needs, active) = app.listed();
    let is_selected = |name: &str| app.selected.as_ref().is_some_and(|(selected, _)| selected == name);
    if view.need_count() == 0 && view.active.is_empty() {
        all.push(text("Nobody needs you, and nothing works."));
        let hint = match view.resting {
            0 => "Start an agent with `belay run claude`, or install hooks with `belay init`.".to_owned(),
            resting => format!("{} rest: `belay sessions` lists them.", format::pluralize(resting, "session")),
        };
        all.push(text(&hint));
    } else if needs.is_empty() && active.is_empty() {
        all.push(text("Nothing matches the filter. Esc clears it."));
    }
    if !needs.is_empty() {
        all.push(heading(app, columns, "Needs you", needs.len(), "longest wait first"));
        for row in needs {
            let selected = is_selected(&row.key());
            let lines = match row {
                NeedRow::Session(need) => need_lines(app, columns, need, selected),
                NeedRow::Review(task) => review::lines(app, columns, task, selected),
            };
            all.row(lines, selected);
        }
        all.push(Line::default());
    }
    if !active.is_empty() {
        all.push(heading(app, columns, "Working, or waiting by themselves", active.len(), "by start"));
        let layout = active::Layout::new(columns);
        if let Some(titles) = layout.titles(theme) {
            all.push(titles);
        }
        for session in active {
            let selected = is_selected(&session.session);
            all.row(layout.row(app, session, selected), selected);
        }
        all.push(Line::default());
    }
    all.lines.extend(today::lines(app, columns, &view.today));
    all
}

fn heading(app: &App, columns: usize, title: &str, count: usize, order: &str) -> Line<'static> {
    let theme = app.theme();
    LineBuilder::new(columns)
        .put(title, theme.strong())
        .space(2)
        .put(count.to_string(), theme.plain())
        .right(order, theme.muted())
        .build()
}

/// The mark in the first column.
fn mark(columns: usize, selected: bool) -> LineBuilder {
    LineBuilder::new(columns).raw(if selected { "▌" } else { " " }, ratatui::style::Style::new())
}

fn need_lines(app: &App, columns: usize, need: &NeedView, selected: bool) -> Vec<Line<'static>> {
    let theme = app.theme();
    let state = words::need_state(need.kind);
    let session = &need.session;
    // Acknowledged but held: still listed, and nothing new.
    let tone = if need.acknowledged { theme.muted() } else { theme.tone(state.tone) };
    let title = if need.acknowledged { theme.muted() } else { theme.strong() };
    let age = words::duration(app.now.saturating_since(need.since));
    let head = mark(columns, selected).raw(state.symbol, tone).space(1).cell(state.word, 14, tone);
    let place = words::place(session);
    let acknowledged = if need.acknowledged { "acknowledged" } else { "" };
    if columns < NARROW {
        let mut lines = vec![head.put(age, theme.muted()).build()];
        let line = || mark(columns, selected).space(2);
        lines.push(line().put(session.title(), title).build());
        lines.extend(
            wrap(&need.reason, columns.saturating_sub(3), 3).iter().map(|part| line().put(part, theme.plain()).build()),
        );
        return lines;
    }
    let room = columns.saturating_sub(STATE_COLUMNS + 2) * 3 / 5;
    let first = head
        .cell(age, 11, theme.muted())
        .to(STATE_COLUMNS)
        .put_within(session.title(), room, title)
        .space(2)
        .put(place, theme.muted())
        .right(acknowledged, theme.muted());
    let mut lines = vec![first.build()];
    let shape = picture::shape(&need.calls, 44);
    let with_shape = columns >= WITH_SHAPE && !shape.is_empty();
    let room = columns.saturating_sub(STATE_COLUMNS + if with_shape { 48 } else { 0 });
    let prompt = app.prompt_of(&session.session);
    let asked = prompt.map(|prompt| prompt.text.as_str()).or(need.subject.as_deref());
    let asked = asked.filter(|_| need.kind == NeedKind::Permission);
    // The command follows in full, so a reason that only repeats it is left out.
    let repeats = need.subject.as_deref().is_some_and(|subject| asked.is_some() && need.reason.ends_with(subject));
    let reason = if repeats { "" } else { &need.reason };
    for (at, part) in wrap(reason, room, 2).iter().enumerate() {
        let line = mark(columns, selected).to(STATE_COLUMNS).put(part, theme.plain());
        let line = if with_shape && at == 0 { line.right(&shape, theme.tone(state.tone)) } else { line };
        lines.push(line.build());
    }
    if let Some(subject) = asked {
        // The exact command decides, so it is shown in full as far as possible.
        for (at, part) in wrap(&exact_line(subject), columns.saturating_sub(STATE_COLUMNS + 2), 4).iter().enumerate() {
            let sign = if at == 0 { "$ " } else { "  " };
            let line = mark(columns, selected).to(STATE_COLUMNS).raw(sign, theme.muted());
            lines.push(line.put(part, theme.strong()).build());
        }
    }
    if let Some(prompt) = prompt {
        let left = words::duration(prompt.until.saturating_since(app.now));
        let offer = format!("y allows it once, n denies it; the offer ends in {left}");
        lines.push(mark(columns, selected).to(STATE_COLUMNS).put(offer, theme.muted()).build());
    }
    lines
}
