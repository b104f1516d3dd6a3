//! The table of sessions that work or wait by themselves. Columns drop out as the terminal gets narrower.

use belay_core::format;
use belay_core::status::StatusValue;
use belay_ipc::views::SessionView;
use ratatui::text::Line;

use super::{NARROW, mark};
use crate::app::App;
use crate::line::{LineBuilder, clip};
use crate::style::Theme;
use crate::words;

const STATUS: usize = 22;
const GAP: usize = 2;
/// Minutes of the burn in the second line of a row.
const SHORT_BURN: usize = 12;

/// The columns at a width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    columns: usize,
    session: usize,
    now: usize,
    /// Minutes of the burn; 0 without it.
    burn: usize,
    calls: bool,
    rate: bool,
    budget: bool,
    bar: bool,
    context: bool,
}

impl Layout {
    pub(super) fn new(columns: usize) -> Self {
        let mut layout = Self {
            columns,
            session: 0,
            now: 0,
            burn: match columns {
                0..110 => 0,
                110..140 => 12,
                _ => 24,
            },
            calls: columns >= 92,
            rate: columns >= 100,
            budget: columns >= 76,
            bar: columns >= 150,
            context: columns >= 124,
        };
        let rest = columns.saturating_sub(1 + STATUS + layout.figures());
        layout.session = rest * 9 / 20;
        layout.now = rest.saturating_sub(layout.session + 2 * GAP);
        layout
    }

    /// Columns of everything right of what it does now.
    fn figures(self) -> usize {
        let burn = if self.burn > 0 { self.burn + GAP } else { 0 };
        let number = |shown: bool, columns: usize| if shown { columns } else { 0 };
        burn + number(self.calls, 7)
            + 9
            + number(self.rate, 9)
            + number(self.budget, 7)
            + number(self.bar, 12)
            + number(self.context, 9)
    }

    pub(super) fn titles(self, theme: Theme) -> Option<Line<'static>> {
        if self.columns < NARROW {
            return None;
        }
        let style = theme.muted();
        let mut line = LineBuilder::new(self.columns)
            .space(1)
            .cell("Status", STATUS, style)
            .cell("Session", self.session, style)
            .space(GAP)
            .cell("Now", self.now, style)
            .space(GAP);
        if self.burn > 0 {
            line = line.cell("Burn", self.burn + GAP, style);
        }
        for (shown, title, columns) in
            [(self.calls, "Calls", 7), (true, "Cost", 9), (self.rate, "per h", 9), (self.budget, "Budget", 7)]
        {
            line = if shown { line.number(title, columns, style) } else { line };
        }
        line = if self.bar { line.space(12) } else { line };
        line = if self.context { line.number("Context", 9, style) } else { line };
        Some(line.build())
    }

    pub(super) fn row(self, app: &App, session: &SessionView, selected: bool) -> Vec<Line<'static>> {
        let theme = app.theme();
        let state = words::session_state(session);
        let since = match session.status.until {
            Some(until) => format!("until {}", app.clock(until)),
            None => words::duration(app.now.saturating_since(session.status.since)),
        };
        let head = mark(self.columns, selected).raw(state.symbol, theme.tone(state.tone)).space(1);
        let head = head.put(state.word, theme.tone(state.tone)).space(1);
        let cost = words::total_cost(session);
        if self.columns < NARROW {
            let title = mark(self.columns, selected).space(2);
            let room = title.left().saturating_sub(11);
            let title = title.put_within(session.title(), room, theme.strong()).right(cost, theme.plain());
            let head = head.put_within(since, 14, theme.muted()).space(1).put(now(app, session).0, theme.plain());
            return vec![head.build(), title.build()];
        }
        let left = (1 + STATUS - 1).saturating_sub(self.columns.saturating_sub(head.left()));
        let mut line = head.put_within(since, left, theme.muted()).to(1 + STATUS);
        line = self.titled(line, session, theme).space(GAP);
        let (what, detail) = now(app, session);
        let end = 1 + STATUS + self.session + GAP + self.now;
        line = line.put_within(clip(&what, self.now), self.now, theme.plain());
        let room = end.saturating_sub(self.columns - line.left() + 2);
        if crate::line::width(&detail) <= room && !detail.is_empty() {
            line = line.space(2).put(&detail, theme.muted());
        }
        line = line.to(end + GAP);
        if self.burn > 0 {
            let burn = &session.burn[session.burn.len().saturating_sub(self.burn)..];
            let bars = words::sparkline(burn.iter().copied());
            line = line.cell(bars, self.burn + GAP, theme.muted());
        }
        let plain = theme.plain();
        line = if self.calls { line.number(format::compact(session.calls), 7, plain) } else { line };
        line = line.number(cost, 9, plain);
        line = if self.rate { line.number(format::dollars(session.cost_per_hour_micros), 9, plain) } else { line };
        let budget = session.budget_percent();
        if self.budget {
            let text = budget.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"));
            line = line.number(text, 7, budget.map_or(theme.muted(), |percent| theme.share(percent)));
        }
        if self.bar {
            let bar = budget.map(|percent| words::bar(percent, 10)).unwrap_or_default();
            line = line.space(2).cell(bar, 10, budget.map_or(plain, |percent| theme.share(percent)));
        }
        if self.context {
            let text = session.context_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"));
            line = line.number(text, 9, session.context_percent.map_or(theme.muted(), |percent| theme.share(percent)));
            return vec![line.build()];
        }
        vec![line.build(), self.more(session, theme, selected)]
    }

    /// Where it works, and the figures that have no column at this width.
    fn more(self, session: &SessionView, theme: Theme, selected: bool) -> Line<'static> {
        let mut figures = Vec::new();
        if self.burn == 0 && session.burn.iter().any(|tokens| *tokens > 0) {
            let burn = &session.burn[session.burn.len().saturating_sub(SHORT_BURN)..];
            figures.push((words::sparkline(burn.iter().copied()), theme.muted()));
        }
        if !self.rate && session.cost_per_hour_micros > 0 {
            figures.push((format!("{}/h", format::dollars(session.cost_per_hour_micros)), theme.muted()));
        }
        if let Some(percent) = session.context_percent {
            figures.push((format!("context {percent} %"), theme.share(percent)));
        }
        let columns: usize = figures.iter().map(|(text, _)| GAP + crate::line::width(text)).sum();
        let line = mark(self.columns, selected).to(1 + STATUS);
        let room = line.left().saturating_sub(columns);
        let mut line = line.put_within(words::place(session), room, theme.muted()).to(self.columns - columns);
        for (text, style) in figures {
            line = line.space(GAP).put(text, style);
        }
        line.build()
    }

    /// The title, and where it works if there is room.
    fn titled(self, line: LineBuilder, session: &SessionView, theme: Theme) -> LineBuilder {
        let end = self.columns - line.left() + self.session;
        let line = line.put_within(session.title(), self.session, theme.strong());
        let room = (line.left() + end).saturating_sub(self.columns + 2);
        let line = if room >= 8 { line.space(2).put_within(words::place(session), room, theme.muted()) } else { line };
        line.to(end)
    }
}

/// What the session does now, and since when.
fn now(app: &App, session: &SessionView) -> (String, String) {
    if session.status.value != StatusValue::Working {
        return (session.status.why.clone(), String::new());
    }
    match &session.newest_call {
        Some(call) => {
            let age = words::duration(app.now.saturating_since(call.at));
            let since = if call.running { format!("for {age}") } else { format!("{age} ago") };
            (call.what.clone(), since)
        }
        None => (session.status.why.clone(), String::new()),
    }
}
