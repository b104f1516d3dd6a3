//! A review task that needs a person.

use belay_core::format;
use belay_ipc::views::ReviewSummaryView;
use ratatui::text::Line;

use super::{NARROW, STATE_COLUMNS, mark};
use crate::app::App;
use crate::line::wrap;
use crate::words;

pub(super) fn lines(app: &App, columns: usize, task: &ReviewSummaryView, selected: bool) -> Vec<Line<'static>> {
    let theme = app.theme();
    let state = words::review_state(task);
    let tone = theme.tone(state.tone);
    let age = words::duration(app.now.saturating_since(task.since));
    let head = mark(columns, selected).raw(state.symbol, tone).space(1).cell(state.word, 14, tone);
    if columns < NARROW {
        let line = || mark(columns, selected).space(2);
        let mut lines = vec![head.put(age, theme.muted()).build(), line().put(&task.title, theme.strong()).build()];
        let reason = wrap(&task.status, columns.saturating_sub(3), 3);
        lines.extend(reason.iter().map(|part| line().put(part, theme.plain()).build()));
        return lines;
    }
    let room = columns.saturating_sub(STATE_COLUMNS + 2) * 3 / 5;
    let first = head
        .cell(age, 11, theme.muted())
        .to(STATE_COLUMNS)
        .put_within(&task.title, room, theme.strong())
        .space(2)
        .put(words::review_place(task), theme.muted());
    let mut lines = vec![first.build()];
    let line = || mark(columns, selected).to(STATE_COLUMNS);
    for part in wrap(&task.status, columns.saturating_sub(STATE_COLUMNS), 2) {
        lines.push(line().put(part, theme.plain()).build());
    }
    let rounds = format!("round {} of {}", task.round, task.max_rounds);
    let issues = format::pluralize(task.open_issues.into(), "open issue");
    let command = line().put(format!("belay review show {}", task.id), theme.plain());
    let figures = format!("{rounds}, {issues}, {}", format::dollars(task.cost_micros));
    lines.push(command.right(figures, theme.muted()).build());
    lines
}
