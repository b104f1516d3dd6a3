//! A permission prompt of an agent, shown character by character: a person allows exactly what the screen shows.

use std::fmt::Write as _;

use belay_core::event::PermissionAnswer;
use belay_core::printable::is_unprintable;
use belay_ipc::views::PendingApproval;
use ratatui::text::Line;
use unicode_width::UnicodeWidthChar;

use crate::line::LineBuilder;
use crate::style::Theme;

/// The text in lines of at most `columns` columns. Nothing is dropped or joined: spaces stay, and what a terminal would
/// not display is shown as an escape such as `\u{202e}`.
pub(crate) fn exact_lines(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for source in text.split('\n') {
        let (mut line, mut used) = (String::new(), 0);
        for c in source.chars() {
            let mut shown = String::new();
            // A terminal may not show how many columns a tab or a variation selector takes.
            if is_unprintable(c) || c.width().is_none_or(|width| width == 0) {
                let _ = write!(shown, "{}", c.escape_default());
            } else {
                shown.push(c);
            }
            let width = crate::line::width(&shown);
            if used + width > columns && used > 0 {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push_str(&shown);
            used += width;
        }
        lines.push(line);
    }
    lines
}

/// The prompt as a dialog shows it, in at most `rows` rows: tool and folder, then the exact text.
pub(crate) fn lines(prompt: &PendingApproval, theme: Theme, columns: usize, rows: usize) -> Vec<Line<'static>> {
    let place = prompt.cwd.as_ref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
    let head = LineBuilder::new(columns).put(&prompt.tool, theme.strong()).raw(" ", theme.plain());
    let mut lines = vec![head.put(place, theme.muted()).build()];
    let text = exact_lines(&prompt.text, columns.saturating_sub(2));
    let room = rows.saturating_sub(lines.len()).max(1);
    let shown = if text.len() <= room { text.len() } else { room - 1 };
    for line in &text[..shown] {
        lines.push(LineBuilder::new(columns).raw("  ", theme.plain()).raw(line, theme.strong()).build());
    }
    if shown < text.len() {
        let more = format!("  … and {} more lines", text.len() - shown);
        lines.push(LineBuilder::new(columns).raw(&more, theme.muted()).build());
    }
    lines
}

/// Whether [`lines()`] shows all of it.
pub(crate) fn fits(prompt: &PendingApproval, columns: usize, rows: usize) -> bool {
    exact_lines(&prompt.text, columns.saturating_sub(2)).len() < rows
}

/// The command that gives the same answer.
pub(crate) fn command_line(id: &str, answer: PermissionAnswer, why: &str) -> String {
    match answer {
        PermissionAnswer::Allow => format!("belay approve {id}"),
        PermissionAnswer::Deny if why.is_empty() => format!("belay deny {id}"),
        PermissionAnswer::Deny => format!("belay deny {id} --why {}", crate::action::quoted(why)),
    }
}
