//! The page of one session: a window of its calls, and what belongs to it.

use std::collections::BTreeMap;

use belay_core::effect::Finding;
use belay_core::event::{Author, OperatorDecision};
use belay_core::session::{CallMark, CallRecord, CallStrip};
use belay_core::{Body, Event, SessionKey, Timestamp};
use belay_ipc::views::{
    CallView, FailingTestView, FailingView, FileView, FindingView, FlagKind, IncidentView, NoteView, PictureFlag,
    PictureView, SessionPageView, SessionView, TreeNodeView,
};
use belay_store::{CallQuery, EventQuery, EventRow, Order, Result, SessionQuery, SessionRow, Store};

use super::event_line::{self, event_line};
use super::event_search::search_events;
use super::picture;
use crate::views::{session_view, session_views};

/// Calls of the window unless the request says otherwise.
const DEFAULT_CALLS: usize = 57;
const MAX_CALLS: usize = 120;
/// Events that are read for a window of calls.
const MAX_WINDOW_EVENTS: usize = 1000;
/// Lines of the events table.
const EVENT_LINES: usize = 50;
const MAX_FINDINGS: usize = 20;
const MAX_NOTES: usize = 50;
const MAX_TREE: usize = 60;
const MAX_DEPTH: u32 = 8;
const MAX_FILES: usize = 40;
const MAX_TESTS: usize = 24;
/// Characters of a flag's text.
const MAX_FLAG_CHARS: usize = 60;

/// Which part of a session the page shows.
#[derive(Clone, Debug, Default)]
pub struct PageWindow {
    /// Only calls before this number; the newest ones of them are shown.
    pub before: Option<u64>,
    /// Number of calls; 0 for the default.
    pub calls: usize,
    /// Only events before this sequence number.
    pub events_before: Option<u64>,
    /// Only events of this kind; empty for all.
    pub events_kind: String,
    /// Only events that contain these words.
    pub events_text: String,
}

pub fn session_page(
    store: &dyn Store,
    key: &SessionKey,
    window: PageWindow,
    now: Timestamp,
) -> Result<Option<SessionPageView>> {
    let Some(row) = store.session(key)? else { return Ok(None) };
    let Some(session) = session_view(store, key)? else { return Ok(None) };
    let limit = if window.calls == 0 { DEFAULT_CALLS } else { window.calls.min(MAX_CALLS) };
    // Numbers begin with 1, ordinals with 0.
    let before = window.before.map(|call| call.saturating_sub(1));
    let (calls, strip) = window_calls(store, &row, &CallQuery { before, limit })?;
    let events = window_events(store, key, &calls, before.is_none())?;
    let findings: Vec<FindingView> = store
        .findings(key, MAX_FINDINGS)?
        .into_iter()
        .map(|row| FindingView { session: row.session, intervention: row.intervention })
        .collect();
    let incident = match &session.held {
        Some(held) => store.incident(&held.incident)?,
        None => None,
    };
    let finding = shown_finding(incident.as_ref().and_then(|incident| incident.finding.as_ref()), &findings, &calls);
    let mut picture = picture::picture(session.calls, &calls, finding, &strip);
    picture.flags = flags(&events, &findings, &calls);
    describe_checks(&mut picture, &events, &calls);
    let numbered: Vec<(u64, CallView)> = calls.iter().map(|call| call.seq).zip(picture.calls.iter().cloned()).collect();
    let (lines, older) = event_rows(store, key, &window)?;
    Ok(Some(SessionPageView {
        now,
        incident: incident.map(IncidentView::from),
        notes: notes(store, key)?,
        files: files(&picture.calls),
        failing: failing(&events, &calls),
        tree: tree(store, &row, &session)?,
        events: lines.iter().rev().filter_map(|row| event_line(row, &numbered)).collect(),
        older,
        sensors: sensors(&events),
        findings,
        picture,
        session,
        previous: None,
        next: None,
    }))
}

