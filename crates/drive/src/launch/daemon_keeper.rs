//! Keeps the resident process alive during a run: starts it if necessary and restarts it when it dies.
//!
//! An agent that uses the proxy has no other way to its model. A thread waits for the resident process to disconnect.
//! A new one takes over the store, the run and the port, so that a retried request succeeds.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use belay_config::{DurationSetting, Loader, Strictness};
use belay_ipc::{Client, ClientError, RunRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::error::LaunchError;
use super::run_session::RunSession;
use super::{BelayEnv, Progress};

/// Timeout for starting the resident process.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a request.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Delays before the attempts to restart it.
const RESTART_DELAYS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(500), Duration::from_secs(2)];
/// A resident process that exits sooner than this counts as a failed start.
const MIN_UPTIME: Duration = Duration::from_secs(10);
/// Failed starts in a row before we give up.
const MAX_FAILED_STARTS: u32 = 5;

/// Starts and restarts the resident process.
pub(super) struct DaemonKeeper<'a> {
    belay: BelayEnv<'a>,
    /// Resolved at the start: the file may be replaced later.
    executable: PathBuf,
    idle_exit: DurationSetting,
    progress: &'a dyn Progress,
}

impl<'a> DaemonKeeper<'a> {
    pub(super) fn new(
        belay: BelayEnv<'a>,
        idle_exit: DurationSetting,
        progress: &'a dyn Progress,
    ) -> Result<Self, LaunchError> {
        Ok(Self { belay, executable: std::env::current_exe()?, idle_exit, progress })
    }

    /// Connects to the resident process and starts it if necessary, until `cancelled`.
    pub(super) fn connect(&self, cancelled: impl Fn() -> bool) -> Result<Client, LaunchError> {
        let BelayEnv { paths, env, home } = self.belay;
        let absent = match Client::connect(paths, REQUEST_TIMEOUT) {
            Ok(client) => return Ok(client),
            Err(error @ ClientError::NotRunning(_)) => error,
            Err(error) => {
                // A missing state directory is the more useful error.
                paths.create()?;
                return Err(error.into());
            }
        };
        paths.create()?;
        // With an invalid configuration it would not start, and its error would be lost.
        Loader::new(paths, env).strictness(Strictness::Strict).load()?;
        let until = Instant::now() + START_TIMEOUT;
        while Instant::now() < until && !cancelled() {
            // Does nothing while another one is starting. One that was shutting down is gone at the next attempt.
            belay_hooks::daemon_autostart::start(paths, env, home, &self.executable, self.idle_exit)
                .map_err(LaunchError::Autostart)?;
            if let Ok(client) = Client::connect(paths, REQUEST_TIMEOUT) {
                return Ok(client);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(LaunchError::NotAnswering(absent))
    }

    /// Restarts the resident process whenever it exits, until the run is over: until `over` is closed.
    pub(super) fn keep_alive(&self, session: &RunSession, run: &RunRequest, over: &UnixStream) {
        let mut since = Instant::now();
        let mut failed_starts = 0;
        loop {
            match session.hangup().wait(over) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.give_up(session, &error.into()),
            }
            failed_starts = if since.elapsed() < MIN_UPTIME { failed_starts + 1 } else { 0 };
            match self.restart(session, run, over) {
                Ok(()) if failed_starts < MAX_FAILED_STARTS => since = Instant::now(),
                Ok(()) => return self.give_up(session, &LaunchError::KeepsExiting),
                Err(_) if is_over(over, Duration::ZERO) => return,
                Err(error) => return self.give_up(session, &error),
            }
        }
    }

    fn restart(&self, session: &RunSession, run: &RunRequest, over: &UnixStream) -> Result<(), LaunchError> {
        let mut problem = None;
        for wait in RESTART_DELAYS {
            if is_over(over, wait) {
                break;
            }
            belay_hooks::daemon_autostart::clear_stale_start_marker(self.belay.paths);
            let client = self.connect(|| is_over(over, Duration::ZERO));
            match client.and_then(|client| session.reattach(client, run)) {
                Ok(()) => return Ok(()),
                Err(error) => problem = Some(error),
            }
        }
        Err(problem.unwrap_or(LaunchError::Over))
    }

    fn give_up(&self, session: &RunSession, error: &LaunchError) {
        session.give_up();
        self.progress.supervision_lost(error);
    }
}

/// Whether the run is over, or ends within this time.
fn is_over(over: &UnixStream, within: Duration) -> bool {
    let within = Timespec { tv_sec: within.as_secs().cast_signed(), tv_nsec: i64::from(within.subsec_nanos()) };
    // Nothing is ever written to it: readable means closed.
    let polled = poll(&mut [PollFd::new(over, PollFlags::IN)], Some(&within)).map_err(io::Error::from);
    polled.is_ok_and(|ready| ready > 0)
}
