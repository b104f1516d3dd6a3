//! What the head of a request says to whoever follows it. The same for all requests that begin with it.

use belay_agents::wire::Head;
use belay_core::SessionKey;

use super::api::{Api, Asks};
use super::identity::Who;

#[derive(Debug)]
pub(crate) struct Letterhead {
    pub(super) api: Api,
    pub(super) who: Who,
    /// The model, where the path names it.
    pub(super) model: Option<String>,
    /// How the body is packed.
    pub(super) encoding: Option<String>,
}

impl Letterhead {
    /// Reads the head; `None` when it does not ask for a turn of a conversation. `run` is the key from the path's prefix.
    pub(crate) fn read(method: &str, head: &dyn Head, run: Option<&str>) -> Option<Self> {
        let Asks::Turn(api) = Asks::of(method, head.path()) else { return None };
        let encoding = head.header("content-encoding").map(str::to_ascii_lowercase);
        Some(Self {
            api,
            who: Who::read(head, run),
            model: api.model_in_path(head.path()).map(str::to_owned),
            encoding: encoding.filter(|encoding| encoding != "identity"),
        })
    }

    /// The session, where the head names it and it is nobody's sub-agent.
    pub(crate) fn main_session(&self) -> Option<&SessionKey> {
        let Who { session, sender, .. } = &self.who;
        session.as_ref().filter(|_| sender.parent.is_none() && !sender.auxiliary)
    }
}
