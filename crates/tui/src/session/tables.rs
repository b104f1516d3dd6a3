//! The tables of a session's page.

use belay_core::format;
use belay_ipc::views::{SessionPageView, SessionView};
use ratatui::text::Line;

use super::{heading, level};
use crate::app::App;
use crate::line::LineBuilder;
use crate::style::Tone;
use crate::{picture, words};

const MAX_FILES: usize = 12;
const MAX_FINDINGS: usize = 8;
const MAX_NOTES: usize = 8;

/// Which tests failed in which run; runs from left to right.
pub(super) fn failing(app: &App, columns: usize, page: &SessionPageView) -> Vec<Line<'static>> {
    let theme = app.theme();
    let Some(failing) = page.failing.as_ref().filter(|failing| !failing.tests.is_empty()) else { return Vec::new() };
    let name = (columns / 2).clamp(8, 44);
    let shown = columns.saturating_sub(name + 1) / 2;
    let skip = failing.runs.len().saturating_sub(shown);
    let note = match failing.same_from {
        Some(call) => format!("the same since call {call}"),
        None => format::pluralize(failing.runs.len() as u64, "run"),
    };
    let mut lines = vec![heading(app, columns, "Failing tests, run by run", &note)];
    for test in &failing.tests {
        let mut line = LineBuilder::new(columns).cell(&test.name, name, theme.plain()).space(1);
        for (run, failed) in failing.runs.iter().zip(&test.failed).skip(skip) {
            let same = failing.same_from.is_some_and(|from| *run >= from);
            let style = if same { theme.tone(Tone::Warn) } else { theme.plain() };
            line = if *failed { line.raw("× ", style) } else { line.raw("· ", theme.muted()) };
        }
        lines.push(line.build());
    }
    lines
}

pub(super) fn files(app: &App, columns: usize, page: &SessionPageView) -> Vec<Line<'static>> {
    let theme = app.theme();
    if page.files.is_empty() {
        return Vec::new();
    }
    let name = columns.saturating_sub(26 + 15).max(columns / 3);
    let titles = LineBuilder::new(columns).cell("Files in this window", name, theme.strong());
    let titles =
        ["Reads", "Writes", "Contents"].iter().fold(titles, |line, title| line.number(title, 9, theme.muted()));
    let mut lines = vec![titles.build()];
    for file in page.files.iter().take(MAX_FILES) {
        let mut line = LineBuilder::new(columns).put_within(tail(&file.path, name), name, theme.plain()).to(name);
        for count in [file.reads, file.writes, file.contents] {
            let text = if count == 0 { "-".to_owned() } else { count.to_string() };
            line = line.number(text, 9, theme.plain());
        }
        line = if file.alternates { line.space(2).put("alternating", theme.tone(Tone::Warn)) } else { line };
        lines.push(line.build());
    }
    if page.files.len() > MAX_FILES {
        let more = format!("{} more", page.files.len() - MAX_FILES);
        lines.push(LineBuilder::new(columns).put(more, theme.muted()).build());
    }
    lines
}

/// The end of a path: its file name says most.
fn tail(path: &str, max: usize) -> String {
    let path = crate::line::clean(path);
    if crate::line::width(&path) <= max {
        return path;
    }
    let start = path.char_indices().rev().nth(max).map_or(0, |(start, _)| start);
    let mut rest = &path[start..];
    while crate::line::width(rest) + 1 > max {
        let Some(next) = rest.char_indices().nth(1) else { break };
        rest = &rest[next.0..];
    }
    format!("…{rest}")
}

