//! Draws the state into a frame, or prints it as text.

use belay_core::format;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget};

use crate::app::{App, Screen};
use crate::dialog::Dialog;
use crate::line::LineBuilder;
use crate::style::Tone;
use crate::{ascii, overview, session};

/// Draws the state.
pub fn render(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    draw(app, area, buffer);
    if !app.settings.unicode {
        ascii::fold(buffer);
    }
}

fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let columns = usize::from(area.width);
    let (lines, scroll) = match &app.screen {
        Screen::Overview => (overview::lines(app, columns).lines, app.scroll),
        Screen::Session(screen) => (session::lines(app, columns), screen.scroll),
    };
    let body = area.height.saturating_sub(2);
    put(buffer, area, 0, &header(app, columns));
    for (row, line) in (1..=body).zip(lines.iter().skip(scroll)) {
        put(buffer, area, row, line);
    }
    let below = lines.len().saturating_sub(scroll + usize::from(body));
    put(buffer, area, area.height.saturating_sub(1), &footer(app, columns, scroll, below));
    if let Some(dialog) = &app.dialog {
        draw_dialog(app, dialog, area, buffer);
    }
}

fn put(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// Counts, today's spend and what it avoided, quota; what does not fit is left out from the end.
fn header(app: &App, columns: usize) -> Line<'static> {
    let theme = app.theme();
    let mut line = LineBuilder::new(columns).put("Belay", theme.strong());
    let Some(view) = &app.overview else { return line.build() };
    let needs = view.needs.iter().filter(|need| !need.acknowledged).count() + view.reviews.len();
    let working = view.active.len();
    let need_style = if needs > 0 { theme.tone(Tone::Warn) } else { theme.plain() };
    let verb = if needs == 1 { "needs" } else { "need" };
    let mut parts = vec![
        (format!("{needs} {verb} you"), need_style),
        (format!("{working} working"), theme.plain()),
        (
            format!("{} today", format::cost(view.today.spent.cost_micros, view.today.spent.unpriced_micros)),
            theme.plain(),
        ),
    ];
    if view.today.avoided.cost_micros > 0 {
        parts.push((format!("about {} avoided", format::dollars(view.today.avoided.cost_micros)), theme.plain()));
    }
    if let Some(quota) = view.today.quotas.iter().max_by(|a, b| a.used_percent.total_cmp(&b.used_percent)) {
        let percent = quota.used_percent.clamp(0.0, 999.0).round() as u32;
        parts.push((format!("{} {percent} %", quota.account), theme.share(percent)));
    }
    let state = match &app.stale {
        Some((since, _)) => format!("as of {}", app.clock(*since)),
        None => "live".to_owned(),
    };
    for (text, style) in parts {
        if line.left() > crate::line::width(&text) + state.len() + 4 {
            line = line.space(3).put(text, style);
        }
    }
    line.right(state, if app.stale.is_some() { theme.tone(Tone::Warn) } else { theme.muted() }).build()
}

/// The filter being typed, the result of the last action, or the keys.
fn footer(app: &App, columns: usize, scroll: usize, below: usize) -> Line<'static> {
    let theme = app.theme();
    let line = LineBuilder::new(columns);
    if app.filter.editing {
        return line
            .put(format!("/{}_", app.filter.text), theme.plain())
            .right("Enter keeps, Esc clears", theme.muted())
            .build();
    }
    if let Some(notice) = &app.notice {
        let style = if notice.is_error { theme.tone(Tone::Warn) } else { theme.plain() };
        return line.put(&notice.text, style).build();
    }
    if let Some((_, problem)) = &app.stale {
        return line.put(format!("Not up to date: {problem}"), theme.tone(Tone::Warn)).build();
    }
    let filter = app.filter.text.trim();
    let asks = app.current().is_some_and(|session| app.prompt_of(&session.session).is_some());
    let keys = match (&app.screen, columns < overview::NARROW) {
        (_, true) => "? keys",
        (Screen::Overview, _) if asks => "y allow  n deny  Enter open  K kill  c commands  / filter  ? keys",
        (Screen::Session(_), _) if asks => "y allow  n deny  Esc back  K kill  h l calls  Tab next  ? keys",
        (Screen::Overview, _) if app.current_review().is_some() => "Enter commands  / filter  ? keys",
        (Screen::Overview, _) => "Enter open  a ack  r resume  b budget  K kill  s seen  / filter  ? keys",
        (Screen::Session(_), _) => "Esc back  r resume  b budget  K kill  h l calls  Tab next  ? keys",
    };
    let line = match filter.is_empty() {
        true => line,
        false => line.put(format!("/{filter}"), theme.strong()).space(2),
    };
    let more = match (scroll, below) {
        (0, 0) => String::new(),
        (_, 0) => "end".to_owned(),
        (_, below) => format!("{below} more"),
    };
    line.raw(keys, theme.muted()).right(more, theme.muted()).build()
}

fn draw_dialog(app: &App, dialog: &Dialog, area: Rect, buffer: &mut Buffer) {
    let theme = app.theme();
    let (inner, rows) = dialog.inner_size((area.width, area.height));
    let lines = dialog.lines(theme, inner, rows);
    let width = u16::try_from(inner + 4).unwrap_or(area.width).min(area.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(area.height).min(area.height);
    let frame = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    Clear.render(frame, buffer);
    Block::bordered().title(format!(" {} ", dialog.title())).render(frame, buffer);
    // If not all of it fits, the end is shown: it says what Enter does.
    let rows = usize::from(height.saturating_sub(2));
    for (at, line) in (0_u16..).zip(lines.iter().skip(lines.len().saturating_sub(rows))) {
        buffer.set_line(frame.x + 2, frame.y + 1 + at, line, width.saturating_sub(4));
    }
}

/// The whole screen as plain text: as wide as the state's size says, and as long as necessary.
pub fn plain_text(app: &App) -> String {
    let columns = app.columns();
    let mut lines = vec![header(app, columns), Line::default()];
    lines.extend(match app.screen {
        Screen::Overview => overview::lines(app, columns).lines,
        Screen::Session(_) => session::lines(app, columns),
    });
    let mut text = String::new();
    for line in &lines {
        let mut buffer = Buffer::empty(Rect::new(0, 0, app.size.0, 1));
        buffer.set_line(0, 0, line, app.size.0);
        if !app.settings.unicode {
            ascii::fold(&mut buffer);
        }
        text.push_str(row_text(&buffer).trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The symbols of a row. A wide character fills two cells, and the second one is not printed.
fn row_text(buffer: &Buffer) -> String {
    let mut text = String::new();
    let mut covered = 0;
    for cell in &buffer.content {
        if covered == 0 {
            text.push_str(cell.symbol());
        }
        covered = crate::line::width(cell.symbol()).max(covered).saturating_sub(1);
    }
    text
}