/// The calls of the window, and the whole session in a strip. Calls from before the store kept them (version 2) are
/// derived from the log.
fn window_calls(store: &dyn Store, row: &SessionRow, query: &CallQuery) -> Result<(Vec<CallRecord>, CallStrip)> {
    let calls = store.calls(&row.key, query)?;
    let is_complete = calls.len() == query.limit || calls.first().is_some_and(|call| call.ordinal == 0);
    let was_kept = || Ok(!store.calls(&row.key, &CallQuery { before: Some(1), limit: 1 })?.is_empty());
    if is_complete || row.details.counters.calls == 0 || was_kept()? {
        return Ok((calls, row.details.strip.clone()));
    }
    let mut replayed = belay_engine::replay_calls(store, &row.key)?;
    replayed.calls.retain(|call| query.before.is_none_or(|before| call.ordinal < before));
    let surplus = replayed.calls.len().saturating_sub(query.limit);
    replayed.calls.drain(..surplus);
    Ok((replayed.calls, replayed.strip))
}

/// The events of the table, and the sequence number before which there are more.
fn event_rows(store: &dyn Store, key: &SessionKey, window: &PageWindow) -> Result<(Vec<EventRow>, Option<u64>)> {
    let query = EventQuery {
        session: Some(key.clone()),
        before: window.events_before,
        kinds: Some(window.events_kind.clone()).filter(|kind| !kind.is_empty()).into_iter().collect(),
        order: Order::Last,
        limit: EVENT_LINES,
        ..EventQuery::default()
    };
    if !window.events_text.trim().is_empty() {
        let found = search_events(store, &query, &window.events_text)?;
        return Ok((found.rows, found.next.filter(|seq| *seq > 1)));
    }
    let rows = store.events(&query)?;
    let is_full = rows.len() == EVENT_LINES;
    let older = rows.first().map(|row| row.seq).filter(|seq| is_full && *seq > 1);
    Ok((rows, older))
}

/// The events between the first and the last call of the window. The newest window includes what came after.
fn window_events(
    store: &dyn Store,
    key: &SessionKey,
    calls: &[CallRecord],
    newest: bool,
) -> Result<Vec<(EventRow, Event)>> {
    let first = calls.iter().map(|call| call.seq).find(|seq| *seq > 0).unwrap_or(1);
    let last = calls.last().map(|call| call.seq + 32).filter(|_| !newest);
    let query = EventQuery {
        session: Some(key.clone()),
        after: Some(first.saturating_sub(1)),
        before: last,
        order: if newest { Order::Last } else { Order::First },
        limit: MAX_WINDOW_EVENTS,
        ..EventQuery::default()
    };
    let rows = store.events(&query)?;
    Ok(rows.into_iter().filter_map(|row| row.event().ok().map(|event| (row, event))).collect())
}

/// The finding that the picture colours: the incident's, otherwise the newest one in the window.
fn shown_finding<'a>(
    incident: Option<&'a Finding>,
    findings: &'a [FindingView],
    calls: &[CallRecord],
) -> Option<&'a Finding> {
    let (first, last) = calls.first().zip(calls.last())?;
    let in_window = |finding: &&Finding| finding.call >= first.ordinal && finding.from_call <= last.ordinal;
    incident.filter(in_window).or_else(|| findings.iter().map(|view| &view.intervention.finding).find(in_window))
}

