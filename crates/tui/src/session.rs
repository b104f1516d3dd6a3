//! The page of a session: facts, why Belay stepped in, the loop picture, and what belongs to it.

mod tables;

use belay_core::effect::{Finding, InterventionLevel};
use belay_core::format;
use belay_ipc::views::{SessionPageView, SessionView};
use ratatui::text::Line;

use crate::app::{App, Screen};
use crate::line::{LineBuilder, side_by_side, width, wrap};
use crate::{picture, words};

/// From this width on, files and failing tests stand next to each other.
const SIDE_BY_SIDE: usize = 120;
const GAP: usize = 4;
/// Columns of the names of facts.
const LABEL: usize = 14;

pub(crate) fn lines(app: &App, columns: usize) -> Vec<Line<'static>> {
    let Screen::Session(screen) = &app.screen else { return Vec::new() };
    let text = |text: &str| vec![LineBuilder::new(columns).put(text, app.theme().plain()).build()];
    let Some(page) = &screen.page else {
        return match (screen.missing, &app.stale) {
            (true, _) => text(&format!("{} does not exist any more. Esc goes back.", screen.key)),
            (false, Some((_, problem))) => text(problem),
            (false, None) => text("Reading the session …"),
        };
    };
    let mut sections = vec![head(app, columns, &page.session, &page.sensors), reason(app, columns, page)];
    sections.push(picture::lines(app, columns, &page.picture));
    if columns >= SIDE_BY_SIDE {
        let half = (columns - GAP) / 2;
        let pair = |left: Vec<Line<'static>>, right: Vec<Line<'static>>| {
            let blocks = [left, right].into_iter().filter(|block| !block.is_empty()).collect();
            side_by_side(blocks, half, GAP)
        };
        sections.push(pair(tables::failing(app, half, page), tables::files(app, half, page)));
        sections.push(pair(tables::tree(app, half, page), tables::tokens(app, half, &page.session)));
    } else {
        sections.push(tables::failing(app, columns, page));
        sections.push(tables::files(app, columns, page));
        sections.push(tables::tree(app, columns, page));
        sections.push(tables::tokens(app, columns, &page.session));
    }
    sections.push(tables::findings(app, columns, page));
    sections.push(tables::notes(app, columns, page));
    sections.push(tables::events(app, columns, page));
    sections.retain(|section| !section.is_empty());
    sections.join(&Line::default())
}

pub(super) fn heading(app: &App, columns: usize, title: &str, note: &str) -> Line<'static> {
    LineBuilder::new(columns).put(title, app.theme().strong()).right(note, app.theme().muted()).build()
}

fn head(app: &App, columns: usize, session: &SessionView, sensors: &[String]) -> Vec<Line<'static>> {
    let theme = app.theme();
    let need = app.current_need();
    let state = need.map_or_else(|| words::session_state(session), |need| words::need_state(need.kind));
    let since = match session.status.until {
        Some(until) => format!("until {}", app.clock(until)),
        None => {
            let age = words::duration(app.now.saturating_since(session.status.since));
            format!("since {}, {age}", app.clock(session.status.since))
        }
    };
    let title = LineBuilder::new(columns).put_within(session.title(), columns * 3 / 5, theme.strong()).space(2);
    let title = title.raw(state.symbol, theme.tone(state.tone)).space(1).put(state.word, theme.tone(state.tone));
    let mut lines = vec![title.space(1).put(since, theme.muted()).build()];
    lines.extend(facts(app, columns, session, sensors));
    lines
}

