//! Delivers messages to agents: offers them to hooks after a tool and at the end of a turn, and learns from the log which
//! were read.
//!
//! A hook waits while this decides, so it only looks into memory and opens a ticket. What is journalled is journalled by
//! the thread of the [`MailWorker`], before the ticket is answered.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belay_agents::hook::{HookPoint, HookReply};
use belay_clock::now;
use belay_core::event::Author;
use belay_core::status::Phase;
use belay_core::{Body, Event, Excerpt, SessionKey, Source, Timestamp};
use belay_hooks::install::installed_timeout;
use belay_hooks::{HookOffer, is_held};
use belay_ipc::HookTicket;
use belay_store::{EventQuery, Order, Store};
use belay_tasks::mailbox::{Mailbox, Message, MessageId, Way};

use crate::follower::{EventKinds, LogEntry, LogSubscriber};
use crate::state::DaemonState;
use crate::sync::lock;
use crate::tickets::{TIMEOUT_MARGIN, TicketEnd, Tickets};

/// How long a hook waits for a message that is already there. Only the disk takes time.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// How much of a message identifies it in a prompt.
const COMPARED_CHARS: usize = 200;

/// Events of a session that are read again after a restart.
const MAX_REREAD: usize = 500;

/// What a proof, or its absence, is told by.
const KINDS: &[&str] = &["prompt", "tool_called", "model_asked", "model_answered", "turn_ended"];

/// The messages of this process. Without a mailbox there are none.
#[derive(Debug)]
pub(crate) struct Mail {
    mailbox: Option<Arc<Mailbox>>,
    tasks: Sender<Delivery>,
    /// How many tickets were opened.
    offers: AtomicU64,
    /// Until the worker starts.
    received: Mutex<Option<Receiver<Delivery>>>,
    /// Delivered messages after which a person took over: what the agent does then proves nothing.
    overtaken: Mutex<HashSet<MessageId>>,
}

/// What the worker journals, in this order.
#[derive(Debug)]
enum Delivery {
    /// A hook waits with a ticket.
    Offered { id: MessageId, way: Way, hook: String, ticket: String, stdout: String },
    /// Its ticket ended.
    Ended { ticket: String, end: TicketEnd },
    Proven {
        id: MessageId,
        by: &'static str,
        /// The session has the text. Work alone may go on without it.
        has_text: bool,
    },
}

impl Mail {
    /// Opens the mailbox of a state directory. One that cannot be read is reported, and stays as it is.
    pub(crate) fn open(path: &Path) -> Self {
        let opened = Mailbox::open(path, now());
        let log = |error: &_| tracing::error!(%error, "no messages are delivered to agents");
        let mailbox = opened.inspect_err(log).ok().map(Arc::new);
        let (tasks, received) = channel();
        let received = Mutex::new(Some(received));
        Self { mailbox, tasks, offers: AtomicU64::default(), received, overtaken: Mutex::default() }
    }

    /// Journals deliveries and answers their hooks. There is one.
    pub(crate) fn worker(&self, tickets: &Arc<Tickets>) -> Option<MailWorker> {
        let (mailbox, received) = (self.mailbox.clone()?, lock(&self.received).take()?);
        Some(MailWorker { mailbox, received, tickets: Arc::clone(tickets), taken: HashMap::new() })
    }

