//! Decides what happens to a request by its head.

use std::sync::Arc;

use belay_net::PeerUser;

use crate::access::Access;
use crate::client_conn::ClientConn;
use crate::exchange::ResponseFraming;
use crate::framing::Framing;
use crate::head::{HeadError, HeadRewrite, HeaderStorage, RequestHead, RoutedHead};
use crate::inspect::{ExchangeInspection, RequestMeta};
use crate::local_response::LocalResponse;
use crate::messages;
use crate::relay::Relay;
use crate::routes::{Route, Routes};
use crate::upstream::{Auth, Upstream};

/// What happens to a request. Owns everything it needs from the head, so that the buffer can be reused.
#[derive(Debug)]
pub(crate) enum Dispatch {
    /// Belay's own API answers it.
    Local,
    Relay(OutgoingRequest),
    Refuse {
        response: LocalResponse,
        request_framing: Framing,
        response_framing: ResponseFraming,
    },
    /// Answered without reading the body, because the sender may not use the port: it could occupy connections with bodies
    /// that never end.
    Reject {
        response: LocalResponse,
        headless: bool,
    },
}

/// A request to relay.
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) upstream: Arc<Upstream>,
    /// The rewritten head.
    pub(crate) head: Vec<u8>,
    pub(crate) framing: Framing,
    /// The client waits for `100 Continue`.
    pub(crate) expects_continue: bool,
    pub(crate) response_framing: ResponseFraming,
    /// Only for requests for a turn of a conversation.
    pub(crate) inspection: Option<ExchangeInspection>,
}

/// Dispatches the request in the client's buffer. `None` while its head is incomplete.
pub(crate) fn dispatch_next(relay: &Relay, peer: PeerUser, client: &mut ClientConn) -> Option<Dispatch> {
    let mut storage = HeaderStorage::new();
    let (dispatch, len) = match RequestHead::parse(client.buffered(), &mut storage) {
        Ok(None) => return None,
        Ok(Some(head)) => match dispatch(relay, &head, peer) {
            // The local service parses the head itself.
            Dispatch::Local => return Some(Dispatch::Local),
            dispatch => (dispatch, head.len()),
        },
        Err(error) => (refuse_head(error), 0),
    };
    client.consume(len);
    Some(dispatch)
}

fn refuse_head(error: HeadError) -> Dispatch {
    let status = if error == HeadError::TooLarge { 431 } else { 400 };
    Dispatch::Refuse {
        response: messages::bad_request(status, &error),
        request_framing: Framing::Empty,
        response_framing: ResponseFraming { headless: false, closing: true, upgrading: false },
    }
}

fn dispatch(relay: &Relay, head: &RequestHead<'_, '_>, peer: PeerUser) -> Dispatch {
    let (token, target) = split_token(head.target);
    let access_by = |run| Access::decide(has_credential(relay, head, token, run, peer), peer);
    if !head.target.starts_with('/') {
        return refuse(head, access_by(None), messages::not_a_forward_proxy());
    }
    if has_parent_segment(head.target) {
        return refuse(head, access_by(None), messages::parent_segment());
    }
    let (upstream, below, path, run) = match relay.routes.resolve(head, target) {
        Route::Local if token.is_none() => return Dispatch::Local,
        // The token is for model requests; it must not open Belay's own API.
        Route::Local | Route::Unknown => {
            let response = messages::no_upstream(target, relay.routes.upstream_names());
            return refuse(head, access_by(None), response);
        }
        Route::Upstream { upstream, below, path, run } => (upstream, below, path, run),
    };
    let access = access_by(run);
    let refuse = |response| refuse(head, access, response);
    match (access, &upstream.auth) {
        (Access::OtherUser(_) | Access::NoUser | Access::Remote, _) | (Access::OwnKeyOnly, Auth::Header { .. }) => {
            return refuse(messages::unknown_user());
        }
        (Access::OwnKeyOnly, Auth::Incoming) | (Access::Full, _) => {}
    }
    if head.upgrade().is_some() && !relay.sockets && Routes::is_model_socket(path) {
        return refuse(messages::websocket_declined());
    }
    if let Some(owner) = upstream.foreign_key_owner(target, head.headers()) {
        return refuse(messages::misdirected(owner, &upstream.base.url()));
    }
    let credential = match &upstream.auth {
        Auth::Incoming => None,
        // Any program of the user may use the configured key; a page in a browser may not.
        Auth::Header { .. } if head.is_cross_origin_browser(peer == PeerUser::Remote) => {
            return refuse(messages::browser_origin());
        }
        Auth::Header { name, value } => Some((name.as_str(), value.as_str())),
    };
    let target = [upstream.base.path.as_str(), below, path];
    let rewritten = head.rewrite(&HeadRewrite { target: &target, host: &upstream.base.authority, credential });
    Dispatch::Relay(OutgoingRequest {
        head: rewritten,
        framing: head.framing(),
        expects_continue: head.expects_continue(),
        response_framing: response_framing(head),
        inspection: request_meta(relay, head, path, run, access)
            .map(|meta| relay.inspector.start(meta, run.and_then(|run| relay.routes.open_exchange(run)))),
        upstream,
    })
}

