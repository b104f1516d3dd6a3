//! Facts about session and body from a request head.

use belay_agents::wire::RequestHead;
use belay_core::SessionKey;

use super::session_id::{RequestSender, SessionLabels};
use super::wire::WireApi;

#[derive(Debug)]
pub(crate) struct RequestMeta {
    pub(super) api: WireApi,
    pub(super) sender: RequestSender,
    /// The model, if the path names it.
    pub(super) model: Option<String>,
    /// The content encoding of the body.
    pub(super) encoding: Option<String>,
    /// The user who sent it is unknown.
    pub(super) unverified: bool,
}

impl RequestMeta {
    /// `None` if the request does not ask for a turn of a conversation. `run` is the key from the path's prefix.
    pub(crate) fn parse(method: &str, head: &dyn RequestHead, run: Option<&str>) -> Option<Self> {
        let api = WireApi::of_turn(method, head.path())?;
        let encoding = head.header("content-encoding").map(str::to_ascii_lowercase);
        Some(Self {
            api,
            sender: RequestSender::read(head, run),
            model: api.format().model_in_path(head.path()).map(str::to_owned),
            encoding: encoding.filter(|encoding| encoding != "identity"),
            unverified: false,
        })
    }

    /// Marks the request as one of an unknown user. What it says about the project is not recorded: rules, alerts and
    /// notes to other agents depend on it.
    pub(crate) fn mark_unverified(&mut self) {
        self.unverified = true;
        self.sender.labels = SessionLabels::default();
        self.sender.plan = None;
    }

    /// The session, if the head names it and it is not a sub-agent.
    pub(crate) fn root_session(&self) -> Option<&SessionKey> {
        let RequestSender { session, identity, .. } = &self.sender;
        session.as_ref().filter(|_| identity.parent.is_none() && !identity.auxiliary)
    }
}
