//! Keeps the resident process alive during a run: starts it if necessary, restarts it when it exits, and replaces it
//! when it hangs.
//!
//! An agent that uses the proxy has no other way to its model. A thread waits for the resident process to disconnect
//! and pings it meanwhile. A new one takes over the store, the run and the port, so that a retried request succeeds. As
//! long as the run lasts, the attempts continue with growing delays.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belay_config::DurationSetting;
use belay_hooks::daemon_autostart::{self, StartedBy};
use belay_ipc::{Client, ClientError, DisconnectEvent, RunRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::error::LaunchError;
use super::run_session::RunSession;
use super::{BelayEnv, Progress, hanging_daemon};

/// Timeout for starting the resident process.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a request.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two pings.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// Timeout of a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(3);
/// Number of consecutive unanswered pings after which the resident process counts as hanging.
const MAX_FAILED_PINGS: u32 = 3;
/// Failed attempts in a row after which the user is warned.
const WARN_AFTER_FAILURES: u32 = 3;

/// Delays between attempts to restart the resident process.
#[derive(Debug, Default)]
struct Backoff {
    /// Attempts since the resident process last ran for long enough.
    attempts: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(500);
    const MAX: Duration = Duration::from_secs(10);
    /// A resident process that exits sooner than this counts as a failed start.
    const MIN_UPTIME: Duration = Duration::from_secs(10);

    /// The delay before the next attempt. The first one is immediate.
    fn next_delay(&mut self) -> Duration {
        let doublings = self.attempts.checked_sub(1);
        self.attempts = self.attempts.saturating_add(1);
        doublings.map_or(Duration::ZERO, |doublings| {
            Self::FIRST.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(Self::MAX)
        })
    }

    fn record_uptime(&mut self, uptime: Duration) {
        if uptime >= Self::MIN_UPTIME {
            self.attempts = 0;
        }
    }
}

/// Connects to the resident process and starts it if necessary, until `cancelled`.
pub(super) fn connect_or_start(
    belay: BelayEnv<'_>,
    executable: &Path,
    idle_exit: DurationSetting,
    cancelled: impl Fn() -> bool,
) -> Result<Client, LaunchError> {
    let BelayEnv { paths, env, called_by_agent, .. } = belay;
    let by = if called_by_agent { StartedBy::Agent(env) } else { StartedBy::Person(env) };
    let absent = match Client::connect(paths, REQUEST_TIMEOUT) {
        Ok(client) => return Ok(client),
        Err(error @ ClientError::NotRunning(_)) => error,
        Err(error) => {
            // An unusable state directory is the more useful error.
            paths.create()?;
            return Err(error.into());
        }
    };
    paths.create()?;
    let until = Instant::now() + START_TIMEOUT;
    while Instant::now() < until && !cancelled() {
        // Does nothing while another one is starting. One that was shutting down is gone at the next attempt.
        daemon_autostart::start(paths, by, executable, idle_exit).map_err(LaunchError::Autostart)?;
        if let Ok(client) = Client::connect(paths, REQUEST_TIMEOUT) {
            return Ok(client);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(LaunchError::NotAnswering(absent))
}

/// Why the resident process has to be restarted.
enum Failure {
    Exited,
    Hangs,
}

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
        connect_or_start(self.belay, &self.executable, self.idle_exit, cancelled)
    }

    /// Restarts the resident process whenever it exits or hangs, until the run is over (`over` is closed).
    pub(super) fn keep_alive(&self, session: &RunSession, run: &RunRequest, over: &UnixStream) {
        let mut backoff = Backoff::default();
        loop {
            let since = Instant::now();
            match self.wait_for_failure(session, over) {
                None => return,
                Some(Failure::Exited) => {}
                Some(Failure::Hangs) => self.kill_hanging(),
            }
            backoff.record_uptime(since.elapsed());
            if !self.restart(session, run, over, &mut backoff) {
                return;
            }
        }
    }

    /// Waits until the resident process exits or hangs; `None` if the run is over first.
    fn wait_for_failure(&self, session: &RunSession, over: &UnixStream) -> Option<Failure> {
        let watcher = session.hangup();
        let mut failed_pings = 0;
        loop {
            match watcher.wait(over, PING_INTERVAL) {
                Ok(DisconnectEvent::OtherClosed) => return None,
                Ok(DisconnectEvent::Disconnected) | Err(_) => return Some(Failure::Exited),
                Ok(DisconnectEvent::TimedOut) => {}
            }
            failed_pings = if self.answers() { 0 } else { failed_pings + 1 };
            if failed_pings >= MAX_FAILED_PINGS {
                return Some(Failure::Hangs);
            }
        }
    }

    fn answers(&self) -> bool {
        Client::connect(self.belay.paths, PING_TIMEOUT).and_then(|mut client| client.ping()).is_ok()
    }

    fn kill_hanging(&self) {
        if let Err(error) = hanging_daemon::kill(self.belay.paths) {
            tracing::warn!(%error, "cannot end a resident process that does not answer");
        }
    }

    /// Attaches the run to a new resident process, without a timeout; `false` if the run is over first.
    fn restart(&self, session: &RunSession, run: &RunRequest, over: &UnixStream, backoff: &mut Backoff) -> bool {
        let (mut failures, mut timeouts) = (0_u32, 0_u32);
        loop {
            if is_over(over, backoff.next_delay()) {
                return false;
            }
            daemon_autostart::clear_stale_start_marker(self.belay.paths);
            let client = self.connect(|| is_over(over, Duration::ZERO));
            let error = match client.and_then(|client| session.reattach(client, run)) {
                Ok(()) if failures >= WARN_AFTER_FAILURES => {
                    self.progress.supervision_restored();
                    return true;
                }
                Ok(()) => return true,
                Err(_) if is_over(over, Duration::ZERO) => return false,
                Err(error) => error,
            };
            failures = failures.saturating_add(1);
            if error.is_timeout() {
                timeouts += 1;
                if timeouts >= MAX_FAILED_PINGS {
                    timeouts = 0;
                    self.kill_hanging();
                }
            }
            if failures == WARN_AFTER_FAILURES {
                session.suspend();
                self.progress.supervision_lost(&error);
            }
        }
    }
}

/// Whether the run is over, or ends within this time.
fn is_over(over: &UnixStream, within: Duration) -> bool {
    let within = Timespec { tv_sec: within.as_secs().cast_signed(), tv_nsec: i64::from(within.subsec_nanos()) };
    // Nothing is ever written to it: readable means closed.
    let polled = poll(&mut [PollFd::new(over, PollFlags::IN)], Some(&within)).map_err(io::Error::from);
    polled.is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_slow_down_and_never_stop() {
        let mut backoff = Backoff::default();
        let delays: Vec<u128> = (0..8).map(|_| backoff.next_delay().as_millis()).collect();
        assert_eq!(delays, [0, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        for _ in 0..100 {
            assert_eq!(backoff.next_delay(), Backoff::MAX);
        }
        backoff.record_uptime(Duration::from_secs(1));
        assert_eq!(backoff.next_delay(), Backoff::MAX, "a short life is a failed start");
        backoff.record_uptime(Backoff::MIN_UPTIME);
        assert_eq!(backoff.next_delay(), Duration::ZERO);
    }
}