fn response_framing(head: &RequestHead<'_, '_>) -> ResponseFraming {
    let (headless, upgrading) = (head.method == "HEAD", head.upgrade().is_some());
    ResponseFraming { headless, closing: !head.keep_alive(), upgrading }
}

/// Refuses a request. A sender that may not use the port learns that instead.
fn refuse(head: &RequestHead<'_, '_>, access: Access, response: LocalResponse) -> Dispatch {
    let response_framing = response_framing(head);
    let response = match access {
        Access::Full => {
            return Dispatch::Refuse { response, request_framing: head.framing(), response_framing };
        }
        Access::OwnKeyOnly => response,
        Access::OtherUser(uid) => messages::other_user(uid),
        Access::NoUser => messages::no_user(),
        Access::Remote => messages::token_required(),
    };
    Dispatch::Reject { response, headless: response_framing.headless }
}

/// Whether a path has a `..` segment, by which an upstream could leave the path of its base URL. Servers decode percent
/// escapes before or after they split a path, take `\` for `/`, and ignore what follows `;` in a segment.
fn has_parent_segment(target: &str) -> bool {
    let path = target.split(['?', '#']).next().unwrap_or(target);
    if !path.contains("..") && !path.contains('%') {
        return false;
    }
    let decoded = percent_encoding::percent_decode_str(path).collect::<Vec<u8>>();
    let mut segments = decoded.split(|byte| matches!(byte, b'/' | b'\\'));
    segments.any(|segment| segment.split(|byte| *byte == b';').next() == Some(b".."))
}

/// Splits `/t/TOKEN/path` into the token and the rest.
fn split_token(target: &str) -> (Option<&str>, &str) {
    let Some(rest) = target.strip_prefix("/t/") else { return (None, target) };
    match rest.find('/') {
        Some(slash) => (Some(&rest[..slash]), &rest[slash..]),
        None => (Some(rest), "/"),
    }
}

/// Whether a request carries a token, or the key of a run that has not ended. Runs are on this machine, so their keys do
/// not count on others.
fn has_credential(
    relay: &Relay,
    head: &RequestHead<'_, '_>,
    token: Option<&str>,
    run: Option<&str>,
    peer: PeerUser,
) -> bool {
    let token = token.or_else(|| head.header("x-belay-token"));
    let run = run.or_else(|| head.header("x-belay-session"));
    token.is_some_and(|token| relay.local.accepts_token(token))
        || peer != PeerUser::Remote && run.is_some_and(|run| relay.routes.is_active_run(run))
}

fn request_meta(
    relay: &Relay,
    head: &RequestHead<'_, '_>,
    path: &str,
    run: Option<&str>,
    access: Access,
) -> Option<RequestMeta> {
    // A web site may send requests with its own key from the user's browser; those are not agent sessions.
    if head.is_browser_navigation() {
        return None;
    }
    // Requests that name no session belong to the session of their run.
    let session = run.and_then(|run| relay.routes.session_of(run)).map(|session| session.to_string());
    let mut meta = RequestMeta::parse(head.method, &RoutedHead { head, path }, session.as_deref().or(run))?;
    if access != Access::Full {
        meta.mark_unverified();
    }
    // The session of a sub-agent is not the run's session.
    if let (Some(run), Some(session)) = (run, meta.root_session()) {
        relay.routes.bind_run_session(run, session);
    }
    Some(meta)
}
