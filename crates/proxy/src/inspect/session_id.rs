//! Identifies the session of a request. The sources, most certain first:
//!
//! 1. `X-Loop-Session`, which is configured for this purpose.
//! 2. The agent's own session id, by its wire dialect: the same id that its hooks and its session
//!    file have.
//! 3. `X-Loop-Agent` and `X-Loop-Agent-Session`: the same id, set by a wrapper around the agent.
//! 4. The key that `belay run` put into the base URL or into a header.
//! 5. The body: Loop Watchdog's metadata keys, a cache key, a user.
//! 6. The start of the conversation, which stays the same while the history grows, and the number of the run with it.

use belay_agents::wire::{self, RequestHead, RequestIdentity, WireClient};
use belay_core::key::validate_id;
use belay_core::{Digest, SessionKey};
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::anonymous_sessions::{AnonymousRequest, AnonymousSessions, Position};
use super::json_scan::{self, JsonCursor};
use super::wire::WireApi;
use crate::upstream::key_in_query;

/// The agent of sessions that only `X-Loop-Session` or the metadata of a body names.
pub const LOOP_WATCHDOG_AGENT: &str = "legacy";

/// Header by which `belay run` names a session where a path prefix does not reach.
pub(crate) const SESSION_HEADER: &str = "x-belay-session";

/// Sender information from a request head.
#[derive(Clone, Debug)]
pub(crate) struct RequestSender {
    pub(crate) client: &'static dyn WireClient,
    pub(crate) identity: RequestIdentity,
    /// The session, if the head names it.
    pub(crate) session: Option<SessionKey>,
    /// The head names a session by `X-Loop-Session`, and the sender is not an agent with its own refusal format.
    pub(crate) expects_supervisor_refusal: bool,
    /// A changed plan named in a header.
    pub(crate) plan: Option<String>,
    /// A digest of the credential.
    pub(crate) account: Option<Digest>,
    /// What the `X-Loop-*` headers say about the session.
    pub(crate) labels: SessionLabels,
}

/// The project of a session, as its client describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionLabels {
    pub(crate) project: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) task: Option<String>,
}

impl SessionLabels {
    /// Fills in missing values from the body.
    pub(crate) fn fill_from_body(&mut self, body: &[u8]) {
        let Some(metadata) = json_scan::field(body, "metadata") else { return };
        let text = |key: &str| {
            json_scan::field(metadata, key).and_then(json_scan::parse_string).filter(|text| !text.is_empty())
        };
        for (slot, key) in [
            (&mut self.project, "repository"),
            (&mut self.cwd, "workspace"),
            (&mut self.branch, "branch"),
            (&mut self.task, "task_id"),
        ] {
            if slot.is_none() {
                *slot = text(key);
            }
        }
    }
}

impl RequestSender {
    /// Reads the head. `run` is the key from the path prefix.
    pub(crate) fn read(head: &dyn RequestHead, run: Option<&str>) -> Self {
        let (mut client, mut identity) = wire::recognise(head);
        let run = run.or_else(|| head.header(SESSION_HEADER)).map(|key| percent_decode_str(key).decode_utf8_lossy());
        let run = run.filter(|key| !key.is_empty());
        let run = run.map(|key| match SessionKey::parse(&key) {
            Some(key) => key,
            None => SessionKey::new(client.agent(), key),
        });
        let text = |name: &str| head.header(name).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let watchdog = text("x-loop-session").map(|id| SessionKey::new(LOOP_WATCHDOG_AGENT, id));
        // A client that names a Loop Watchdog session looks for it under that name.
        let own = match watchdog {
            None => own_session(identity.agent, text("x-loop-agent"), text("x-loop-agent-session")),
            Some(_) => None,
        };
        if identity.agent.is_empty()
            && let Some(named) = own.as_ref().or(run.as_ref())
        {
            client = wire::client(&named.agent);
            identity.agent = client.agent();
        }
        let expects_supervisor_refusal = watchdog.is_some() && identity.agent.is_empty();
        let session = if identity.auxiliary && identity.session.is_none() {
            None
        } else {
            let mut named = [watchdog, identity.session.clone(), own, run].into_iter().flatten();
            named.find(|key| key.validate().is_ok())
        };
        let labels = SessionLabels {
            project: text("x-loop-repo"),
            cwd: text("x-loop-workspace").or_else(|| identity.cwd.clone()),
            branch: text("x-loop-branch"),
            task: text("x-loop-task"),
        };
        Self {
            client,
            session,
            expects_supervisor_refusal,
            plan: text("x-loop-plan"),
            account: account(head),
            labels,
            identity,
        }
    }

