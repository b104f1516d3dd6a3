//! What the run itself has to tell: that it began, which files changed, how it ended.
//!
//! Some agents have their session's id from us. Of the others it is known once their first request
//! has passed the proxy; until then what there is to tell waits.

use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use belay_core::event::{FileChanged, SessionEnded, SessionStarted};
use belay_core::{Body, Event, SessionKey, Source, Timestamp};
use belay_ipc::{Client, ClientError, DisconnectWatcher, RunRequest};
use uuid::Uuid;

use super::run_plan::RunPlan;
use crate::error::CommandError;

/// Most file changes that wait for a session.
const MAX_QUEUED_CHANGES: usize = 512;
/// How long the end of a run waits for a resident process that is just being started again.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The teller of one run.
#[derive(Debug)]
pub(super) struct RunSession {
    run: String,
    inner: Mutex<RunSessionInner>,
    /// Rings when there is another resident process to tell it to.
    taken_up: Condvar,
}

#[derive(Debug)]
struct RunSessionInner {
    client: Client,
    session: Option<SessionKey>,
    /// What has happened, and an id for when it is told.
    waiting: Vec<(String, Timestamp, FileChanged)>,
    /// How many resident processes this run has outlived.
    outlived: u32,
    /// Nobody starts another.
    abandoned: bool,
}

impl RunSession {
    pub(super) fn new(run: String, session: Option<SessionKey>, client: Client) -> Self {
        let inner = RunSessionInner { client, session, waiting: Vec::new(), outlived: 0, abandoned: false };
        Self { run, inner: Mutex::new(inner), taken_up: Condvar::new() }
    }

    pub(super) fn session(&self) -> Option<SessionKey> {
        self.lock().session.clone()
    }

    /// The run begins. Of a session whose id is ours, we tell first.
    pub(super) fn begin(&self, plan: &RunPlan) -> Result<(), CommandError> {
        let mut inner = self.lock();
        let Some(session) = inner.session.clone() else { return Ok(()) };
        let started = SessionStarted { pid: Some(std::process::id()), ..SessionStarted::default() };
        let mut event = self.event(&session, Source::Api, now(), Body::SessionStarted(started));
        event.cwd = Some(plan.folder.display().to_string());
        inner.client.observe(&[event])?;
        Ok(())
    }

    /// What the resident process is to know about the run.
    pub(super) fn register_budget(&self, run: &RunRequest) -> Result<(), CommandError> {
        self.lock().client.run(run)?;
        Ok(())
    }

    /// To learn of it when the resident process is gone.
    pub(super) fn hangup(&self) -> DisconnectWatcher {
        self.lock().client.disconnect_watcher()
    }

    /// There is another resident process: it takes up the run where the last one left it.
    pub(super) fn reattach(&self, mut client: Client, run: &RunRequest) -> Result<(), CommandError> {
        let mut inner = self.lock();
        let mut run = RunRequest { session: inner.session.clone().or_else(|| run.session.clone()), ..run.clone() };
        if run.session.is_some() {
            // It was set when the session became known, and somebody may have raised it since.
            run.budget.clear();
        }
        client.run(&run)?;
        inner.client = client;
        inner.outlived += 1;
        self.taken_up.notify_all();
        Ok(())
    }

    /// There will be no other resident process: nobody need wait for one.
    pub(super) fn give_up(&self) {
        self.lock().abandoned = true;
        self.taken_up.notify_all();
    }

    /// Files changed. What cannot be told now is told with the next change.
    pub(super) fn report_changes(&self, changes: Vec<FileChanged>) {
        let mut inner = self.lock();
        let at = now();
        inner.waiting.extend(changes.into_iter().map(|change| (new_id(), at, change)));
        let surplus = inner.waiting.len().saturating_sub(MAX_QUEUED_CHANGES);
        inner.waiting.drain(..surplus);
        self.tell_changes(&mut inner);
    }

    fn tell_changes(&self, inner: &mut RunSessionInner) {
        if inner.session.is_none() {
            let ask = RunRequest { run: self.run.clone(), ..RunRequest::default() };
            inner.session = inner.client.run(&ask).ok().and_then(|run| run.session);
        }
        let Some(session) = inner.session.clone() else { return };
        let told = inner.waiting.iter().map(|(id, at, change)| {
            Event::new(id.clone(), session.clone(), Source::Watcher, *at, Body::FileChanged(change.clone()))
        });
        if is_told(inner.client.observe(&told.collect::<Vec<_>>())) {
            inner.waiting.clear();
        }
    }

    /// The run is over, or has never begun: there is nobody then who has ended.
    pub(super) fn end(&self, ended: Option<ExitStatus>) {
        let mut inner = self.lock();
        // Its last answer may have come this very moment; what is told of it later would be taken for life.
        let over = RunRequest { run: self.run.clone(), ends: true, ..RunRequest::default() };
        let known = inner.client.run(&over).ok().and_then(|run| run.session);
        inner.session = inner.session.take().or(known);
        self.tell_changes(&mut inner);
        let Some(session) = inner.session.clone() else { return };
        let reason = if ended.is_some() { "the program ended" } else { "the program could not be started" };
        let exit_code = ended.and_then(|ended| ended.code());
        let body = Body::SessionEnded(SessionEnded { reason: Some(reason.to_owned()), exit_code });
        let end = [self.event(&session, Source::Api, now(), body)];
        let before = inner.outlived;
        if !is_told(inner.client.observe(&end)) {
            let again = self
                .taken_up
                .wait_timeout_while(inner, RECONNECT_TIMEOUT, |inner| inner.outlived == before && !inner.abandoned);
            let mut inner = again.unwrap_or_else(PoisonError::into_inner).0;
            self.tell_changes(&mut inner);
            let _ = inner.client.observe(&end);
        }
    }

    fn event(&self, session: &SessionKey, source: Source, at: Timestamp, body: Body) -> Event {
        Event::new(new_id(), session.clone(), source, at, body)
    }

    fn lock(&self) -> MutexGuard<'_, RunSessionInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there is no point in telling it again.
fn is_told<T>(answer: Result<T, ClientError>) -> bool {
    matches!(answer, Ok(_) | Err(ClientError::Refused(_)))
}

fn new_id() -> String {
    Uuid::now_v7().to_string()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