/// Sub-agents, if there are any.
pub(super) fn tree(app: &App, columns: usize, page: &SessionPageView) -> Vec<Line<'static>> {
    let theme = app.theme();
    if page.tree.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec![heading(app, columns, "Sub-agents", "budgets add up to the root")];
    for node in &page.tree {
        let state = words::session_state(&node.session);
        let spent = format!(
            "{} · {}",
            format::pluralize(node.session.calls, "call"),
            format::cost(node.session.cost_micros, node.session.unpriced_micros)
        );
        let depth = usize::try_from(node.depth).unwrap_or(0).min(8);
        let line = LineBuilder::new(columns).space(2 * depth).raw(state.symbol, theme.tone(state.tone)).space(1);
        let line = line.put(state.word, theme.tone(state.tone)).space(2);
        let room = line.left().saturating_sub(22);
        lines.push(line.put_within(node.session.title(), room, theme.plain()).right(spent, theme.muted()).build());
    }
    lines
}

pub(super) fn tokens(app: &App, columns: usize, session: &SessionView) -> Vec<Line<'static>> {
    let theme = app.theme();
    let usage = &session.usage;
    if usage.total() == 0 {
        return Vec::new();
    }
    let mut lines = vec![heading(app, columns, "Tokens", "")];
    for (name, tokens) in [
        ("Input", usage.input),
        ("Cache write", usage.cache_write),
        ("Cache read", usage.cache_read),
        ("Output", usage.output),
    ] {
        let line = LineBuilder::new(columns).cell(name, 14, theme.muted());
        lines.push(line.number(format::compact(tokens), 9, theme.plain()).build());
    }
    lines
}

pub(super) fn findings(app: &App, columns: usize, page: &SessionPageView) -> Vec<Line<'static>> {
    let theme = app.theme();
    if page.findings.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading(app, columns, "Findings", "newest first")];
    for row in page.findings.iter().take(MAX_FINDINGS) {
        let finding = &row.intervention.finding;
        lines.push(
            LineBuilder::new(columns)
                .cell(app.clock(finding.at), 13, theme.muted())
                .cell(level(row.intervention.level), 8, theme.plain())
                .put(&finding.sentence, theme.plain())
                .build(),
        );
    }
    lines
}

/// What operators decided, with their notes.
pub(super) fn notes(app: &App, columns: usize, page: &SessionPageView) -> Vec<Line<'static>> {
    let theme = app.theme();
    if page.notes.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading(app, columns, "Notes", "newest first")];
    for note in page.notes.iter().take(MAX_NOTES) {
        let by = note.by.as_deref().unwrap_or("operator");
        lines.push(
            LineBuilder::new(columns)
                .cell(app.clock(note.at), 13, theme.muted())
                .put_within(by, 20, theme.plain())
                .raw(": ", theme.plain())
                .put(&note.text, theme.plain())
                .build(),
        );
    }
    lines
}

pub(super) fn events(app: &App, columns: usize, page: &SessionPageView) -> Vec<Line<'static>> {
    let theme = app.theme();
    let wide = columns >= 100;
    let mut lines = vec![heading(app, columns, "Events", "newest first")];
    let what = columns.saturating_sub(if wide { 18 + 18 + 18 } else { 18 }) * 3 / 5;
    for event in &page.events {
        let letter = event.pair.as_deref().and_then(|pair| picture::letter_of(&page.picture, pair));
        let call = event.call.map(|call| call.to_string()).unwrap_or_default();
        let (letter, style) = match letter {
            Some((at, letter)) => (letter.to_string(), theme.loop_row(at)),
            None => (String::new(), theme.plain()),
        };
        let mut line = LineBuilder::new(columns)
            .cell(words::clock_seconds(event.at, &app.settings.zone), 9, theme.muted())
            .number(call, 6, theme.plain())
            .space(1)
            .cell(letter, 2, style);
        line = if wide { line.cell(event.kind.replace('_', " "), 18, theme.muted()) } else { line };
        line = line.cell(&event.what, what, theme.plain()).space(1);
        let outcome = line.left().saturating_sub(if wide { 18 } else { 0 });
        line = line.cell(&event.outcome, outcome, theme.muted());
        if wide {
            let tokens = if event.tokens > 0 { format::compact(event.tokens) } else { String::new() };
            line = line.number(tokens, 8, theme.plain()).space(1).put(&event.source, theme.muted());
        }
        lines.push(line.build());
    }
    lines
}
