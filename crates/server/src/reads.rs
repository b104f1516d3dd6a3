//! Read operations on a store, shared by the resident process and the CLI.

use belay_core::SessionKey;
use belay_ipc::views::{
    FindingView, IncidentView, NoteView, OverviewView, SessionPageView, SessionView, TombstoneView, TotalsView,
};
use belay_ipc::{
    FindingRequest, FindingsRequest, IncidentsRequest, NotesRequest, OverviewRequest, ReadRequest, ResolveRequest,
    SessionPageRequest, SessionRequest, SessionsRequest, SessionsResponse, ShortNamesRequest, TombstonesRequest,
    TotalsRequest,
};
use belay_store::{FindingRow, IncidentQuery, Result, SessionQuery, Store, StoreError};
use jiff::tz::TimeZone;

use crate::dashboard::{self, PageWindow};
use crate::views::{MIN_SHORT_ID_CHARS, session_view, session_views};

/// A read operation on a store. `None` stands for a store that does not exist yet.
pub trait StoreRead: ReadRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Self::Response>;
}

impl StoreRead for ResolveRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<SessionKey> {
        store.ok_or_else(|| StoreError::NotFound(self.name.clone()))?.resolve(&self.name)
    }
}

impl StoreRead for SessionsRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<SessionsResponse> {
        let Some(store) = store else { return Ok(SessionsResponse::default()) };
        let page = store.sessions(&SessionQuery {
            states: self.states.clone(),
            agent: self.agent.clone(),
            project: self.project.clone(),
            archived: self.archived,
            since: self.since,
            limit: self.limit,
            ..SessionQuery::default()
        })?;
        Ok(SessionsResponse { sessions: session_views(store, page.rows)?, more: page.next.is_some() })
    }
}

impl StoreRead for SessionRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Option<SessionView>> {
        store.map_or(Ok(None), |store| session_view(store, &self.session))
    }
}

impl StoreRead for IncidentsRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Vec<IncidentView>> {
        let Some(store) = store else { return Ok(Vec::new()) };
        let incidents = match &self.id {
            Some(id) => store.incident(id)?.into_iter().collect(),
            None => store.incidents(&IncidentQuery {
                session: self.session.clone(),
                closed: self.closed,
                limit: self.limit,
                ..IncidentQuery::default()
            })?,
        };
        Ok(incidents.into_iter().map(IncidentView::from).collect())
    }
}

fn finding_view(row: FindingRow) -> FindingView {
    FindingView { session: row.session, intervention: row.intervention }
}

impl StoreRead for FindingsRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Vec<FindingView>> {
        let Some(store) = store else { return Ok(Vec::new()) };
        Ok(store.findings(&self.session, self.limit)?.into_iter().map(finding_view).collect())
    }
}

impl StoreRead for FindingRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Option<FindingView>> {
        let Some(store) = store else { return Ok(None) };
        Ok(store.finding(&self.id)?.map(finding_view))
    }
}

impl StoreRead for NotesRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Vec<NoteView>> {
        let Some(store) = store else { return Ok(Vec::new()) };
        let notes = store.notes(&self.session, self.limit)?.into_iter();
        Ok(notes
            .map(|row| NoteView {
                session: row.session,
                at: row.at,
                decision: row.decision,
                by: row.by,
                text: row.text,
            })
            .collect())
    }
}

impl StoreRead for TombstonesRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Vec<TombstoneView>> {
        let Some(store) = store else { return Ok(Vec::new()) };
        let tombstones = store.tombstones(self.project.as_deref(), self.now)?.into_iter();
        Ok(tombstones
            .map(|row| TombstoneView {
                session: row.session,
                project: row.project,
                task: row.task,
                pattern: row.pattern,
                message: row.message,
                at: row.at,
                expires_at: row.expires_at,
            })
            .collect())
    }
}

impl StoreRead for ShortNamesRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Vec<String>> {
        match store {
            Some(store) => store.short_names(&self.sessions, MIN_SHORT_ID_CHARS),
            None => Ok(self.sessions.iter().map(SessionKey::to_string).collect()),
        }
    }
}

impl StoreRead for TotalsRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Option<TotalsView>> {
        let Some(store) = store else { return Ok(None) };
        let totals = store.totals(None)?;
        Ok(Some(TotalsView {
            sessions: totals.sessions,
            events: totals.events,
            calls: totals.calls,
            tokens: totals.tokens,
            cost_micros: totals.cost_micros,
            unpriced_micros: totals.unpriced_micros,
            open_incidents: totals.open_incidents,
            outbox: totals.outbox,
            bytes: totals.bytes,
        }))
    }
}

impl StoreRead for OverviewRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<OverviewView> {
        let now = belay_clock::now();
        let Some(store) = store else { return Ok(OverviewView { now, ..OverviewView::default() }) };
        dashboard::overview(store, now, &TimeZone::system())
    }
}

impl StoreRead for SessionPageRequest {
    fn run(&self, store: Option<&dyn Store>) -> Result<Option<Box<SessionPageView>>> {
        let Some(store) = store else { return Ok(None) };
        let window = PageWindow {
            before: self.before,
            calls: self.calls,
            events_before: self.events_before,
            ..PageWindow::default()
        };
        Ok(dashboard::session_page(store, &self.session, window, belay_clock::now())?.map(Box::new))
    }
}
