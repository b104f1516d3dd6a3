//! A permission prompt of an agent, shown character by character: a person allows exactly what the screen shows.

use belay_core::event::PermissionAnswer;
use belay_core::exact::{ExactRow, exact_line, exact_rows};
use belay_ipc::views::PendingApproval;
use ratatui::text::Line;

use crate::line::LineBuilder;
use crate::style::Theme;

/// Columns before each row of the text.
const INDENT: usize = 2;

/// Tool and directory in rows.
fn head(prompt: &PendingApproval, columns: usize) -> Vec<ExactRow> {
    let place = prompt.cwd.as_ref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
    exact_rows(&exact_line(&format!("{}{place}", prompt.tool)), columns)
}

fn text(prompt: &PendingApproval, columns: usize) -> Vec<ExactRow> {
    exact_rows(&prompt.text, columns.saturating_sub(INDENT))
}

/// The prompt as a dialog shows it, in at most `rows` rows: tool and directory, then the exact text. A row that continues
/// the one before is marked, because a line break ends a command.
pub(crate) fn lines(prompt: &PendingApproval, theme: Theme, columns: usize, rows: usize) -> Vec<Line<'static>> {
    let row =
        |sign: &str, text: &str, style| LineBuilder::new(columns).raw(sign, theme.muted()).raw(text, style).build();
    let mut lines: Vec<_> = head(prompt, columns).iter().map(|head| row("", &head.text, theme.muted())).collect();
    let text = text(prompt, columns);
    let room = rows.saturating_sub(lines.len()).max(1);
    let shown = if text.len() <= room { text.len() } else { room - 1 };
    lines.extend(
        text[..shown].iter().map(|line| row(if line.continues { "↪ " } else { "  " }, &line.text, theme.strong())),
    );
    if shown < text.len() {
        lines.push(row(&format!("  … and {} more lines", text.len() - shown), "", theme.muted()));
    }
    lines
}

/// Whether [`lines()`] shows all of it.
pub(crate) fn fits(prompt: &PendingApproval, columns: usize, rows: usize) -> bool {
    head(prompt, columns).len() + text(prompt, columns).len() <= rows
}

/// The command that gives the same answer.
pub(crate) fn command_line(id: &str, answer: PermissionAnswer, why: &str) -> String {
    match answer {
        PermissionAnswer::Allow => format!("belay approve {id}"),
        PermissionAnswer::Deny if why.is_empty() => format!("belay deny {id}"),
        PermissionAnswer::Deny => format!("belay deny {id} --why {}", crate::action::quoted(why)),
    }
}
