//! The overview.

use std::time::Duration;

use belay_core::key::TRIAL_AGENT;
use belay_core::status::StatusValue;
use belay_core::{Timestamp, waste};
use belay_ipc::views::{AvoidedLoopView, AvoidedView, NeedKind, NeedView, OverviewView, SessionView, TodayView};
use belay_store::session::SessionDetails;
use belay_store::{CallQuery, IncidentQuery, Result, SessionQuery, SessionRow, Store};
use jiff::tz::TimeZone;

use super::needs::{self, Evidence};
use super::{picture, spend};
use crate::views::session_views;

/// Sessions without an event for this long are not looked at, unless they are held.
const RECENT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// Maximum number of sessions that are looked at.
const MAX_SESSIONS: usize = 400;
/// Maximum number of held sessions.
const MAX_HELD: usize = 200;
/// Calls of the small picture of a loop.
const MINI_CALLS: usize = 44;
/// Loops of today that the estimate of avoided waste looks at.
const MAX_LOOPS: usize = 200;

pub fn overview(store: &dyn Store, now: Timestamp, zone: &TimeZone) -> Result<OverviewView> {
    let rows = candidates(store, now)?;
    let mut view = OverviewView { now, ..OverviewView::default() };
    let views = session_views(store, rows.clone())?;
    for (row, session) in rows.iter().zip(views) {
        match need(store, row, &session)? {
            Some(need) => view.needs.push(need),
            None if is_active(&session) && session.parent.is_none() => view.active.push(session),
            None => view.resting += u64::from(!row.key.is_trial()),
        }
    }
    view.trial = has_trial(store)?;
    needs::sort(&mut view.needs);
    view.active.sort_by_key(|session| (session.started_at, session.session.clone()));
    view.today = today(store, now, zone)?;
    Ok(view)
}

fn has_trial(store: &dyn Store) -> Result<bool> {
    let query =
        SessionQuery { agent: Some(TRIAL_AGENT.to_owned()), archived: true, limit: 1, ..SessionQuery::default() };
    Ok(!store.sessions(&query)?.rows.is_empty())
}

/// Recent sessions, and all that are held.
fn candidates(store: &dyn Store, now: Timestamp) -> Result<Vec<SessionRow>> {
    let of = |state: &str| vec![state.to_owned()];
    let recent = SessionQuery {
        states: of("active"),
        since: Some(now - RECENT),
        limit: MAX_SESSIONS,
        ..SessionQuery::default()
    };
    let held = SessionQuery { states: of("paused"), limit: MAX_HELD, ..SessionQuery::default() };
    let mut rows = store.sessions(&held)?.rows;
    rows.extend(store.sessions(&recent)?.rows);
    Ok(rows)
}

/// Works, or waits for something that ends by itself.
fn is_active(session: &SessionView) -> bool {
    matches!(session.status.value, StatusValue::Working | StatusValue::Waiting | StatusValue::Limited)
}

fn need(store: &dyn Store, row: &SessionRow, session: &SessionView) -> Result<Option<NeedView>> {
    let incident = match &session.held {
        Some(held) => store.incident(&held.incident)?,
        None => None,
    };
    let nudged = session.status.value == StatusValue::Working && session.nudges > 0;
    let finding = if nudged { store.findings(&row.key, 1)?.pop() } else { None };
    let evidence =
        Evidence { phase: Some(&row.details.phase.phase), incident: incident.as_ref(), finding: finding.as_ref() };
    let Some(mut need) = needs::need_of(session, &evidence) else { return Ok(None) };
    if matches!(need.kind, NeedKind::Loop | NeedKind::Looping) {
        let finding = match &incident {
            Some(incident) => incident.finding.as_ref(),
            None => finding.as_ref().map(|row| &row.intervention.finding),
        };
        let calls = store.calls(&row.key, &CallQuery { before: None, limit: MINI_CALLS })?;
        let picture = picture::picture(session.calls, &calls, finding, &row.details.strip);
        need.pairs = picture.rows.into_iter().filter(|row| row.in_finding).map(|row| row.pair).collect();
        need.finding_from = picture.finding_from;
        need.calls = picture.calls;
    }
    Ok(Some(need))
}

fn today(store: &dyn Store, now: Timestamp, zone: &TimeZone) -> Result<TodayView> {
    let (rows, first_hour) = spend::today(store, now, zone)?;
    let hours = usize::try_from(now.millis().div_euclid(3_600_000) - first_hour + 1).unwrap_or(0).min(25);
    let mut by_hour = vec![0_u64; hours];
    for row in &rows {
        let at = usize::try_from(row.hour - first_hour).unwrap_or(usize::MAX);
        if let Some(sum) = by_hour.get_mut(at) {
            *sum = sum.saturating_add(row.cost_micros).saturating_add(row.unpriced_micros);
        }
    }
    Ok(TodayView {
        spent: spend::total(&rows),
        by_hour,
        by_agent: spend::grouped(&rows, |row| &row.agent),
        avoided: avoided(store, now, Timestamp::from_millis(first_hour * 3_600_000))?,
        quotas: Vec::new(),
    })
}

/// What today's holds avoided.
fn avoided(store: &dyn Store, now: Timestamp, since: Timestamp) -> Result<AvoidedView> {
    let query = IncidentQuery { closed: true, since: Some(since), limit: MAX_LOOPS, ..IncidentQuery::default() };
    let mut view = AvoidedView::default();
    for incident in store.incidents(&query)? {
        if incident.session.is_trial() {
            continue;
        }
        // A budget that is used up is not a loop.
        let loop_finding = incident.finding.as_ref().filter(|finding| finding.pattern != needs::BUDGET_PATTERN);
        let Some(finding) = loop_finding else { continue };
        let Some(row) = store.session(&incident.session)? else { continue };
        let held = incident.closed_at.unwrap_or(now).saturating_since(incident.opened_at.max(since));
        let counted = waste::counted_hold(incident.opened_at, incident.closed_at.unwrap_or(now), since);
        let cost_micros = waste::avoided_micros(&finding.spent, counted, budget_left(&row.details));
        if cost_micros == 0 {
            continue;
        }
        let killed = row.state.effective().is_killed();
        let project = row.details.facts.project.as_deref().and_then(|path| path.rsplit('/').next());
        view.cost_micros = view.cost_micros.saturating_add(cost_micros);
        view.loops.push(AvoidedLoopView {
            incident: incident.id.clone(),
            session: incident.session.to_string(),
            name: project.map_or_else(|| incident.session.to_string(), str::to_owned),
            how: if killed { "killed".to_owned() } else { format!("held {}", belay_core::format::minutes(held)) },
            cost_micros,
        });
    }
    view.loops.sort_by_key(|avoided| std::cmp::Reverse(avoided.cost_micros));
    Ok(view)
}

/// What is left of the session's own budget.
pub(crate) fn budget_left(details: &SessionDetails) -> Option<u64> {
    details.limits.cost_micros.map(|limit| limit.saturating_sub(details.spent.max_cost_micros()))
}
