//! The resident process, for as long as a run lasts: started if need be, and started again when it is gone.
//!
//! An agent that was pointed at our proxy has nowhere else to go. So a thread waits for the resident process to hang
//! up; a new one takes over the store, the run and the very port, and whoever tries its request again gets through.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use belay_config::{DurationSetting, Loader, Strictness};
use belay_ipc::{Client, ClientError, RunRequest};
use belay_server::instance_lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::run_session::RunSession;
use crate::context::Context;
use crate::error::CommandError;

/// How long the resident process may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to answer.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait before each try to start it again.
const RESTART_DELAYS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(500), Duration::from_secs(2)];
/// One that leaves sooner than this after its start did not live.
const MIN_UPTIME: Duration = Duration::from_secs(10);
/// So many in a row that did not live are enough.
const MAX_FAILED_STARTS: u32 = 5;

/// Starts the resident process.
#[derive(Debug)]
pub(super) struct DaemonKeeper<'c> {
    context: &'c Context,
    /// Asked for at the beginning: later the file may have been replaced.
    belay: PathBuf,
    idle: DurationSetting,
}

impl<'c> DaemonKeeper<'c> {
    pub(super) fn new(context: &'c Context) -> Result<Self, CommandError> {
        let idle = context.config(Strictness::Lenient, &[])?.config.hooks.idle_exit;
        Ok(Self { context, belay: std::env::current_exe()?, idle })
    }

    /// A connection to the resident process, started if need be; unless that becomes pointless.
    pub(super) fn connect(&self, pointless: impl Fn() -> bool) -> Result<Client, CommandError> {
        let Context { places, env, global, .. } = self.context;
        let absent = match Client::connect(places, REQUEST_TIMEOUT) {
            Ok(client) => return Ok(client),
            Err(error @ ClientError::NotRunning(_)) => error,
            Err(error) => {
                // If there is no place for it to be, that is what is wrong.
                places.create()?;
                return Err(error.into());
            }
        };
        places.create()?;
        // One with a configuration that is wrong would not start, and could not say why.
        Loader::new(places, env).strictness(Strictness::Strict).load()?;
        let until = Instant::now() + START_TIMEOUT;
        while Instant::now() < until && !pointless() {
            // Does nothing while one is on its way; one that was just leaving is gone by the next time.
            belay_hooks::daemon_autostart::start(places, env, global.home.as_deref(), &self.belay, self.idle)
                .map_err(|error| CommandError::new(error.to_string()).hint("`belay doctor` looks for the cause"))?;
            if let Ok(client) = Client::connect(places, REQUEST_TIMEOUT) {
                return Ok(client);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(CommandError::from(absent).hint("start it by hand to see what is wrong: belay serve"))
    }

    /// Waits for the resident process to go and starts it again, until the run is over: until `over` is hung up on.
    pub(super) fn keep_alive(&self, story: &RunSession, run: &RunRequest, over: &UnixStream) {
        let mut since = Instant::now();
        let mut short_lives = 0;
        loop {
            match story.hangup().wait(over) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.give_up(story, &error.into()),
            }
            short_lives = if since.elapsed() < MIN_UPTIME { short_lives + 1 } else { 0 };
            match self.again(story, run, over) {
                Ok(()) if short_lives < MAX_FAILED_STARTS => since = Instant::now(),
                Ok(()) => return self.give_up(story, &CommandError::new("it ends again and again")),
                Err(_) if is_over(over, Duration::ZERO) => return,
                Err(error) => return self.give_up(story, &error),
            }
        }
    }

    fn again(&self, story: &RunSession, run: &RunRequest, over: &UnixStream) -> Result<(), CommandError> {
        let mut problem = None;
        for wait in RESTART_DELAYS {
            if is_over(over, wait) {
                break;
            }
            // One that was killed could not say that it left.
            if !instance_lock::is_locked(&self.context.places.lock()).unwrap_or(true) {
                belay_hooks::daemon_autostart::clear_start_marker(&self.context.places);
            }
            let client = self.connect(|| is_over(over, Duration::ZERO));
            match client.and_then(|client| story.reattach(client, run)) {
                Ok(()) => return Ok(()),
                Err(error) => problem = Some(error),
            }
        }
        Err(problem.unwrap_or_else(|| CommandError::new("the run is over")))
    }

    fn give_up(&self, story: &RunSession, error: &CommandError) {
        story.give_up();
        let text = format!(
            "Belay's resident process is gone and could not be started again: {}. \
             Nobody watches this run any more, and its model requests fail",
            error.message()
        );
        self.context.out.warn(&text, Some("see what is wrong with `belay serve`, then start the agent again"));
    }
}

/// Whether the run is over, or is so before this time has passed.
fn is_over(over: &UnixStream, within: Duration) -> bool {
    let within = Timespec { tv_sec: within.as_secs().cast_signed(), tv_nsec: i64::from(within.subsec_nanos()) };
    // Nothing is ever said on it: all there is to read is the end.
    let polled = poll(&mut [PollFd::new(over, PollFlags::IN)], Some(&within)).map_err(io::Error::from);
    polled.is_ok_and(|ready| ready > 0)
}