/// Key figures, as many per line as fit.
fn facts(app: &App, columns: usize, session: &SessionView, sensors: &[String]) -> Vec<Line<'static>> {
    let theme = app.theme();
    let agent = match &session.agent_version {
        Some(version) => format!("{} {version}", words::display_name(&session.agent)),
        None => words::display_name(&session.agent).to_owned(),
    };
    let of = words::limit(session).map(|limit| format!(" of {limit}")).unwrap_or_default();
    let cost = format!("{}{of}", words::total_cost(session));
    let cached = session.usage.cache_read.saturating_mul(100).checked_div(session.usage.total());
    let tokens = match cached.filter(|percent| *percent > 0) {
        Some(percent) => format!("{}, {percent} % cache reads", format::compact(session.tokens)),
        None => format::compact(session.tokens),
    };
    let percent = |percent: Option<u32>| percent.map(|percent| format!("{percent} %"));
    let facts = [
        ("Agent", Some(agent)),
        ("Model", session.model.clone()),
        ("Session", Some(session.short.clone())),
        ("Project", session.project_name().map(str::to_owned)),
        ("Branch", session.branch.clone()),
        ("Started", Some(app.clock(session.started_at))),
        ("Calls", Some(format::grouped(session.calls))),
        ("Tokens", Some(tokens)),
        ("Cost", Some(cost)),
        ("Per hour", Some(format::dollars(session.cost_per_hour_micros))),
        ("Budget", percent(session.budget_percent())),
        ("Context", percent(session.context_percent)),
        ("Seen by", Some(sensors.join(", ")).filter(|text| !text.is_empty())),
    ];
    let mut lines = Vec::new();
    let mut line = LineBuilder::new(columns);
    for (name, value) in facts {
        let Some(value) = value else { continue };
        let needed = width(name) + 1 + width(&value);
        if line.left() < needed + 3 && line.left() < columns {
            lines.push(line.build());
            line = LineBuilder::new(columns);
        }
        let gap = if line.left() < columns { 3 } else { 0 };
        line = line.space(gap).put(name, theme.muted()).space(1).put(value, theme.plain());
    }
    lines.push(line.build());
    lines
}

/// Why Belay stepped in, or what the status rests on.
fn reason(app: &App, columns: usize, page: &SessionPageView) -> Vec<Line<'static>> {
    let theme = app.theme();
    let session = &page.session;
    let held = page.incident.as_ref().and_then(|incident| incident.finding.as_ref());
    let finding = held.or_else(|| page.findings.first().map(|row| &row.intervention.finding));
    let Some(finding) = finding else {
        let mut lines = vec![heading(app, columns, "Status", "")];
        let why = page.incident.as_ref().map_or(&session.status.why, |incident| &incident.sentence);
        lines.extend(
            wrap(why, columns, 6).iter().map(|part| LineBuilder::new(columns).put(part, theme.plain()).build()),
        );
        return lines;
    };
    let mut lines = vec![heading(app, columns, "Why Belay stepped in", &finding.id)];
    lines.extend(
        wrap(&finding.sentence, columns, 6)
            .iter()
            .map(|part| LineBuilder::new(columns).put(part, theme.strong()).build()),
    );
    let mut fact = |name: &str, text: &str| {
        for (at, part) in wrap(text, columns.saturating_sub(LABEL), 4).iter().enumerate() {
            let line = LineBuilder::new(columns).cell(if at == 0 { name } else { "" }, LABEL, theme.muted());
            lines.push(line.put(part, theme.plain()).build());
        }
    };
    fact("Same outcome", &finding.unchanged);
    fact("No progress", &without_progress(app, session));
    fact("Progress is", &finding.progress_would_be);
    fact("Done so far", &done_so_far(app, page, finding));
    lines
}

/// "19 calls, 6 min 33 s, 2.2M tokens, $1.57 since 13:24."
fn without_progress(app: &App, session: &SessionView) -> String {
    let since = &session.since_progress;
    let mut parts = vec![format::pluralize(since.sum.calls, "call"), format::tokens(since.sum.tokens)];
    let cost = since.sum.cost_micros.saturating_add(since.sum.unpriced_micros);
    if cost > 0 {
        parts.push(format::cost(since.sum.cost_micros, since.sum.unpriced_micros));
    }
    match since.at.is_known() {
        true => format!("{} since {}.", parts.join(", "), app.clock(since.at)),
        false => format!("{} so far.", parts.join(", ")),
    }
}

/// "notice 13:26, nudge 13:27, pause 13:30"
fn done_so_far(app: &App, page: &SessionPageView, finding: &Finding) -> String {
    let mut done: Vec<String> = page
        .findings
        .iter()
        .filter(|row| row.intervention.finding.pattern == finding.pattern)
        .map(|row| {
            let dry = if row.intervention.dry_run { " (dry run)" } else { "" };
            format!("{}{dry} {}", level(row.intervention.level), app.clock(row.intervention.finding.at))
        })
        .collect();
    done.reverse();
    done.join(", ")
}

pub(super) fn level(level: InterventionLevel) -> &'static str {
    match level {
        InterventionLevel::Notice => "notice",
        InterventionLevel::Nudge => "nudge",
        InterventionLevel::Pause => "pause",
        InterventionLevel::Kill => "kill",
    }
}
