//! Hooks that wait: a hook gets a ticket with its response, and awaits the answer on a second connection, which a task
//! serves, not a thread.
//!
//! The opener of a ticket learns once how it ended. A ticket that no connection takes was not received: the hook had
//! decided without the resident process, or was ended.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belay_core::Timestamp;
use belay_ipc::{AwaitAnswerResponse, HookTicket, Response, ResponseBody};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::state::DaemonState;
use crate::sync::lock;

/// Tickets that are open at once. Each takes a connection; further hooks do not wait.
const MAX_OPEN: usize = 256;

/// A hook waits for its answer right after it got the ticket; one that does not come was ended.
const MAX_UNAWAITED: Duration = Duration::from_secs(10);

/// How much earlier than the agent's own timeout a wait ends.
pub const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);

/// How long the connections of released hooks may take at shutdown, and how often that is checked.
const MAX_CLOSING: Duration = Duration::from_secs(1);
const CLOSE_INTERVAL: Duration = Duration::from_millis(5);

/// How a ticket ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TicketEnd {
    /// There was no answer in time.
    TimedOut,
    /// The hook did not come, or waits no more.
    Gone,
    /// There is nothing to say.
    Released,
    /// The hook has been sent the answer.
    Written,
}

/// The open tickets.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: HashMap<String, Ticket>,
    /// How many were opened so far: the number of the last one.
    opened: u64,
    /// How many connections wait.
    waiting: usize,
    /// No more are opened.
    is_closed: bool,
}

struct Ticket {
    /// Distinguishes it from others of the same id.
    number: u64,
    opened_at: Timestamp,
    until: Timestamp,
    /// `None` once it has an answer.
    sender: Option<Sender<String>>,
    /// Taken by the connection that waits.
    receiver: Option<Receiver<String>>,
    on_end: Box<dyn FnOnce(TicketEnd) + Send>,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("number", &self.number).field("until", &self.until).finish_non_exhaustive()
    }
}

impl Ticket {
    fn is_awaited(&self) -> bool {
        self.receiver.is_none()
    }

    fn has_answer(&self) -> bool {
        self.sender.is_none()
    }

    /// How it ends without a connection. One that is awaited is ended by its connection.
    fn end_unawaited(&self, now: Timestamp) -> Option<TicketEnd> {
        match self.is_awaited() {
            true => None,
            false if now.saturating_since(self.opened_at) >= MAX_UNAWAITED => Some(TicketEnd::Gone),
            false => (now >= self.until).then_some(TicketEnd::TimedOut),
        }
    }
}

impl Tickets {
    /// Opens a ticket. It replaces one of the same id, which a hook that repeats its call has lost. `None` if too many
    /// hooks wait. `on_end` is called once.
    pub(crate) fn open(
        &self,
        id: &str,
        until: Timestamp,
        now: Timestamp,
        on_end: impl FnOnce(TicketEnd) + Send + 'static,
    ) -> Option<HookTicket> {
        self.expire(now);
        let (sender, receiver) = oneshot::channel();
        let replaced = {
            let mut state = lock(&self.0);
            let is_full = state.open.len() >= MAX_OPEN && !state.open.contains_key(id);
            if is_full || state.is_closed {
                return None;
            }
            state.opened += 1;
            let ticket = Ticket {
                number: state.opened,
                opened_at: now,
                until,
                sender: Some(sender),
                receiver: Some(receiver),
                on_end: Box::new(on_end),
            };
            state.open.insert(id.to_owned(), ticket)
        };
        if let Some(replaced) = replaced {
            (replaced.on_end)(TicketEnd::Gone);
        }
        let wait = until.saturating_since(now);
        Some(HookTicket {
            id: id.to_owned(),
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            repeat: true,
        })
    }

    /// Answers a ticket: what the hook prints. `false` if it is not open any more, or has an answer.
    pub(crate) fn answer(&self, id: &str, stdout: String) -> bool {
        let sender = lock(&self.0).open.get_mut(id).and_then(|ticket| ticket.sender.take());
        sender.is_some_and(|sender| sender.send(stdout).is_ok())
    }

    /// Ends a ticket that has no answer: the hook says nothing.
    pub(crate) fn release(&self, id: &str) {
        self.end_if(|of, ticket| (of == id && !ticket.has_answer()).then_some(TicketEnd::Released));
    }

    /// Whether a hook waits for this answer.
    pub(crate) fn is_awaited(&self, id: &str) -> bool {
        lock(&self.0).open.get(id).is_some_and(Ticket::is_awaited)
    }

