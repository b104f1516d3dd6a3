//! Events of the run itself: its start, changed files, its end.
//!
//! Some agents take their session id from Belay. The id of the others is known after their first request has passed
//! the proxy; until then events are queued.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belay_clock::now;
use belay_core::event::{FileChanged, PermissionRequested, PermissionSubject, SessionEnded, SessionStarted, StartKind};
use belay_core::{Body, Event, Excerpt, SessionKey, Source, Timestamp};
use belay_ipc::views::SessionView;
use belay_ipc::{Client, ClientError, DisconnectWatcher, RunRequest, SessionRequest};
use uuid::Uuid;

use super::error::LaunchError;

/// Maximum number of file changes queued for a session.
const MAX_QUEUED_CHANGES: usize = 512;
/// How long the end of a run waits for a resident process that is being restarted.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Reports the events of one run.
#[derive(Debug)]
pub(crate) struct RunSession {
    run: String,
    inner: Mutex<RunSessionInner>,
    /// Notified when another resident process is connected.
    reattached: Condvar,
}

#[derive(Debug)]
struct RunSessionInner {
    client: Client,
    session: Option<SessionKey>,
    /// File changes with the id and time of their event.
    queued: Vec<(String, Timestamp, FileChanged)>,
    /// How often the run was attached to another resident process.
    reattachments: u32,
    /// Attempts to restart the resident process have failed so far.
    suspended: bool,
}

impl RunSession {
    pub(super) fn new(run: String, session: Option<SessionKey>, client: Client) -> Self {
        let inner = RunSessionInner { client, session, queued: Vec::new(), reattachments: 0, suspended: false };
        Self { run, inner: Mutex::new(inner), reattached: Condvar::new() }
    }

    pub(super) fn session(&self) -> Option<SessionKey> {
        self.lock().session.clone()
    }

    /// The session as the resident process sees it; `None` while its id is unknown or nobody answers.
    pub(crate) fn view(&self) -> Option<SessionView> {
        let mut inner = self.lock();
        if inner.session.is_none() {
            let ask = RunRequest { run: self.run.clone(), ..RunRequest::default() };
            inner.session = inner.client.run(&ask).ok().and_then(|run| run.session);
        }
        let session = inner.session.clone()?;
        inner.client.read(&SessionRequest { session }).ok().flatten()
    }

    /// The session after its agent has exited: with everything that the agent was answered.
    pub(crate) fn last_view(&self) -> Option<SessionView> {
        let drain = RunRequest { run: self.run.clone(), drains: true, ..RunRequest::default() };
        // If nobody answers, what is known has to do.
        let _ = self.lock().client.run(&drain);
        self.view()
    }

    /// Another session, such as the one that this run continues.
    pub(crate) fn view_of(&self, session: &SessionKey) -> Option<SessionView> {
        self.lock().client.read(&SessionRequest { session: session.clone() }).ok().flatten()
    }

    /// Reports the start, if Belay chose the session id, and the dialog that comes before the agent's own report.
    pub(super) fn begin(&self, dir: &Path, dialog: Option<&str>) -> Result<(), LaunchError> {
        let mut inner = self.lock();
        let Some(session) = inner.session.clone() else { return Ok(()) };
        let (how, pid) = (StartKind::Launched, Some(std::process::id()));
        let started = SessionStarted { how, pid, ..SessionStarted::default() };
        let at = now();
        let mut event = self.event(&session, Source::Api, at, Body::SessionStarted(started));
        event.cwd = Some(dir.display().to_string());
        let asks = |what: &str| {
            let subject = PermissionSubject::Dialog;
            let asked = PermissionRequested { call: None, what: Excerpt::with_limit(what, 256), subject };
            self.event(&session, Source::Api, at, Body::PermissionAsked(asked))
        };
        let events: Vec<Event> = [event].into_iter().chain(dialog.map(asks)).collect();
        inner.client.observe(&events)?;
        Ok(())
    }

    /// Registers the run's budgets and upstreams.
    pub(super) fn register_budget(&self, run: &RunRequest) -> Result<(), LaunchError> {
        self.lock().client.run(run)?;
        Ok(())
    }