    /// A ticket for a hook whose session has a message that may be read now.
    pub(crate) fn offer(&self, daemon: &DaemonState, offer: &HookOffer) -> Option<HookTicket> {
        let way = match offer.point {
            HookPoint::AfterTool => Way::AfterTool,
            HookPoint::TurnEnd => Way::TurnEnd,
            _ => return None,
        };
        let (mail, now) = (self.mailbox.as_ref()?.mail(), now());
        let message = mail.next(&offer.session, way, &offer.hook, now)?;
        if !may_read(daemon, &offer.session) {
            return None;
        }
        let text = message.delivered_text();
        let stdout = offer.encoder.reply(&match way {
            Way::AfterTool => HookReply { context: Some(&text), ..HookReply::ALLOW },
            Way::TurnEnd => HookReply { continuation: Some(&text), ..HookReply::ALLOW },
        });
        let cwd = offer.cwd.as_deref().map(Path::new);
        let timeout = installed_timeout(&daemon.config.paths, &offer.session.agent, offer.event, cwd);
        let waited = now.saturating_since(offer.at);
        let wait = timeout.saturating_sub(TIMEOUT_MARGIN).saturating_sub(waited).min(MAX_WAIT);
        // An agent that takes no text here does not wait for one.
        if stdout.is_empty() || wait.is_zero() {
            return None;
        }
        let (id, hook) = (message.id.clone(), offer.hook.clone());
        // A hook that repeats its call gets another ticket: an answer to the lost one must not reach it as well.
        let ticket = format!("mail-{hook}-{}", self.offers.fetch_add(1, Ordering::Relaxed));
        let (tasks, of) = (self.tasks.clone(), ticket.clone());
        let opened = daemon.tickets.open(&ticket, now + wait, now, move |end| {
            // At shutdown nobody journals it; the fate of the message is open then.
            let _ = tasks.send(Delivery::Ended { ticket: of, end });
        })?;
        self.tasks.send(Delivery::Offered { id, way, hook, ticket, stdout }).ok().map(|()| opened)
    }

    /// Looks for proofs that were recorded while no process of ours followed the log.
    pub(crate) fn catch_up(&self, store: &dyn Store) {
        let Some(mail) = self.mailbox.as_ref().map(|mailbox| mailbox.mail()) else { return };
        let sessions: HashSet<&SessionKey> = mail.unproven(now()).map(|(message, _)| &message.to).collect();
        for session in sessions {
            let kinds = KINDS.iter().map(|kind| (*kind).to_owned()).collect();
            let session = Some(session.clone());
            let query = EventQuery { session, kinds, order: Order::Last, limit: MAX_REREAD, ..EventQuery::default() };
            match store.events(&query) {
                Ok(rows) => rows.iter().filter_map(|row| row.event().ok()).for_each(|event| self.on_event(&event)),
                Err(error) => tracing::warn!(%error, "cannot look for proofs of messages"),
            }
        }
    }

    fn awaits_proof(&self) -> bool {
        self.mailbox.as_ref().is_some_and(|mailbox| mailbox.mail().unproven(now()).next().is_some())
    }

    /// Learns from an event which messages its agent has read.
    fn on_event(&self, event: &Event) {
        let Some(mailbox) = &self.mailbox else { return };
        // Anybody may post those.
        if event.source == Source::Unverified {
            return;
        }
        let mail = mailbox.mail();
        for (message, delivered) in mail.unproven(now()).filter(|(message, _)| message.to == event.session) {
            let mut overtaken = lock(&self.overtaken);
            match meaning(event, message, delivered) {
                Meaning::Read(by) => {
                    overtaken.remove(&message.id);
                    let _ = self.tasks.send(Delivery::Proven { id: message.id.clone(), by, has_text: true });
                }
                Meaning::WorksOn(by) if !overtaken.contains(&message.id) => {
                    let _ = self.tasks.send(Delivery::Proven { id: message.id.clone(), by, has_text: false });
                }
                Meaning::PersonTookOver => drop(overtaken.insert(message.id.clone())),
                Meaning::WorksOn(_) | Meaning::Nothing => {}
            }
        }
    }
}

/// Whether the session can act on a text: nobody holds it, and its account is not limited.
fn may_read(daemon: &DaemonState, session: &SessionKey) -> bool {
    let row = daemon.readers.get().and_then(|store| store.session(session));
    let is_limited =
        row.is_ok_and(|row| row.is_some_and(|row| matches!(row.details.phase.phase, Phase::Limited { .. })));
    !is_limited && !is_held(&daemon.decisions.committer, session)
}

