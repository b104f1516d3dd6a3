//! A hook that waits for the answer of its ticket, also while the resident process ends and the next one starts.
//!
//! The next resident process does not know the ticket. The hook sends it the same call, which counts once because of its
//! id, and gets a new one.

use std::time::{Duration, Instant};

use belay_config::{EnvSnapshot, Paths};
use belay_ipc::{Client, ClientError, HookRequest, HookResponse, HookTicket};

use super::{HookArgs, MAX_REQUEST_TIMEOUT, autostart_idle, start_resident};
use crate::daemon_autostart::clear_stale_start_marker;

/// How much longer than the wait the resident process may take to report its end.
const ANSWER_GRACE: Duration = Duration::from_secs(2);

/// How long the next resident process may take to listen, if this hook may start it.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The same if it may not: a service manager restarts it at once, or nobody does.
const RESTART_TIMEOUT: Duration = Duration::from_secs(2);

/// Time between two attempts to reach it.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// How often a hook sends its call again, in case that it is the call that ends the resident process.
const MAX_REPEATS: usize = 5;

/// Connections that may be closed without a response while the next resident process is sought.
const MAX_DISCONNECTIONS: usize = 3;

/// A hook call that can be sent again.
#[derive(Debug)]
pub(super) struct HookCall<'a> {
    pub(super) args: &'a HookArgs,
    pub(super) env: EnvSnapshot,
    pub(super) paths: Paths,
    pub(super) request: HookRequest,
}

impl HookCall<'_> {
    /// Awaits the answer of the ticket, if there is one: what the hook prints. After any fault, and without an answer, the
    /// response stays as it is.
    pub(super) fn await_ticket(&self, mut response: HookResponse) -> HookResponse {
        for _ in 0..=MAX_REPEATS {
            let Some(ticket) = response.ticket.take() else { break };
            match await_answer(&self.paths, &ticket) {
                Ok(stdout) if stdout.is_empty() => break,
                Ok(stdout) => return HookResponse { stdout, ..response },
                Err(error) if ticket.repeat && error.is_gone() => {}
                Err(_) => break,
            }
            match self.repeat() {
                Some(next) => response = next,
                None => break,
            }
        }
        response
    }

    /// Sends the call to the next resident process, which it starts if hooks may.
    pub(super) fn repeat(&self) -> Option<HookResponse> {
        let idle = autostart_idle(&self.env, &self.paths, self.request.cwd.as_deref());
        let deadline = Instant::now() + if idle.is_some() { START_TIMEOUT } else { RESTART_TIMEOUT };
        // The one that is gone may have been started just before.
        clear_stale_start_marker(&self.paths);
        let mut disconnections = 0;
        while Instant::now() < deadline {
            let client = Client::connect(&self.paths, MAX_REQUEST_TIMEOUT);
            match client.and_then(|mut client| client.hook(&self.request)) {
                Ok(response) => return Some(response),
                // An orderly end removes the socket, a crash leaves it: what a person stopped is not started again.
                Err(ClientError::NotRunning(_)) if !self.has_socket() => return None,
                Err(ClientError::NotRunning(_)) => {
                    if let Some(idle) = idle {
                        start_resident(&self.env, &self.paths, self.args, idle);
                    }
                }
                // One that lives and has no memory for the request disconnects, too.
                Err(error) if error.is_gone() && disconnections < MAX_DISCONNECTIONS => disconnections += 1,
                Err(_) => return None,
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
        None
    }

    /// Whether there is a socket, of a process that runs or of one that crashed.
    fn has_socket(&self) -> bool {
        [self.paths.socket(), self.paths.runtime_socket()].iter().any(|socket| socket.exists())
    }
}

fn await_answer(paths: &Paths, ticket: &HookTicket) -> Result<String, ClientError> {
    // The agent waits anyway: a busy machine must not lose the ticket.
    let mut client = Client::connect(paths, MAX_REQUEST_TIMEOUT)?;
    client.set_timeout(Duration::from_millis(ticket.wait_ms) + ANSWER_GRACE);
    client.await_answer(&ticket.id).map(|answer| answer.stdout)
}
