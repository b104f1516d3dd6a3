//! Identifying the agent behind a model request, and refusing the request.
//!
//! A [`WireClient`] identifies its agent and session from the head of a request. The proxy reads the bodies, whose format
//! belongs to the model API. A client adds what is specific to the agent: the kinds of its tools, which text in the user
//! role a person typed, and which refusal it does not retry.

use std::fmt;

use belay_core::event::Author;
use belay_core::{SessionKey, ToolKind};
use serde_json::{Value, json};

/// The head of a model request.
pub trait RequestHead {
    /// The value of a header, ignoring case.
    fn header(&self, name: &str) -> Option<&str>;

    /// Path and query, without Belay's own prefixes.
    fn path(&self) -> &str;
}

/// The sender of a request, as far as the head identifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestIdentity {
    /// Canonical agent id.
    pub agent: &'static str,
    /// The session, if the head names it.
    pub session: Option<SessionKey>,
    /// The parent session of a sub-agent.
    pub parent: Option<SessionKey>,
    /// Not part of a conversation, such as a title or a token count.
    pub auxiliary: bool,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// Version of the agent.
    pub version: Option<String>,
}

/// A refusal that the agent shows to the person and does not retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalRefusal {
    /// HTTP status.
    pub status: u16,
    /// Headers other than the length.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: String,
}

/// An agent as a client of model APIs.
pub trait WireClient: Sync + fmt::Debug {
    /// Id of the agent.
    fn agent(&self) -> &'static str;

    /// The identity of the sender, if it is this agent.
    fn identify(&self, head: &dyn RequestHead) -> Option<RequestIdentity>;

    /// The kind of a tool, if it is built in.
    fn kind_of(&self, _name: &str, _input: &Value) -> Option<ToolKind> {
        None
    }

    /// Author and text of a prompt in the user role; `None` for context that the agent adds.
    fn user_prompt<'t>(&self, text: &'t str) -> Option<(Author, &'t str)> {
        strip_context(text).map(|strip_context| (Author::Person, strip_context))
    }

    /// Whether a request without tools is auxiliary. Agents that always offer tools request titles and summaries without
    /// them.
    fn always_offers_tools(&self) -> bool {
        true
    }

    /// The refusal that the agent does not retry.
    fn refuse(&self, code: &str, message: &str) -> FinalRefusal {
        payment_required_refusal(code, message)
    }
}

/// The client that sent a request, and its identity.
pub fn recognise(head: &dyn RequestHead) -> (&'static dyn WireClient, RequestIdentity) {
    let clients = crate::registry::AGENTS.iter().filter_map(|agent| agent.wire);
    let known = clients.into_iter().find_map(|client| Some((client, client.identify(head)?)));
    known.unwrap_or_else(|| (&UnknownClient, RequestIdentity::default()))
}

/// The client of an agent, by id or alias; [`UnknownClient`] if it has none.
pub fn client(agent: &str) -> &'static dyn WireClient {
    crate::registry::find(agent).and_then(|agent| agent.wire).unwrap_or(&UnknownClient)
}

/// An unknown client.
#[derive(Debug)]
pub struct UnknownClient;

impl WireClient for UnknownClient {
    fn agent(&self) -> &'static str {
        "unknown"
    }

    fn identify(&self, _: &dyn RequestHead) -> Option<RequestIdentity> {
        None
    }

    fn always_offers_tools(&self) -> bool {
        false
    }
}

/// The prompt in a text of the user role, without the tagged context before it.
fn strip_context(text: &str) -> Option<&str> {
    let mut rest = text.trim();
    while let Some(tag) = rest.strip_prefix('<') {
        let name = tag.split(|c: char| !(c.is_ascii_lowercase() || c == '_' || c == '-')).next().unwrap_or_default();
        if name.is_empty() {
            break;
        }
        let end = format!("</{name}>");
        let at = rest.find(&end)?;
        rest = rest[at + end.len()..].trim_start();
    }
    (!rest.is_empty()).then_some(rest)
}

/// The refusal for every agent but Codex: clients do not retry billing errors.
pub(crate) fn payment_required_refusal(code: &str, message: &str) -> FinalRefusal {
    let error = json!({ "type": "error", "error": { "type": "billing_error", "code": code, "message": message } });
    FinalRefusal {
        status: 402,
        headers: vec![("content-type", "application/json"), ("x-should-retry", "false")],
        body: error.to_string(),
    }
}

/// The version in a user agent such as `claude-cli/2.1.325 (external, sdk-cli)`, if the product matches.
pub(crate) fn version_of(head: &dyn RequestHead, product: &str) -> Option<String> {
    let rest = head.header("user-agent")?.strip_prefix(product)?.strip_prefix('/')?;
    Some(rest.split([' ', '/', '(']).next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests;
