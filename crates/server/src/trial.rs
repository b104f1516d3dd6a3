//! The guided trial: the agent and the model of `belay demo` against this process.
//!
//! The agent sends its requests through the real proxy to a scripted model in this process, so that what a person sees is
//! what Belay does. The sessions have an agent of their own ([`SessionKey::is_trial`]): they alert nobody and count in no
//! figure.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use belay_core::SessionKey;
use belay_core::key::TRIAL_AGENT;
use belay_ipc::{ErrorBody, ErrorCode};
use belay_proxy::{HoldState, UpstreamConfig};
use belay_scripted_model::ScriptedModel;
use belay_scripted_model::demo::{self, Agent, FAILING_OUTPUT, ModelReply};
use belay_store::{SessionQuery, StoreError};

use crate::intake::store_error_to_ipc;
use crate::state::DaemonState;
use crate::sync::lock;

/// Time between two calls, so that a person can follow.
const PACE: Duration = Duration::from_millis(600);
/// How often the agent looks whether it may continue.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long the agent waits for a person.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);
/// Requests that may fail in a row.
const MAX_FAILURES: u32 = 3;
/// How long the end waits until the exchanges are recorded.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Sessions looked up at a time.
const MAX_SESSIONS: usize = 500;

/// The trial that runs, if any.
#[derive(Debug, Default)]
pub(crate) struct GuidedTrial(Mutex<Option<RunningTrial>>);

#[derive(Debug)]
struct RunningTrial {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Starts the trial. Sessions of an earlier one are removed.
pub(crate) fn start(daemon: &Arc<DaemonState>) -> Result<SessionKey, ErrorBody> {
    let mut running = lock(&daemon.trial.0);
    if running.as_ref().is_some_and(|trial| !trial.thread.is_finished()) {
        let message = "the guided trial already runs";
        return Err(ErrorBody::new(ErrorCode::Refused, message).hint("remove its sessions to start again"));
    }
    remove_sessions(daemon)?;
    let failed = |error: &dyn std::fmt::Display| {
        ErrorBody::new(ErrorCode::Internal, format!("cannot start the guided trial: {error}"))
    };
    let url = daemon.runs.listeners.ensure_loopback().map_err(|error| failed(&error))?;
    let relay = daemon.runs.relay();
    let relay = relay.ok_or_else(|| ErrorBody::new(ErrorCode::Busy, "the resident process is shutting down"))?;
    let model = ScriptedModel::start(demo::script()).map_err(|error| failed(&error))?;
    let session = SessionKey::trial(uuid::Uuid::now_v7().to_string());
    let run = session.to_string();
    // Not stored like a run of `belay run`: the agent does not outlive this process.
    let upstream = UpstreamConfig { plaintext: true, ..UpstreamConfig::new("openai", model.url()) };
    relay.begin_run(&run, &[upstream]).map_err(|error| failed(&error))?;
    let mut agent = Agent::new(&url, format!("/s/{run}/v1/chat/completions"));
    agent.add_header("X-Loop-Task", demo::TASK);
    agent.add_header("X-Loop-Repo", "guided-trial");
    let stop = Arc::new(AtomicBool::new(false));
    let trial = Player { daemon: Arc::clone(daemon), stop: Arc::clone(&stop), session: session.clone() };
    let thread = std::thread::Builder::new().name("trial".to_owned()).spawn(move || {
        if let Err(error) = trial.play(agent) {
            tracing::warn!(%error, "the guided trial ended early");
        }
        if let Some(relay) = trial.daemon.runs.relay() {
            // What is recorded after its removal would bring the session back.
            relay.drain_run(&run, DRAIN_TIMEOUT);
            relay.end_run(&run);
        }
        drop(model);
    });
    *running = Some(RunningTrial { stop, thread: thread.map_err(|error| failed(&error))? });
    Ok(session)
}

/// Ends the trial and removes its sessions. Returns how many there were.
pub(crate) fn remove(daemon: &DaemonState) -> Result<u64, ErrorBody> {
    // Held until the end, so that no new trial begins meanwhile.
    let mut running = lock(&daemon.trial.0);
    if let Some(trial) = running.take() {
        trial.stop.store(true, Ordering::Release);
        if trial.thread.join().is_err() {
            tracing::error!("the guided trial panicked");
        }
    }
    remove_sessions(daemon)
}

fn remove_sessions(daemon: &DaemonState) -> Result<u64, ErrorBody> {
    let query = SessionQuery {
        agent: Some(TRIAL_AGENT.to_owned()),
        archived: true,
        limit: MAX_SESSIONS,
        ..SessionQuery::default()
    };
    let failed = |error: StoreError| store_error_to_ipc(&error);
    let rows = daemon.readers.get().and_then(|store| store.sessions(&query)).map_err(failed)?.rows;
    let sessions: Vec<SessionKey> = rows.into_iter().map(|row| row.key).collect();
    daemon.decisions.delete_sessions(&sessions)
}

/// Plays the agent's part.
struct Player {
    daemon: Arc<DaemonState>,
    stop: Arc<AtomicBool>,
    session: SessionKey,
}

impl Player {
    /// Runs until the agent has finished, was killed, or the trial ends.
    fn play(&self, mut agent: Agent) -> io::Result<()> {
        let (mut resumed, mut failures) = (false, 0);
        loop {
            // A request that is held back would only wait; the agent asks again when it may.
            match agent.ask(|| !self.is_over() && !self.is_held()) {
                Ok(ModelReply::Text(_)) => return Ok(()),
                Ok(ModelReply::Call(command)) => {
                    failures = 0;
                    agent.push_output(if resumed { demo::retry_output(&command) } else { FAILING_OUTPUT });
                    // The person was faster than the agent noticed the pause.
                    if !resumed && self.was_paused() {
                        agent.retry();
                        resumed = true;
                    }
                }
                _ if self.is_over() => return Ok(()),
                _ if self.is_held() => {
                    if !self.wait_for_resume() {
                        return Ok(());
                    }
                    if !resumed {
                        agent.retry();
                    }
                    resumed = true;
                }
                Ok(ModelReply::Refused(reason)) if failures >= MAX_FAILURES => return Err(io::Error::other(reason)),
                Err(error) if failures >= MAX_FAILURES => return Err(error),
                _ => failures += 1,
            }
            if !self.wait(PACE) {
                return Ok(());
            }
        }
    }

    /// Waits while the session is held. `false` if the trial is over.
    fn wait_for_resume(&self) -> bool {
        let until = Instant::now() + MAX_WAIT;
        while self.is_held() {
            // A page that shows the trial may be the only client.
            self.daemon.lifecycle.mark_active();
            if Instant::now() >= until || !self.wait(POLL_INTERVAL) {
                return false;
            }
        }
        true
    }

    /// Waits; `false` if the trial is over.
    fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            self.daemon.lifecycle.shutdown.wait_for(left.min(POLL_INTERVAL));
        }
        false
    }

    fn was_paused(&self) -> bool {
        let row = self.daemon.readers.get().and_then(|store| store.session(&self.session));
        row.is_ok_and(|row| row.is_some_and(|row| row.details.counters.pauses > 0))
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire)
            || self.daemon.lifecycle.shutdown.is_set()
            || self.daemon.decisions.holds.get(&self.session) == HoldState::Killed
    }

    fn is_held(&self) -> bool {
        self.daemon.decisions.holds.get(&self.session) == HoldState::Held
    }
}