fn flags(events: &[(EventRow, Event)], findings: &[FindingView], calls: &[CallRecord]) -> Vec<PictureFlag> {
    let Some((first, last)) = calls.first().zip(calls.last()) else { return Vec::new() };
    let mut flags: Vec<PictureFlag> = findings
        .iter()
        .map(|view| &view.intervention)
        .filter(|step| step.finding.call >= first.ordinal && step.finding.call <= last.ordinal)
        .map(|step| PictureFlag {
            after: step.finding.call + 1,
            at: step.finding.at,
            kind: step.level.into(),
            text: step.finding.sentence.clone(),
        })
        .collect();
    let call_before = |seq: u64| {
        let before = calls.iter().rev().find(|call| call.seq > 0 && call.seq < seq);
        before.map_or(first.ordinal, |call| call.ordinal + 1)
    };
    for (row, event) in events {
        let (kind, text) = match &event.body {
            Body::Prompt(prompt) if prompt.by == Author::Person => {
                (FlagKind::Prompt, first_words(prompt.text.as_str()))
            }
            Body::Operator(operator) => match operator.decision {
                OperatorDecision::Resume { .. } => (FlagKind::Resume, operator.note.to_string()),
                OperatorDecision::Pause => (FlagKind::Pause, operator.note.to_string()),
                OperatorDecision::Kill => (FlagKind::Kill, operator.note.to_string()),
                _ => continue,
            },
            Body::Compacted(_) => (FlagKind::Compacted, String::new()),
            _ => continue,
        };
        flags.push(PictureFlag { after: call_before(row.seq), at: row.at, kind, text });
    }
    flags.sort_by_key(|flag| (flag.after, flag.at));
    flags
}