    /// The session by the head or the body.
    pub(crate) fn resolve_session(
        &self,
        api: WireApi,
        body: &[u8],
        index: &mut PrefixIndex,
        anonymous: &mut AnonymousSessions,
        is_held: impl Fn(&SessionKey) -> bool,
    ) -> Option<SessionKey> {
        if let Some(session) = &self.session {
            return Some(session.clone());
        }
        if self.identity.auxiliary {
            return None;
        }
        let Conversation { beginning, is_start, messages } = Conversation::read(api, body)?;
        // The naming fields usually follow the messages, far into the body. Whether there are any is the same for every
        // request of a program, so it is cached.
        if index.names_session(beginning) != Some(false) {
            let session = session_in_body(body, self.client.agent(), self.identity.agent.is_empty());
            index.insert(beginning, session.is_some());
            if session.is_some() {
                return session;
            }
        }
        let account = self.account.unwrap_or_default();
        let digest = Digest::of_parts([&beginning.to_le_bytes()[..], &account.0.to_le_bytes()]);
        // An auxiliary request without tools, such as one for a title, starts no run.
        let auxiliary = || self.client.always_offers_tools() && json_scan::field(body, "tools").is_none();
        let position = match is_start {
            true if auxiliary() => Position::Auxiliary,
            true => Position::Start,
            false => Position::Later,
        };
        let request = AnonymousRequest { start: digest, position, messages, at: belay_clock::now() };
        Some(anonymous.resolve(self.client.agent(), &request, is_held))
    }
}

/// Caches whether conversations with a given start name their session in the body.
#[derive(Debug, Default)]
pub(crate) struct PrefixIndex(std::collections::VecDeque<(u64, bool)>);

impl PrefixIndex {
    const MAX_PREFIXES: usize = 256;

    fn names_session(&self, beginning: u64) -> Option<bool> {
        self.0.iter().find(|(known, _)| *known == beginning).map(|(_, names)| *names)
    }

    fn insert(&mut self, beginning: u64, names_session: bool) {
        match self.0.iter_mut().find(|(known, _)| *known == beginning) {
            Some((_, known)) => *known = names_session,
            None => {
                self.0.truncate(Self::MAX_PREFIXES - 1);
                self.0.push_front((beginning, names_session));
            }
        }
    }
}

/// The conversation in a body.
struct Conversation<'b> {
    /// Hash of the messages up to and including the first one by a user.
    beginning: u64,
    /// The model has not responded yet.
    is_start: bool,
    /// The text of all messages.
    messages: &'b [u8],
}

impl<'b> Conversation<'b> {
    fn read(api: WireApi, body: &'b [u8]) -> Option<Self> {
        let mut scan = JsonCursor::new(body, 0);
        if !scan.consume_byte(b'{') {
            return None;
        }
        while scan.next_field()? != api.format().messages_field().as_bytes() {
            scan.skip_value()?;
        }
        if !scan.consume_byte(b'[') {
            let messages = &body[scan.skip_value()?];
            return Some(Self { beginning: xxh3_64(messages), is_start: true, messages });
        }
        let (mut hasher, mut has_user, mut is_start) = (Xxh3::new(), false, true);
        let (begin, mut end) = (scan.at(), scan.at());
        while scan.next_element() {
            let range = scan.skip_value()?;
            let message = &body[range.clone()];
            end = range.end;
            if !has_user {
                hasher.update(message);
                has_user = json_scan::field(message, "role").is_some_and(|role| role == b"\"user\"");
            } else if is_start {
                let role = json_scan::field(message, "role");
                is_start = matches!(role, Some(b"\"user\"" | b"\"system\"" | b"\"developer\""));
            }
        }
        Some(Self { beginning: hasher.digest(), is_start, messages: &body[begin..end] })
    }
}

