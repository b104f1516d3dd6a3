//! What the run itself has to tell: that it began, which files changed, how it ended.
//!
//! Some agents have their session's id from us. Of the others it is known once their first request
//! has passed the proxy; until then what there is to tell waits.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use belay_core::event::{FileChanged, SessionEnded, SessionStarted};
use belay_core::{Body, Event, SessionKey, Source, Time};
use belay_server::Client;
use belay_server::protocol::BeginRun;
use uuid::Uuid;

use super::child::Ended;
use super::plan::Plan;
use crate::error::CommandError;

/// Most file changes that wait for a session.
const WAITING: usize = 512;

/// The teller of one run.
#[derive(Debug)]
pub(super) struct Story {
    run: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    session: Option<SessionKey>,
    waiting: Vec<(Time, FileChanged)>,
}

impl Story {
    pub(super) fn new(run: String, session: Option<SessionKey>, client: Client) -> Self {
        Self { run, inner: Mutex::new(Inner { client, session, waiting: Vec::new() }) }
    }

    pub(super) fn session(&self) -> Option<SessionKey> {
        self.lock().session.clone()
    }

    /// The run begins. Of a session whose id is ours, we tell first.
    pub(super) fn begin(&self, plan: &Plan) -> Result<(), CommandError> {
        let mut inner = self.lock();
        let Some(session) = inner.session.clone() else { return Ok(()) };
        let started = SessionStarted { pid: Some(std::process::id()), ..SessionStarted::default() };
        let mut event = self.event(&session, Source::Api, now(), Body::SessionStarted(started));
        event.cwd = Some(plan.folder.display().to_string());
        inner.client.observe(&[event])?;
        Ok(())
    }

    /// What the resident process is to know about the run.
    pub(super) fn promise(&self, run: &BeginRun) -> Result<(), CommandError> {
        self.lock().client.run(run)?;
        Ok(())
    }

    /// Files changed. What cannot be told is not worth stopping for.
    pub(super) fn changed(&self, changes: Vec<FileChanged>) {
        let mut inner = self.lock();
        let at = now();
        inner.waiting.extend(changes.into_iter().map(|change| (at, change)));
        let surplus = inner.waiting.len().saturating_sub(WAITING);
        inner.waiting.drain(..surplus);
        if inner.session.is_none() {
            let ask = BeginRun { run: self.run.clone(), ..BeginRun::default() };
            inner.session = inner.client.run(&ask).ok().and_then(|run| run.session);
        }
        let Some(session) = inner.session.clone() else { return };
        let waiting = std::mem::take(&mut inner.waiting);
        let told = waiting
            .into_iter()
            .map(|(at, change)| self.event(&session, Source::Watcher, at, Body::FileChanged(change)));
        let _ = inner.client.observe(&told.collect::<Vec<_>>());
    }

    /// The run is over.
    pub(super) fn end(&self, ended: &Ended) {
        self.changed(Vec::new());
        let mut inner = self.lock();
        let Some(session) = inner.session.clone() else { return };
        let body =
            Body::SessionEnded(SessionEnded { reason: Some("the program ended".to_owned()), exit_code: ended.code() });
        let _ = inner.client.observe(&[self.event(&session, Source::Api, now(), body)]);
    }

    fn event(&self, session: &SessionKey, source: Source, at: Time, body: Body) -> Event {
        Event::new(Uuid::now_v7().to_string(), session.clone(), source, at, body)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