    /// Detects the exit of the resident process.
    pub(super) fn hangup(&self) -> DisconnectWatcher {
        self.lock().client.disconnect_watcher()
    }

    /// Attaches the run to a new resident process.
    pub(super) fn reattach(&self, mut client: Client, run: &RunRequest) -> Result<(), LaunchError> {
        let mut inner = self.lock();
        let mut run = RunRequest { session: inner.session.clone().or_else(|| run.session.clone()), ..run.clone() };
        if run.session.is_some() {
            // The budget was set when the session became known; an operator may have raised it since.
            run.budget.clear();
        }
        client.run(&run)?;
        inner.client = client;
        inner.reattachments += 1;
        inner.suspended = false;
        self.reattached.notify_all();
        Ok(())
    }

    /// There may be no resident process for a while: callers do not wait for one.
    pub(super) fn suspend(&self) {
        self.lock().suspended = true;
        self.reattached.notify_all();
    }

    /// Reports changed files. Changes that cannot be sent now are sent with the next ones.
    pub(super) fn report_changes(&self, changes: Vec<FileChanged>) {
        let mut inner = self.lock();
        let at = now();
        inner.queued.extend(changes.into_iter().map(|change| (new_id(), at, change)));
        let surplus = inner.queued.len().saturating_sub(MAX_QUEUED_CHANGES);
        inner.queued.drain(..surplus);
        self.send_changes(&mut inner);
    }

    fn send_changes(&self, inner: &mut RunSessionInner) {
        if inner.session.is_none() {
            let ask = RunRequest { run: self.run.clone(), ..RunRequest::default() };
            inner.session = inner.client.run(&ask).ok().and_then(|run| run.session);
        }
        let Some(session) = inner.session.clone() else { return };
        let events = inner.queued.iter().map(|(id, at, change)| {
            Event::new(id.clone(), session.clone(), Source::Watcher, *at, Body::FileChanged(change.clone()))
        });
        if is_settled(&inner.client.observe(&events.collect::<Vec<_>>())) {
            inner.queued.clear();
        }
    }

    /// Reports the end: `None` if the program could not be started.
    pub(super) fn end(&self, ended: Option<ExitStatus>) {
        let reason = if ended.is_some() { "the program ended" } else { "the program could not be started" };
        let exit_code = ended.and_then(|ended| ended.code());
        let body = Body::SessionEnded(SessionEnded { reason: Some(reason.to_owned()), exit_code });
        let (id, at) = (new_id(), now());
        let end = |session| Event::new(id.clone(), session, Source::Api, at, body.clone());
        let mut inner = self.lock();
        if self.send_end(&mut inner, &end) {
            return;
        }
        // The resident process was killed: another one may be starting.
        let before = inner.reattachments;
        let again = self
            .reattached
            .wait_timeout_while(inner, RECONNECT_TIMEOUT, |inner| inner.reattachments == before && !inner.suspended);
        let mut inner = again.unwrap_or_else(PoisonError::into_inner).0;
        self.send_end(&mut inner, &end);
    }

    /// Sends the last changes, then the end. Returns whether a retry is pointless.
    fn send_end(&self, inner: &mut RunSessionInner, end: &dyn Fn(SessionKey) -> Event) -> bool {
        // The answer comes when the responses of this run are recorded: events after the end would reopen the session.
        let over = RunRequest { run: self.run.clone(), ends: true, ..RunRequest::default() };
        let answer = inner.client.run(&over);
        let is_over = is_settled(&answer);
        inner.session = inner.session.take().or_else(|| answer.ok().and_then(|run| run.session));
        self.send_changes(inner);
        match inner.session.clone() {
            Some(session) => is_over && is_settled(&inner.client.observe(&[end(session)])),
            None => is_over,
        }
    }

    fn event(&self, session: &SessionKey, source: Source, at: Timestamp, body: Body) -> Event {
        Event::new(new_id(), session.clone(), source, at, body)
    }

    fn lock(&self) -> MutexGuard<'_, RunSessionInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a retry is pointless.
fn is_settled<T>(answer: &Result<T, ClientError>) -> bool {
    matches!(answer, Ok(_) | Err(ClientError::Refused(_)))
}

fn new_id() -> String {
    Uuid::now_v7().to_string()
}
