//! The open prompts and who answered the recent ones.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belay_agents::hook::{HookEncoder, PermissionReply};
use belay_core::event::{ApprovalEnded, ApprovalEnding, Body, PermissionAnswer, Source};
use belay_core::{Digest, Event, Excerpt, SessionKey, Timestamp};
use belay_hooks::HookOffer;
use belay_ipc::views::PendingApproval;
use belay_ipc::{ErrorBody, ErrorCode, HookTicket};
use sha2::{Digest as _, Sha256};

use crate::sync::lock;
use crate::tickets::{TicketEnd, Tickets};
use crate::token::{random_hex, to_hex};

/// Prompts that wait at once. Further ones are left to the terminal.
const MAX_PENDING: usize = 64;

/// Prompts of a session and its sub-agents that wait at once, so that one session does not take the places of the others.
const MAX_PENDING_PER_SESSION: usize = 8;

/// Digits of the hash that name a prompt: 64 bits.
const ID_DIGITS: usize = 16;

/// A person cannot judge a longer input at a glance, so the terminal shows it.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Length of the text in the event about the end of a prompt.
const MAX_LOGGED_BYTES: usize = 256;

/// How many ended prompts and calls are remembered.
const MAX_ENDED: usize = 128;
const MAX_CALLS: usize = 256;

#[derive(Debug)]
pub(super) struct Registry {
    /// Where the hooks of open prompts wait. No ticket is ended while the state is locked: its end locks it, too.
    tickets: Arc<Tickets>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The oldest first.
    pending: Vec<Pending>,
    ended: VecDeque<(String, Ending)>,
    /// Events about prompts that ended without an answer here, until they are recorded.
    unrecorded: Vec<Event>,
    /// Recent calls of sessions, by fingerprint: some prompts do not name their call.
    calls: VecDeque<(SessionKey, Digest, String)>,
}

#[derive(Debug)]
struct Pending {
    view: PendingApproval,
    session: SessionKey,
    /// The session that counts it.
    root: SessionKey,
    call: Option<String>,
    encoder: HookEncoder,
    /// The first answer, until it is recorded and delivered.
    claimed: Option<Ending>,
}

/// How a prompt ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Answered {
        answer: PermissionAnswer,
        by: String,
        at: Timestamp,
    },
    /// Without an answer in Belay.
    Unanswered(ApprovalEnding),
}

impl Ending {
    fn sentence(&self) -> String {
        match self {
            Self::Answered { answer: PermissionAnswer::Allow, by, at } => format!("{by} allowed it at {at}"),
            Self::Answered { answer: PermissionAnswer::Deny, by, at } => format!("{by} denied it at {at}"),
            Self::Unanswered(how) => how.phrase().to_owned(),
        }
    }
}

impl State {
    fn end(&mut self, at: usize, ending: Ending, now: Timestamp) -> Pending {
        let pending = self.pending.remove(at);
        // An answer is an event of its own.
        if let Ending::Unanswered(how) = ending
            && self.unrecorded.len() < MAX_ENDED
        {
            self.unrecorded.push(pending.ended(how, now));
        }
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back((pending.view.id.clone(), ending));
        pending
    }

    /// Ends every prompt for which `ending` returns something, and returns their ids. Their hooks still wait.
    fn end_if(&mut self, now: Timestamp, ending: impl Fn(&Pending) -> Option<ApprovalEnding>) -> Vec<String> {
        let mut ended = Vec::new();
        for at in (0..self.pending.len()).rev() {
            // An answer that is being recorded has won.
            if self.pending[at].claimed.is_none()
                && let Some(ending) = ending(&self.pending[at])
            {
                ended.push(self.end(at, Ending::Unanswered(ending), now).view.id);
            }
        }
        ended
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.pending.iter().position(|pending| pending.view.id == id)
    }
}

impl Pending {
    /// The event that it ended without an answer.
    fn ended(&self, how: ApprovalEnding, now: Timestamp) -> Event {
        let what = Excerpt::of_input(&self.view.text, MAX_LOGGED_BYTES);
        let body = Body::ApprovalEnded(ApprovalEnded { approval: self.view.id.clone(), how, what });
        Event::new(uuid::Uuid::now_v7(), self.session.clone(), Source::Hook, now, body)
    }
}

impl Registry {
    pub(super) fn new(tickets: Arc<Tickets>) -> Self {
        Self { tickets, state: Mutex::default() }
    }

