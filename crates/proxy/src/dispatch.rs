//! What becomes of a request, by its head.

mod head_cache;

pub(crate) use head_cache::HeadCache;

use std::sync::Arc;

use crate::client_conn::{ClientConn, ClientDisconnected};
use crate::exchange::ResponseFraming;
use crate::framing::Framing;
use crate::head::{HeadError, HeadRewrite, HeaderStorage, RequestHead, RoutedHead};
use crate::inspect::{ExchangeInspection, RequestMeta};
use crate::local_response::LocalResponse;
use crate::messages;
use crate::relay::Relay;
use crate::routes::{Route, Routes};
use crate::upstream::{Auth, Upstream};

/// Everything a head says, so that the bytes it was read from can be reused.
#[derive(Debug)]
pub(crate) enum Dispatch {
    Local,
    Relay(OutgoingRequest),
    Refuse { answer: LocalResponse, framing: Framing, asked: ResponseFraming },
}

/// A request that is to be relayed.
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) way: RoutePlan,
    pub(crate) head: Vec<u8>,
    pub(crate) framing: Framing,
    pub(crate) turn: Option<ExchangeInspection>,
}

/// What a head says about every request that begins with it.
#[derive(Clone, Debug)]
pub(crate) struct RoutePlan {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) eager: bool,
    pub(crate) asked: ResponseFraming,
    /// For whoever follows it, if it asks for a turn of a conversation.
    letterhead: Option<Arc<RequestMeta>>,
}

impl RoutePlan {
    fn outgoing(&self, relay: &Relay, head: Vec<u8>, framing: Framing) -> Dispatch {
        let turn = self.letterhead.as_ref().map(|letterhead| relay.inspector.start(letterhead));
        Dispatch::Relay(OutgoingRequest { way: self.clone(), head, framing, turn })
    }
}

/// Looks at what has been read; `None` while the head is not complete.
pub(crate) fn dispatch_next(
    relay: &Relay,
    client: &mut ClientConn,
    known: &mut Option<HeadCache>,
) -> Result<Option<Dispatch>, ClientDisconnected> {
    if let Some((plan, len)) = known.as_ref().and_then(|known| known.reuse(relay, client.buffered())) {
        client.consume(len);
        return Ok(Some(plan));
    }
    let mut room = HeaderStorage::new();
    let (plan, len) = match RequestHead::parse(client.buffered(), &mut room) {
        Ok(None) => return Ok(None),
        Ok(Some(head)) => match plan(relay, &head, known) {
            // Whoever answers wants to read the head again.
            Dispatch::Local => return Ok(Some(Dispatch::Local)),
            plan => (plan, head.len()),
        },
        Err(bad) => (refuse_head(bad), 0),
    };
    client.consume(len);
    Ok(Some(plan))
}

fn refuse_head(bad: HeadError) -> Dispatch {
    let status = if bad == HeadError::TooLarge { 431 } else { 400 };
    let answer =
        messages::error_response(status, "bad_request", &format!("Belay could not understand this request: {bad}."));
    Dispatch::Refuse {
        answer,
        framing: Framing::Empty,
        asked: ResponseFraming { headless: false, closing: true, upgrading: false },
    }
}

fn plan(relay: &Relay, head: &RequestHead<'_, '_>, known: &mut Option<HeadCache>) -> Dispatch {
    // Before anything is looked up: what changes meanwhile makes what is known now outdated.
    let edition = relay.routes.generation();
    let upgrading = head.upgrade().is_some();
    let asked = ResponseFraming { headless: head.method == "HEAD", closing: !head.keep_alive(), upgrading };
    let refuse = |answer| Dispatch::Refuse { answer, framing: head.framing(), asked };
    if !head.target.starts_with('/') {
        return refuse(messages::not_a_forward_proxy());
    }
    let (upstream, below, path, run) = match relay.routes.resolve(head) {
        Route::Local => return Dispatch::Local,
        Route::Unknown => return refuse(messages::no_upstream(head.target, relay.routes.upstream_names())),
        Route::Upstream { upstream, below, path, run } => (upstream, below, path, run),
    };
    if upgrading && !relay.sockets && Routes::is_model_socket(path) {
        return refuse(messages::websocket_declined());
    }
    if let Some(owner) = upstream.foreign_key_owner(head.target, head.headers()) {
        return refuse(messages::misdirected(owner, &upstream.base.url()));
    }
    let credential = match &upstream.auth {
        Auth::Incoming => None,
        // Whoever reaches us may ask with this key; a page in a browser is nobody.
        Auth::Header { .. } if head.is_cross_origin_browser() => return refuse(messages::browser_origin()),
        Auth::Header { name, value } => Some((name.as_str(), value.as_str())),
    };
    let rewrite =
        HeadRewrite { target: &[upstream.base.path.as_str(), below, path], host: &upstream.base.authority, credential };
    let relayed = head.rewrite(&rewrite);
    // What is known of the run's session counts for requests that name none.
    let session = run.and_then(|run| relay.routes.session_of(run)).map(|session| session.to_string());
    // A site that a person visits may ask with whatever key it has, but speaks for no session.
    let seen = RoutedHead { head, path };
    let read = || RequestMeta::parse(head.method, &seen, session.as_deref().or(run));
    let letterhead = if head.is_browser_navigation() { None } else { read().map(Arc::new) };
    // A sub-agent is not the run's session, it is part of it.
    if let (Some(run), Some(session)) = (run, letterhead.as_deref().and_then(RequestMeta::root_session)) {
        relay.routes.bind_run_session(run, session);
    }
    let way = RoutePlan { upstream, eager: head.expects_continue(), asked, letterhead };
    *known = HeadCache::remember(head, &relayed, &way, edition);
    way.outgoing(relay, relayed, head.framing())
}
