//! Who decided what.

use std::time::Duration;

use belay_core::event::OperatorDecision;
use belay_core::session::StateName;
use belay_core::{Subject, Timestamp, format};
use belay_dashboard::model::{DecidedIn, DecisionLine};
use belay_ipc::views::{ReviewDecisionKind, ReviewSummaryView, SessionView};
use belay_store::{NoteRow, Result, Store};

use super::super::api::reviews::API_AUTHOR;
use crate::reviews;
use crate::state::DaemonState;
use crate::views::session_view;

/// Decisions that are read for the log of the page.
pub(super) const MAX_DECISIONS: usize = 30;
/// How long the overview tells who resolved something.
const RECENT: Duration = Duration::from_secs(5 * 60);

/// The newest decisions about all sessions. `reader` is the name under which the reader decides.
pub(super) fn newest(store: &dyn Store, reader: Option<&str>) -> Result<Vec<DecisionLine>> {
    lines(store, store.decisions(None, MAX_DECISIONS)?, reader)
}

/// What was resolved in the last minutes: the decisions that take a session out of the list, and their authors.
fn recent(store: &dyn Store, reader: Option<&str>, now: Timestamp) -> Result<Vec<DecisionLine>> {
    let resolves = |row: &NoteRow| match row.decision {
        OperatorDecision::Resume { .. } | OperatorDecision::Kill | OperatorDecision::Archive => true,
        OperatorDecision::Answer { .. } => true,
        // Without a login, it is only known that the page was opened.
        OperatorDecision::MarkSeen => row.by.is_some(),
        _ => false,
    };
    let mut rows = store.decisions(None, MAX_DECISIONS)?;
    rows.retain(|row| now.saturating_since(row.at) < RECENT && resolves(row));
    lines(store, rows, reader)
}

/// What was resolved in the last minutes, newest first: sessions and review tasks.
pub(super) fn recent_about_all(
    daemon: &DaemonState,
    store: &dyn Store,
    reader: Option<&str>,
    now: Timestamp,
) -> Result<Vec<DecisionLine>> {
    let mut lines = recent(store, reader, now)?;
    lines.extend(recent_reviews(&reviews::all(daemon), reader, now));
    lines.sort_by_key(|line| std::cmp::Reverse(line.at));
    Ok(lines)
}

/// What was decided about review tasks in the last minutes.
fn recent_reviews(tasks: &[ReviewSummaryView], reader: Option<&str>, now: Timestamp) -> Vec<DecisionLine> {
    let line = |task: &ReviewSummaryView| {
        let decided = task.decided.as_ref().filter(|decided| now.saturating_since(decided.at) < RECENT)?;
        let verb = match decided.kind {
            ReviewDecisionKind::Accepted => "accepted",
            ReviewDecisionKind::SentBack => "sent back",
            ReviewDecisionKind::Resumed => "resumed",
            ReviewDecisionKind::Cancelled => "cancelled",
            ReviewDecisionKind::Landed => "landed",
            ReviewDecisionKind::Archived => "archived",
            // The task needs the same decision as before.
            ReviewDecisionKind::Waived => return None,
        };
        let by = Some(decided.by.as_str()).filter(|by| *by != API_AUTHOR);
        Some(DecisionLine {
            at: decided.at,
            who: belay_dashboard::who(by, reader),
            verb: verb.to_owned(),
            about: Subject::review(&*task.id),
            title: task.title.clone(),
            detail: String::new(),
            decided_in: DecidedIn::from_name(by),
            effect: String::new(),
        })
    };
    tasks.iter().filter_map(line).collect()
}

fn lines(store: &dyn Store, rows: Vec<NoteRow>, reader: Option<&str>) -> Result<Vec<DecisionLine>> {
    let mut lines = Vec::new();
    for row in rows {
        let Some(session) = session_view(store, &row.session)? else { continue };
        lines.push(DecisionLine {
            at: row.at,
            who: who(&row, reader),
            verb: row.decision.past_tense().to_owned(),
            title: session.title().to_owned(),
            detail: detail(&row),
            decided_in: DecidedIn::from_name(row.by.as_deref()),
            effect: effect(&row, &session).to_owned(),
            about: row.session.into(),
        });
    }
    Ok(lines)
}

pub(super) fn who(row: &NoteRow, reader: Option<&str>) -> String {
    belay_dashboard::who(row.by.as_deref(), reader)
}

/// The note, and what the decision says besides.
fn detail(row: &NoteRow) -> String {
    let terms = match &row.decision {
        OperatorDecision::Resume { require_plan: true, .. } => "only with a changed plan".to_owned(),
        OperatorDecision::Resume { cooldown_secs: Some(secs), .. } => {
            format!("after {}", format::minutes(Duration::from_secs(*secs)))
        }
        OperatorDecision::Budget(budget) => budget.phrase(),
        OperatorDecision::Configure { settings } => {
            settings.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    };
    [terms, row.text.clone()].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What came of a decision, as far as the session tells.
fn effect(row: &NoteRow, session: &SessionView) -> &'static str {
    let went_on = session.newest_call.as_ref().is_some_and(|call| call.at > row.at);
    let killed = session.state == StateName::Killed;
    match row.decision {
        OperatorDecision::Kill => "every further call is refused",
        OperatorDecision::Resume { .. } | OperatorDecision::Answer { .. } if went_on => "it went on",
        OperatorDecision::Resume { .. } if killed => "killed since",
        OperatorDecision::Resume { .. } if session.held.is_some() => "held",
        OperatorDecision::Resume { .. } => "no call since",
        OperatorDecision::Pause | OperatorDecision::Acknowledge if session.held.is_some() && !killed => "still held",
        _ => "",
    }
}