    /// Adds a prompt and returns the ticket of its hook, whose id is the prompt's. `None` leaves it to the terminal.
    ///
    /// The person is shown the text as it is, secrets included: a redaction would also hide code next to a secret.
    pub(super) fn add(
        self: &Arc<Self>,
        offer: HookOffer,
        root: SessionKey,
        wait: Duration,
        now: Timestamp,
    ) -> Option<HookTicket> {
        let HookOffer { session, permission, cwd, at, encoder, .. } = offer;
        let prompt = permission?;
        // An agent that takes no answers does not wait for one.
        encoder.permission(PermissionReply::Allow)?;
        if prompt.text.len() > MAX_TEXT_BYTES {
            return None;
        }
        // Without a random part, an agent could search for two calls with the same id.
        let nonce = random_hex(16).ok()?;
        let place = cwd.as_deref().unwrap_or_default();
        let hash = hash(&[&nonce, &session.to_string(), &prompt.tool, &prompt.text, place, &at.to_string()]);
        let id = format!("apr-{}", &hash[..ID_DIGITS]);
        let until = now + wait;
        self.expire(now);
        let mut state = lock(&self.state);
        let of_session = state.pending.iter().filter(|pending| pending.root == root).count();
        if state.pending.len() >= MAX_PENDING || of_session >= MAX_PENDING_PER_SESSION || state.position(&id).is_some()
        {
            return None;
        }
        let known = state.calls.iter().rev().find(|(of, key, _)| *of == session && *key == prompt.key);
        let call = prompt.call.or_else(|| known.map(|(_, _, call)| call.clone()));
        let view = PendingApproval {
            id: id.clone(),
            session: session.to_string(),
            tool: prompt.tool,
            text: prompt.text,
            cwd,
            hash,
            asked_at: at,
            until,
        };
        state.pending.push(Pending { view, session, root, call, encoder, claimed: None });
        drop(state);
        let (registry, prompt) = (Arc::downgrade(self), id.clone());
        let ticket = self.tickets.open(&id, until, now, move |end| {
            let Some(registry) = registry.upgrade() else { return };
            match end {
                TicketEnd::TimedOut => registry.end(&prompt, ApprovalEnding::TimedOut, belay_clock::now()),
                TicketEnd::Gone => registry.end(&prompt, ApprovalEnding::Abandoned, belay_clock::now()),
                // Whoever released or answered it has ended the prompt.
                TicketEnd::Released | TicketEnd::Written => {}
            }
        });
        if ticket.is_none() {
            self.end(&id, ApprovalEnding::Abandoned, now);
        }
        ticket
    }

    /// Ends prompts that nobody answered in time, or whose hook did not come.
    fn expire(&self, now: Timestamp) {
        self.tickets.expire(now);
        let is_over = |pending: &Pending| (now >= pending.view.until).then_some(ApprovalEnding::TimedOut);
        lock(&self.state).end_if(now, is_over);
    }

    pub(super) fn is_pending(&self, id: &str) -> bool {
        lock(&self.state).position(id).is_some()
    }

    /// The prompts that can be answered: a hook waits for each of them.
    pub(super) fn pending(&self, now: Timestamp) -> Vec<PendingApproval> {
        self.expire(now);
        let state = lock(&self.state);
        let open = state.pending.iter().filter(|pending| pending.claimed.is_none());
        open.filter(|pending| self.tickets.is_awaited(&pending.view.id)).map(|pending| pending.view.clone()).collect()
    }

    /// Ends a prompt that nobody has answered.
    fn end(&self, id: &str, ending: ApprovalEnding, now: Timestamp) {
        lock(&self.state).end_if(now, |pending| (pending.view.id == id).then_some(ending));
    }

    /// The events about prompts that have ended without an answer since the last call.
    pub(super) fn take_unrecorded(&self, now: Timestamp) -> Vec<Event> {
        self.expire(now);
        let mut state = lock(&self.state);
        std::mem::take(&mut state.unrecorded)
    }

    /// Remembers calls, and ends prompts whose call has a result, or whose turn is over.
    pub(super) fn on_events(&self, events: &[Event], now: Timestamp) {
        self.expire(now);
        let mut state = lock(&self.state);
        let mut ended = Vec::new();
        for event in events {
            if let Body::ToolCalled(called) = &event.body
                && let Some(call) = &called.call
            {
                if state.calls.len() == MAX_CALLS {
                    state.calls.pop_front();
                }
                state.calls.push_back((event.session.clone(), called.action.key, call.clone()));
            }
            ended.extend(state.end_if(now, |pending| {
                if event.session != pending.session {
                    return None;
                }
                ending_shown_by(&event.body, pending.call.as_deref())
            }));
        }
        drop(state);
        ended.iter().for_each(|id| self.tickets.release(id));
    }

