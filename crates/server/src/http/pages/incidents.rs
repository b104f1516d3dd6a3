//! The inbox of incidents.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use belay_clock::now;
use belay_core::event::OperatorDecision;
use belay_core::{Incident, SessionKey, waste};
use belay_dashboard::model::{HappenedKind, HappenedLine, IncidentDetail, IncidentFilter, IncidentItem, IncidentsPage};
use belay_ipc::views::{IncidentView, SessionView};
use belay_store::{IncidentQuery, Result, Store};
use serde::Deserialize;

use super::decision_log::{self, MAX_DECISIONS, who};
use super::respond;
use crate::dashboard::{self, PageWindow};
use crate::state::DaemonState;
use crate::views::session_view;

/// Maximum number of incidents in a list.
const MAX_INCIDENTS: usize = 200;
/// Calls of the picture of the selected incident.
const PICTURE_CALLS: usize = 57;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IncidentsPageQuery {
    fragment: Option<String>,
    /// open, acknowledged or closed.
    state: String,
    /// The selected incident.
    incident: Option<String>,
}

pub(super) async fn page(
    State(daemon): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<IncidentsPageQuery>,
) -> Response {
    let filter = match query.state.as_str() {
        "acknowledged" => IncidentFilter::Acknowledged,
        "closed" => IncidentFilter::Closed,
        _ => IncidentFilter::Open,
    };
    respond(&daemon, &headers, query.fragment, move |daemon, reader| {
        let store = daemon.readers.get()?;
        Ok(Inbox { store: &*store, reader: reader.name.as_deref() }.view(filter, query.incident.as_deref())?)
    })
    .await
}

/// Reads the page for one reader.
struct Inbox<'a> {
    store: &'a dyn Store,
    /// The name under which the reader decides.
    reader: Option<&'a str>,
}

impl Inbox<'_> {
    fn view(&self, filter: IncidentFilter, selected: Option<&str>) -> Result<IncidentsPage> {
        let store = self.store;
        let all = store.incidents(&IncidentQuery { closed: true, limit: MAX_INCIDENTS, ..IncidentQuery::default() })?;
        let mut open = store.incidents(&IncidentQuery { limit: MAX_INCIDENTS, ..IncidentQuery::default() })?;
        let closed: Vec<Incident> = all.into_iter().filter(|incident| incident.closed_at.is_some()).collect();
        open.sort_by_key(|incident| incident.opened_at);
        let (acknowledged, open): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|incident| incident.acknowledged_at.is_some());
        let counts = [open.len() as u64, acknowledged.len() as u64, closed.len() as u64];
        let today: Vec<Incident> = closed.iter().filter(|incident| closed_today(incident)).cloned().collect();
        let shown = match filter {
            IncidentFilter::Open => open,
            IncidentFilter::Acknowledged => acknowledged,
            IncidentFilter::Closed => closed,
        };
        let incidents = self.items(shown)?;
        let selected = match selected {
            Some(id) => store.incident(id)?,
            None => None,
        };
        let selected = match selected {
            Some(incident) => self.item(incident)?,
            None => incidents.first().cloned(),
        };
        Ok(IncidentsPage {
            filter,
            open: counts[0],
            acknowledged: counts[1],
            closed: counts[2],
            incidents,
            closed_today: if filter == IncidentFilter::Open { self.items(today)? } else { Vec::new() },
            selected: selected.map(|item| self.detail(item)).transpose()?,
            decisions: decision_log::newest(store, self.reader)?,
        })
    }

    fn items(&self, incidents: Vec<Incident>) -> Result<Vec<IncidentItem>> {
        let items: Result<Vec<Option<IncidentItem>>> =
            incidents.into_iter().map(|incident| self.item(incident)).collect();
        Ok(items?.into_iter().flatten().collect())
    }

    /// An incident with its session; `None` if the session was deleted.
    fn item(&self, incident: Incident) -> Result<Option<IncidentItem>> {
        let Some(session) = session_view(self.store, &incident.session)? else { return Ok(None) };
        let closed_how = match incident.closed_at {
            Some(_) => self.closing_decision(&incident)?,
            None => None,
        };
        Ok(Some(IncidentItem { incident: IncidentView::from(incident), session, closed_how }))
    }

    /// "killed by alice": the decision that closed an incident.
    fn closing_decision(&self, incident: &Incident) -> Result<Option<String>> {
        let closed_at = incident.closed_at.unwrap_or_default();
        let decisions = self.store.decisions(Some(&incident.session), MAX_DECISIONS)?;
        let closing = decisions.into_iter().find(|row| {
            row.at == closed_at && matches!(row.decision, OperatorDecision::Resume { .. } | OperatorDecision::Kill)
        });
        Ok(closing.map(|row| format!("{} by {}", row.decision.past_tense(), who(&row, self.reader))))
    }

    fn detail(&self, item: IncidentItem) -> Result<IncidentDetail> {
        let session = &item.session;
        let key = SessionKey { agent: session.agent.clone().into(), id: session.id.clone().into() };
        let window = PageWindow { calls: PICTURE_CALLS, ..PageWindow::default() };
        let page = dashboard::session_page(self.store, &key, window, now())?;
        let picture = page.map(|page| page.picture).unwrap_or_default();
        let left = self.store.session(&key)?.and_then(|row| dashboard::budget_left(&row.details));
        let saved = item.incident.finding.as_ref().map(|finding| {
            let held = item.incident.closed_at.unwrap_or_else(now).saturating_since(item.incident.opened_at);
            waste::avoided_micros(&finding.spent, held, left)
        });
        Ok(IncidentDetail {
            calls: picture.calls,
            pairs: picture.rows.into_iter().filter(|row| row.in_finding).map(|row| row.pair).collect(),
            finding_from: picture.finding_from,
            saved_micros: saved.filter(|micros| *micros > 0),
            next_budget_micros: dashboard::next_budget(session),
            happened: self.happened(&key, session, &item.incident)?,
            item,
        })
    }

    /// Findings and decisions about the session since the incident's finding, oldest first.
    fn happened(&self, key: &SessionKey, session: &SessionView, incident: &IncidentView) -> Result<Vec<HappenedLine>> {
        let since = session.started_at.max(incident.opened_at - std::time::Duration::from_secs(3600));
        let mut lines: Vec<HappenedLine> = self
            .store
            .findings(key, MAX_DECISIONS)?
            .into_iter()
            .map(|row| row.intervention)
            .filter(|step| step.finding.at >= since)
            .map(|step| HappenedLine {
                at: step.finding.at,
                kind: HappenedKind::Intervened(step.level),
                text: step.finding.sentence,
            })
            .collect();
        for row in self.store.decisions(Some(key), MAX_DECISIONS)?.into_iter().filter(|row| row.at >= since) {
            let note = if row.text.is_empty() { String::new() } else { format!(": {}", row.text) };
            let verb = row.decision.past_tense();
            let text = format!("{} {verb} it{note}", who(&row, self.reader));
            lines.push(HappenedLine { at: row.at, kind: HappenedKind::Person, text });
        }
        lines.sort_by_key(|line| line.at);
        Ok(lines)
    }
}

/// On the calendar day of this machine.
fn closed_today(incident: &Incident) -> bool {
    let today = dashboard::day_start(now(), &jiff::tz::TimeZone::system());
    incident.closed_at.is_some_and(|at| at >= today)
}