/// What an event tells about a message that was delivered before.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    /// The session has its text.
    Read(&'static str),
    /// The agent went on after the hook, as only its answer can explain, unless a person took over.
    WorksOn(&'static str),
    PersonTookOver,
    Nothing,
}

fn meaning(event: &Event, message: &Message, delivered: Timestamp) -> Meaning {
    if event.at < delivered {
        return Meaning::Nothing;
    }
    match &event.body {
        Body::Prompt(prompt) if has_text(prompt.text.as_str(), message) => Meaning::Read("prompt"),
        Body::Prompt(prompt) if prompt.by == Author::Person => Meaning::PersonTookOver,
        Body::TurnEnded(ended) if ended.interrupted => Meaning::PersonTookOver,
        Body::TurnEnded(ended) if !ended.failed => Meaning::WorksOn("turn_ended"),
        Body::ToolCalled(_) => Meaning::WorksOn("tool_called"),
        // Not a request for a title, or of another user.
        Body::ModelAsked(asked) if !asked.auxiliary && !asked.unverified => Meaning::WorksOn("model_asked"),
        Body::ModelAnswered(answer) if !answer.auxiliary => Meaning::WorksOn("model_answered"),
        _ => Meaning::Nothing,
    }
}

/// Whether a prompt has the text of a message. Agents wrap it, and change line ends; the log has an excerpt of it.
fn has_text(prompt: &str, message: &Message) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let beginning: String = message.delivered_text().chars().take(COMPARED_CHARS).collect();
    words(prompt).contains(&words(Excerpt::new(&beginning).as_str()))
}

/// Learns from the log which messages were read.
pub(crate) struct MailProofs(pub(crate) Arc<DaemonState>);

impl LogSubscriber for MailProofs {
    /// Frequent events, which matter only while a message is under way.
    fn kinds(&self) -> EventKinds {
        if self.0.mail.awaits_proof() { EventKinds::Only(KINDS) } else { EventKinds::None }
    }

    fn on_events(&self, events: &[&LogEntry]) {
        events.iter().filter_map(|entry| entry.event()).for_each(|event| self.0.mail.on_event(event));
    }
}

/// Journals deliveries and answers tickets, on a thread of its own.
#[derive(Debug)]
pub(crate) struct MailWorker {
    mailbox: Arc<Mailbox>,
    received: Receiver<Delivery>,
    tickets: Arc<Tickets>,
    /// The messages that hooks have taken, by their tickets. Hooks of one session may be offered the same message.
    taken: HashMap<String, MessageId>,
}

impl MailWorker {
    /// How often it is checked whether the process ends.
    const CHECK_INTERVAL: Duration = Duration::from_millis(500);

    /// Handles deliveries until the process ends and none is left.
    pub(crate) fn run(mut self, has_ended: impl Fn() -> bool) {
        use std::sync::mpsc::RecvTimeoutError;
        loop {
            match self.received.recv_timeout(Self::CHECK_INTERVAL) {
                Ok(delivery) => self.handle(delivery),
                Err(RecvTimeoutError::Timeout) if !has_ended() => {}
                Err(_) => return,
            }
        }
    }

    fn handle(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Offered { id, way, hook, ticket, stdout } => {
                if !self.mailbox.take(&id, way, &hook, now()) {
                    // Another hook of the session was faster, or the disk is full.
                    return self.tickets.release(&ticket);
                }
                // Of a call that is repeated, the end of the lost ticket tells nothing.
                self.taken.retain(|_, taken| *taken != id);
                if self.tickets.answer(&ticket, stdout) {
                    self.taken.insert(ticket, id);
                } else {
                    self.mailbox.failed(&id, "the hook was gone", now());
                }
            }
            Delivery::Ended { ticket, end } => {
                let Some(id) = self.taken.remove(&ticket) else { return };
                match end {
                    TicketEnd::Written => self.mailbox.written(&id, now()),
                    TicketEnd::Gone | TicketEnd::TimedOut | TicketEnd::Released => {
                        self.mailbox.failed(&id, "the hook did not wait", now())
                    }
                };
            }
            Delivery::Proven { id, by, has_text } => {
                // A hook that gave up before it came for its ticket has no text, and the agent works on all the same.
                let mut taken = self.taken.iter().filter(|(_, taken)| **taken == id);
                if !has_text && taken.any(|(ticket, _)| self.tickets.is_unclaimed(ticket)) {
                    return;
                }
                self.mailbox.proven(&id, by, now());
            }
        }
    }
}
