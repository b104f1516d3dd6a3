//! What today cost, what holds avoided, and the quotas of accounts.

use belay_core::format;
use belay_ipc::views::TodayView;
use ratatui::text::Line;

use crate::app::App;
use crate::line::{LineBuilder, side_by_side};
use crate::words;

/// From this width on, the three blocks stand next to each other.
const SIDE_BY_SIDE: usize = 110;
const GAP: usize = 4;
const MAX_ROWS: usize = 5;

pub(super) fn lines(app: &App, columns: usize, today: &TodayView) -> Vec<Line<'static>> {
    let mut width = columns;
    let wide = columns >= SIDE_BY_SIDE;
    if wide {
        width = (columns - 2 * GAP) / 3;
    }
    let blocks = [spent(app, width, today), avoided(app, width, today), quotas(app, width, today)];
    let blocks: Vec<_> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    if wide {
        return side_by_side(blocks, width, GAP);
    }
    blocks.join(&Line::default())
}

fn spent(app: &App, columns: usize, today: &TodayView) -> Vec<Line<'static>> {
    let theme = app.theme();
    let total = format::cost(today.spent.cost_micros, today.spent.unpriced_micros);
    let hours = words::sparkline(today.by_hour.iter().copied());
    let head = LineBuilder::new(columns).put("Spent today", theme.strong()).space(2).put(total, theme.plain());
    let head = if today.by_hour.iter().any(|cost| *cost > 0) { head.right(hours, theme.muted()) } else { head };
    let mut lines = vec![head.build()];
    for row in today.by_agent.iter().take(MAX_ROWS) {
        let line = LineBuilder::new(columns).space(1);
        let room = line.left().saturating_sub(22);
        lines.push(
            line.cell(words::display_name(&row.name), room.min(30), theme.plain())
                .number(format::cost(row.cost_micros, row.unpriced_micros), 10, theme.plain())
                .number(format::compact(row.tokens), 8, theme.muted())
                .build(),
        );
    }
    lines
}

fn avoided(app: &App, columns: usize, today: &TodayView) -> Vec<Line<'static>> {
    let theme = app.theme();
    if today.avoided.loops.is_empty() {
        return Vec::new();
    }
    let sum = format!("about {}", format::dollars(today.avoided.cost_micros));
    let head = LineBuilder::new(columns).put("Waste avoided today", theme.strong()).space(2).put(sum, theme.plain());
    let mut lines = vec![head.right("estimate", theme.muted()).build()];
    for row in today.avoided.loops.iter().take(MAX_ROWS) {
        let line = LineBuilder::new(columns).space(1);
        let room = line.left().saturating_sub(10).min(40);
        let text = format!("{}, {}", row.name, row.how);
        lines.push(
            line.cell(text, room, theme.plain()).number(format::dollars(row.cost_micros), 10, theme.plain()).build(),
        );
    }
    lines
}

fn quotas(app: &App, columns: usize, today: &TodayView) -> Vec<Line<'static>> {
    let theme = app.theme();
    if today.quotas.is_empty() {
        return Vec::new();
    }
    let head = LineBuilder::new(columns).put("Quota", theme.strong());
    let mut lines = vec![head.right("as the providers last said", theme.muted()).build()];
    for quota in &today.quotas {
        let percent = quota.used_percent.clamp(0.0, 999.0).round() as u32;
        let line = LineBuilder::new(columns).space(1);
        let bar = if columns < 50 { String::new() } else { format!("{}  ", words::bar(percent, 8)) };
        let resets = quota.resets_at.map(|at| app.clock(at)).unwrap_or_default();
        let figures = 7 + 2 + crate::line::width(&bar) + crate::line::width(&resets);
        let room = line.left().saturating_sub(figures).min(44);
        lines.push(
            line.cell(format!("{}, {}", quota.account, quota.limit), room, theme.plain())
                .number(format!("{percent} %"), 7, theme.share(percent))
                .space(2)
                .raw(&bar, theme.share(percent))
                .put(resets, theme.muted())
                .build(),
        );
    }
    lines
}
