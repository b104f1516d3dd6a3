//! What becomes of a request, by its head.

mod known;

pub(crate) use known::Known;

use std::sync::Arc;

use crate::answer::Answer;
use crate::client::{Client, Gone};
use crate::exchange::Asked;
use crate::framing::Framing;
use crate::head::{BadHead, RequestHead, Rewrite, Room, Seen};
use crate::inspect::{Letterhead, Turn};
use crate::relay::Relay;
use crate::route::{Route, Routes};
use crate::upstream::{Auth, Upstream};
use crate::words;

/// Everything a head says, so that the bytes it was read from can be reused.
#[derive(Debug)]
pub(crate) enum Plan {
    Ours,
    Relay(Outgoing),
    Refuse { answer: Answer, framing: Framing, asked: Asked },
}

/// A request that is to be relayed.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) way: Way,
    pub(crate) head: Vec<u8>,
    pub(crate) framing: Framing,
    pub(crate) turn: Option<Turn>,
}

/// What a head says about every request that begins with it.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) eager: bool,
    pub(crate) asked: Asked,
    /// For whoever follows it, if it asks for a turn of a conversation.
    letterhead: Option<Arc<Letterhead>>,
}

impl Way {
    fn outgoing(&self, relay: &Relay, head: Vec<u8>, framing: Framing) -> Plan {
        let turn = self.letterhead.as_ref().map(|letterhead| relay.inspector.follow(letterhead));
        Plan::Relay(Outgoing { way: self.clone(), head, framing, turn })
    }
}

/// Looks at what has been read; `None` while the head is not complete.
pub(crate) fn understand(relay: &Relay, client: &mut Client, known: &mut Option<Known>) -> Result<Option<Plan>, Gone> {
    if let Some((plan, len)) = known.as_ref().and_then(|known| known.again(relay, client.ahead())) {
        client.consume(len);
        return Ok(Some(plan));
    }
    let mut room = Room::new();
    let (plan, len) = match RequestHead::parse(client.ahead(), &mut room) {
        Ok(None) => return Ok(None),
        Ok(Some(head)) => match plan(relay, &head, known) {
            // Whoever answers wants to read the head again.
            Plan::Ours => return Ok(Some(Plan::Ours)),
            plan => (plan, head.len()),
        },
        Err(bad) => (refuse_head(bad), 0),
    };
    client.consume(len);
    Ok(Some(plan))
}

fn refuse_head(bad: BadHead) -> Plan {
    let status = if bad == BadHead::TooLarge { 431 } else { 400 };
    let answer = words::error(status, "bad_request", &format!("Belay could not understand this request: {bad}."));
    Plan::Refuse { answer, framing: Framing::Empty, asked: Asked { headless: false, closing: true, upgrading: false } }
}

fn plan(relay: &Relay, head: &RequestHead<'_, '_>, known: &mut Option<Known>) -> Plan {
    // Before anything is looked up: what changes meanwhile makes what is known now outdated.
    let edition = relay.routes.edition();
    let upgrading = head.upgrade().is_some();
    let asked = Asked { headless: head.method == "HEAD", closing: !head.keep_alive(), upgrading };
    let refuse = |answer| Plan::Refuse { answer, framing: head.framing(), asked };
    if !head.target.starts_with('/') {
        return refuse(words::not_a_forward_proxy());
    }
    let (upstream, below, path, run) = match relay.routes.choose(head) {
        Route::Ours => return Plan::Ours,
        Route::Unknown => return refuse(words::no_upstream(head.target, relay.routes.names())),
        Route::Upstream { upstream, below, path, run } => (upstream, below, path, run),
    };
    if upgrading && !relay.sockets && Routes::carries_turns(path) {
        return refuse(words::no_socket());
    }
    if let Some(owner) = upstream.misdirected(head.target, head.headers()) {
        return refuse(words::misdirected(owner, &upstream.base.url()));
    }
    let credential = match &upstream.auth {
        Auth::Incoming => None,
        // Whoever reaches us may ask with this key; a page in a browser is nobody.
        Auth::Header { .. } if head.is_from_a_page() => return refuse(words::from_a_page()),
        Auth::Header { name, value } => Some((name.as_str(), value.as_str())),
    };
    let rewrite =
        Rewrite { target: &[upstream.base.path.as_str(), below, path], host: &upstream.base.authority, credential };
    let relayed = head.relayed(&rewrite);
    // What is known of the run's session counts for requests that name none.
    let session = run.and_then(|run| relay.routes.session_of(run)).map(|session| session.to_string());
    // A site that a person visits may ask with whatever key it has, but speaks for no session.
    let seen = Seen { head, path };
    let read = || Letterhead::read(head.method, &seen, session.as_deref().or(run));
    let letterhead = if head.is_of_a_site() { None } else { read().map(Arc::new) };
    // A sub-agent is not the run's session, it is part of it.
    if let (Some(run), Some(session)) = (run, letterhead.as_deref().and_then(Letterhead::main_session)) {
        relay.routes.learn(run, session);
    }
    let way = Way { upstream, eager: head.expects_continue(), asked, letterhead };
    *known = Known::of(head, &relayed, &way, edition);
    way.outgoing(relay, relayed, head.framing())
}