fn first_words(text: &str) -> String {
    let line = event_line::shorten(text);
    match line.char_indices().nth(MAX_FLAG_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

fn notes(store: &dyn Store, key: &SessionKey) -> Result<Vec<NoteView>> {
    let rows = store.decisions(Some(key), MAX_NOTES)?.into_iter();
    Ok(rows
        .map(|row| NoteView { session: row.session, at: row.at, decision: row.decision, by: row.by, text: row.text })
        .collect())
}

fn files(calls: &[CallView]) -> Vec<FileView> {
    #[derive(Default)]
    struct Seen {
        reads: u64,
        writes: u64,
        pairs: Vec<String>,
        reverted: bool,
    }
    let mut files: BTreeMap<&str, Seen> = BTreeMap::new();
    for call in calls {
        let Some(file) = &call.file else { continue };
        let seen = files.entry(file).or_default();
        if call.reads {
            seen.reads += 1;
        } else if matches!(call.mark, CallMark::Written | CallMark::Reverted) {
            seen.writes += 1;
            seen.reverted |= call.mark == CallMark::Reverted;
            if !seen.pairs.contains(&call.pair) {
                seen.pairs.push(call.pair.clone());
            }
        }
    }
    let mut files: Vec<FileView> = files
        .into_iter()
        .map(|(path, seen)| FileView {
            path: path.to_owned(),
            reads: seen.reads,
            writes: seen.writes,
            contents: seen.pairs.len() as u64,
            alternates: seen.reverted && seen.writes > seen.pairs.len() as u64,
        })
        .collect();
    files.sort_by_key(|file| (std::cmp::Reverse(file.writes), std::cmp::Reverse(file.reads), file.path.clone()));
    files.truncate(MAX_FILES);
    files
}

/// A run of tests, a compiler or a linter: the number of its call, how many failed, and their names as far as they are
/// in the stored part of the output.
struct CheckRun {
    call: u64,
    failed: u32,
    names: Vec<String>,
}

fn check_runs(events: &[(EventRow, Event)], calls: &[CallRecord]) -> Vec<CheckRun> {
    let mut runs = Vec::new();
    for call in calls.iter().filter(|call| call.check && call.mark != CallMark::Running) {
        let begun = events.iter().position(|(row, _)| row.seq == call.seq);
        let Some(Body::ToolCalled(called)) = begun.map(|at| &events[at].1.body) else { continue };
        let result = events[begun.unwrap_or(0)..].iter().find_map(|(_, event)| match &event.body {
            Body::ToolReturned(returned)
                if returned.call == called.call || returned.answers == Some(called.action.key) =>
            {
                Some(returned)
            }
            _ => None,
        });
        let Some(checks) = result.and_then(|returned| returned.outcome.checks.as_ref()) else { continue };
        let output = result.map(|returned| returned.output.as_str()).unwrap_or_default();
        let names = if checks.failed == 0 { Vec::new() } else { belay_core::outcome::failing_names(output) };
        runs.push(CheckRun { call: call.ordinal + 1, failed: checks.failed, names });
    }
    runs
}

/// Replaces the first lines of a check's output by what it found: "2 failing".
fn describe_checks(picture: &mut PictureView, events: &[(EventRow, Event)], calls: &[CallRecord]) {
    for run in check_runs(events, calls) {
        let outcome = match (run.failed, run.names.first()) {
            (0, _) => "passed".to_owned(),
            (1, Some(name)) => format!("1 failing: {name}"),
            (failed, _) => format!("{failed} failing"),
        };
        let Some(call) = picture.calls.iter_mut().find(|call| call.call == run.call) else { continue };
        if let Some(row) = picture.rows.iter_mut().find(|row| row.pair == call.pair) {
            row.outcome.clone_from(&outcome);
        }
        call.outcome = outcome;
    }
}

/// Which tests failed in which run.
fn failing(events: &[(EventRow, Event)], calls: &[CallRecord]) -> Option<FailingView> {
    let runs: Vec<(u64, Vec<String>)> =
        check_runs(events, calls).into_iter().map(|run| (run.call, run.names)).collect();
    let mut tests: Vec<String> = Vec::new();
    for name in runs.iter().flat_map(|(_, names)| names) {
        if !tests.contains(name) && tests.len() < MAX_TESTS {
            tests.push(name.clone());
        }
    }
    if tests.is_empty() {
        return None;
    }
    let unchanged = runs.iter().rev().take_while(|(_, names)| Some(names) == runs.last().map(|(_, last)| last)).count();
    let same_from = (unchanged > 1 && runs.last().is_some_and(|(_, names)| !names.is_empty()))
        .then(|| runs[runs.len() - unchanged].0);
    Some(FailingView {
        runs: runs.iter().map(|(call, _)| *call).collect(),
        tests: tests
            .into_iter()
            .map(|name| FailingTestView { failed: runs.iter().map(|(_, names)| names.contains(&name)).collect(), name })
            .collect(),
        same_from,
    })
}

/// The session and its sub-agents, depth first.
fn tree(store: &dyn Store, row: &SessionRow, session: &SessionView) -> Result<Vec<TreeNodeView>> {
    let mut tree = vec![TreeNodeView { depth: 0, session: session.clone() }];
    add_children(store, &row.key, 1, &mut tree)?;
    Ok(tree)
}

fn add_children(store: &dyn Store, parent: &SessionKey, depth: u32, tree: &mut Vec<TreeNodeView>) -> Result<()> {
    if depth > MAX_DEPTH || tree.len() >= MAX_TREE {
        return Ok(());
    }
    let query =
        SessionQuery { parent: Some(parent.clone()), limit: MAX_TREE, archived: true, ..SessionQuery::default() };
    let rows = store.sessions(&query)?.rows;
    let keys: Vec<SessionKey> = rows.iter().map(|row| row.key.clone()).collect();
    let mut children: Vec<_> = keys.into_iter().zip(session_views(store, rows)?).collect();
    children.sort_by_key(|(_, child)| child.started_at);
    for (key, child) in children {
        if tree.len() >= MAX_TREE {
            break;
        }
        tree.push(TreeNodeView { depth, session: child });
        add_children(store, &key, depth + 1, tree)?;
    }
    Ok(())
}

/// Who reported the window's events.
fn sensors(events: &[(EventRow, Event)]) -> Vec<String> {
    let mut sensors: Vec<String> = Vec::new();
    for (_, event) in events {
        let name = event_line::source(event);
        if !matches!(name.as_str(), "operator" | "timer") && !sensors.contains(&name) {
            sensors.push(name);
        }
    }
    sensors
}