/// The session that the body names. `user` counts only for unknown clients: agents use it for a person. Unknown clients
/// that use Loop Watchdog's keys are known by its ids.
fn session_in_body(body: &[u8], agent: &str, is_unknown: bool) -> Option<SessionKey> {
    let mut scan = JsonCursor::new(body, 0);
    if !scan.consume_byte(b'{') {
        return None;
    }
    let (mut metadata, mut cache_key, mut user) = (None, None, None);
    while let Some(name) = scan.next_field() {
        let value = &body[scan.skip_value()?];
        match name {
            b"metadata" => metadata = Some(value),
            b"prompt_cache_key" => cache_key = json_scan::parse_string(value),
            b"user" if is_unknown => user = json_scan::parse_string(value),
            _ => {}
        }
    }
    let of_metadata =
        |key: &str| metadata.and_then(|object| json_scan::field(object, key)).and_then(json_scan::parse_string);
    let watchdog = ["session_id", "loop_watchdog_session", "loop_session"].into_iter().find_map(of_metadata);
    let named =
        |agent: &str, id: Option<String>| id.filter(|id| validate_id(id).is_ok()).map(|id| SessionKey::new(agent, id));
    let own = || {
        let id = of_metadata("agent_session_id").filter(|id| validate_id(id).is_ok());
        own_session(
            if is_unknown { "" } else { agent },
            of_metadata("agent").filter(|agent| validate_id(agent).is_ok()),
            id,
        )
    };
    named(if is_unknown { LOOP_WATCHDOG_AGENT } else { agent }, watchdog)
        .or_else(own)
        .or_else(|| named(agent, cache_key))
        .or_else(|| named(LOOP_WATCHDOG_AGENT, user))
}

/// The agent's own session, as Loop Watchdog's clients name it. `None` if the request is by another agent.
fn own_session(on_wire: &str, agent: Option<String>, id: Option<String>) -> Option<SessionKey> {
    let named = agent.map(|name| belay_agents::find(&name).map_or(name, |known| known.id.to_owned()));
    let agent = match (named, on_wire) {
        (Some(named), "") => named,
        (Some(named), on_wire) if named != on_wire => return None,
        (None, "") => wire::UnknownClient.agent().to_owned(),
        (_, on_wire) => on_wire.to_owned(),
    };
    Some(SessionKey::new(agent, id?))
}

/// A changed plan that the body names.
pub(crate) fn plan_in_body(body: &[u8]) -> Option<String> {
    let metadata = json_scan::field(body, "metadata")?;
    ["loop_watchdog_plan", "changed_plan"].into_iter().find_map(|key| {
        json_scan::field(metadata, key).and_then(json_scan::parse_string).filter(|plan| !plan.trim().is_empty())
    })
}

/// A digest that identifies the account without revealing the credential.
fn account(head: &dyn RequestHead) -> Option<Digest> {
    // Tokens of a subscription change by the hour; the account they belong to does not.
    let names = ["chatgpt-account-id", "authorization", "x-api-key", "x-goog-api-key", "api-key"];
    let mut in_lines = names.into_iter().filter_map(|name| head.header(name).filter(|value| !value.is_empty()));
    let credential = in_lines.next().or_else(|| key_in_query(head.path()))?;
    let hash = Sha256::new().chain_update(b"belay account\0").chain_update(credential.as_bytes()).finalize();
    let first: [u8; 8] = hash.as_slice().first_chunk().copied()?;
    Some(Digest(u64::from_be_bytes(first)))
}

#[cfg(test)]
mod tests;