    /// Whether the hook has not come for this answer yet.
    pub(crate) fn is_unclaimed(&self, id: &str) -> bool {
        lock(&self.0).open.get(id).is_some_and(|ticket| !ticket.is_awaited())
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).open.is_empty()
    }

    /// Ends tickets that no hook has taken in time.
    pub(crate) fn expire(&self, now: Timestamp) {
        self.end_if(|_, ticket| ticket.end_unawaited(now));
    }

    /// The right to await a ticket's answer. `None` if the ticket has ended, or somebody awaits it.
    pub(crate) fn take(self: &Arc<Self>, id: &str) -> Option<Waiter> {
        let mut state = lock(&self.0);
        let ticket = state.open.get_mut(id)?;
        let answer = ticket.receiver.take()?;
        let (number, until) = (ticket.number, ticket.until);
        state.waiting += 1;
        Some(Waiter { tickets: Arc::clone(self), number, answer, until })
    }

    /// Releases all hooks and lets their connections respond. Otherwise they would take the end of this process for a
    /// crash.
    pub(crate) async fn close(&self) {
        lock(&self.0).is_closed = true;
        self.end_if(|_, ticket| (!ticket.has_answer()).then_some(TicketEnd::Released));
        let until = tokio::time::Instant::now() + MAX_CLOSING;
        while lock(&self.0).waiting > 0 && tokio::time::Instant::now() < until {
            tokio::time::sleep(CLOSE_INTERVAL).await;
        }
    }

    /// Ends each ticket for which `end` returns how. Returns whether there was one.
    fn end_if(&self, end: impl Fn(&str, &Ticket) -> Option<TicketEnd>) -> bool {
        let ended: Vec<_> = {
            let mut state = lock(&self.0);
            let ends: Vec<_> =
                state.open.iter().filter_map(|(id, ticket)| Some((id.clone(), end(id, ticket)?))).collect();
            ends.into_iter().filter_map(|(id, how)| Some((state.open.remove(&id)?, how))).collect()
        };
        let any = !ended.is_empty();
        // Not under the lock: who opened it may open the next one.
        ended.into_iter().for_each(|(ticket, how)| (ticket.on_end)(how));
        any
    }
}

/// Awaits the answer of a ticket. Dropped, the hook is gone.
#[derive(Debug)]
pub(crate) struct Waiter {
    tickets: Arc<Tickets>,
    number: u64,
    answer: Receiver<String>,
    until: Timestamp,
}

impl Waiter {
    /// The answer; `None` if there is none in time, or the ticket is released.
    async fn answer(&mut self) -> Option<String> {
        let time_left = self.until.saturating_since(belay_clock::now());
        tokio::select! {
            biased;
            answer = &mut self.answer => answer.ok(),
            () = tokio::time::sleep(time_left) => {
                let number = self.number;
                let timed_out = |_: &str, ticket: &Ticket| {
                    (ticket.number == number && !ticket.has_answer()).then_some(TicketEnd::TimedOut)
                };
                match self.tickets.end_if(timed_out) {
                    true => None,
                    // It has just been answered, or released.
                    false => (&mut self.answer).await.ok(),
                }
            }
        }
    }

    fn end(&self, how: TicketEnd) {
        self.tickets.end_if(|_, ticket| (ticket.number == self.number).then_some(how));
    }

    #[cfg(test)]
    pub(crate) fn try_answer(&mut self) -> Option<String> {
        self.answer.try_recv().ok()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.end(TicketEnd::Gone);
        lock(&self.tickets.0).waiting -= 1;
    }
}

/// Hands the connection of a hook over to a task that responds once the ticket is answered, or will not be. A ticket that
/// has ended is responded to at once.
pub(crate) fn respond_when_answered(daemon: &Arc<DaemonState>, stream: UnixStream, id: String) {
    let waiter = daemon.tickets.take(&id);
    if waiter.is_some() && daemon.approvals.is_pending(&id) {
        // From now on it can be answered: pages that were told about the prompt before show it without buttons.
        daemon.live.notify("approval");
    }
    daemon.lifecycle.runtime.spawn(async move {
        if let Err(error) = wait_and_respond(stream, waiter).await {
            tracing::debug!(%error, id, "an answer was not delivered");
        }
    });
}

async fn wait_and_respond(stream: UnixStream, mut waiter: Option<Waiter>) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let mut stream = tokio::net::UnixStream::from_std(stream)?;
    let answer = match &mut waiter {
        None => None,
        Some(waiter) => tokio::select! {
            biased;
            answer = waiter.answer() => answer,
            () = closed(&stream) => return Ok(()),
        },
    };
    let stdout = answer.unwrap_or_default();
    let reply = Response { id: None, body: ResponseBody::Ok(AwaitAnswerResponse { stdout }) };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    // Without an answer, the ticket has ended.
    waiter.iter().for_each(|waiter| waiter.end(TicketEnd::Written));
    Ok(())
}

/// A hook that waits sends nothing, so anything readable means that it is gone.
async fn closed(stream: &tokio::net::UnixStream) {
    loop {
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read(&mut [0; 1]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests;