    /// Makes this answer the first one. It counts once it is delivered; a dropped claim leaves the prompt open.
    pub(super) fn claim(
        &self,
        id: &str,
        hash: &str,
        answer: PermissionAnswer,
        by: &str,
        now: Timestamp,
    ) -> Result<Claim<'_>, ErrorBody> {
        self.expire(now);
        let mut state = lock(&self.state);
        let Some(at) = state.position(id) else {
            let ended = state.ended.iter().rev().find(|(ended, _)| ended == id);
            return Err(ended.map_or_else(|| unknown(id), |(_, ending)| too_late(id, ending)));
        };
        let pending = &mut state.pending[at];
        if let Some(first) = &pending.claimed {
            return Err(too_late(id, first));
        }
        // The hook did not get the offer in time, and the terminal asks.
        if !self.tickets.is_awaited(id) {
            return Err(unknown(id));
        }
        if hash.len() < ID_DIGITS || !pending.view.hash.starts_with(hash) {
            let message = format!("the hash does not match what {id} asks for");
            return Err(ErrorBody::new(ErrorCode::Conflict, message)
                .field("hash")
                .hint("read it again with `belay approvals`, and answer what it shows"));
        }
        let ending = Ending::Answered { answer, by: by.to_owned(), at: now };
        pending.claimed = Some(ending.clone());
        let session = pending.session.clone();
        let hash = pending.view.hash.clone();
        Ok(Claim { registry: self, id: id.to_owned(), hash, session, answer, ending, ended: false })
    }
}

/// The right to answer a prompt.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    registry: &'a Registry,
    id: String,
    hash: String,
    session: SessionKey,
    answer: PermissionAnswer,
    ending: Ending,
    ended: bool,
}

impl Claim<'_> {
    pub(super) fn session(&self) -> &SessionKey {
        &self.session
    }

    /// The complete hash of what is answered.
    pub(super) fn hash(&self) -> &str {
        &self.hash
    }

    /// Ends the prompt without an answer, because its session is held: the hook says nothing.
    pub(super) fn withhold(mut self) {
        self.ended = true;
        let mut state = lock(&self.registry.state);
        if let Some(at) = state.position(&self.id) {
            state.end(at, Ending::Unanswered(ApprovalEnding::SessionHeld), belay_clock::now());
        }
        drop(state);
        self.registry.tickets.release(&self.id);
    }

    /// Tells the agent and returns what was answered; `None` if its hook is gone. `reason` is for a denial.
    pub(super) fn deliver(mut self, reason: &str) -> Option<PendingApproval> {
        self.ended = true;
        let Pending { view, encoder, .. } = {
            let mut state = lock(&self.registry.state);
            let at = state.position(&self.id)?;
            state.end(at, self.ending.clone(), belay_clock::now())
        };
        let reply = match self.answer {
            PermissionAnswer::Allow => PermissionReply::Allow,
            PermissionAnswer::Deny => PermissionReply::Deny(reason),
        };
        let stdout = encoder.permission(reply).unwrap_or_default();
        self.registry.tickets.answer(&self.id, stdout).then_some(view)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut state = lock(&self.registry.state);
        if let Some(at) = state.position(&self.id) {
            state.pending[at].claimed = None;
        }
    }
}

/// How a prompt ended, if an event of its session shows that it did. Other calls may run in parallel.
fn ending_shown_by(body: &Body, call: Option<&str>) -> Option<ApprovalEnding> {
    match body {
        Body::ToolReturned(returned) => match (call, returned.call.as_deref()) {
            (Some(asked), Some(returned)) if asked != returned => None,
            _ => Some(ApprovalEnding::AnsweredElsewhere),
        },
        Body::Prompt(_) | Body::TurnEnded(_) => Some(ApprovalEnding::AnsweredElsewhere),
        // Closing the terminal is not an answer.
        Body::SessionEnded(_) => Some(ApprovalEnding::Abandoned),
        _ => None,
    }
}

fn unknown(id: &str) -> ErrorBody {
    ErrorBody::new(ErrorCode::NotFound, format!("no permission prompt {id}")).hint("list them with `belay approvals`")
}

fn too_late(id: &str, first: &Ending) -> ErrorBody {
    ErrorBody::new(ErrorCode::Conflict, format!("{id} is already decided: {}", first.sentence()))
}

/// A hash of texts, each with its length, so that no two lists have the same input.
fn hash(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    to_hex(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests;
