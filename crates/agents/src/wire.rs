//! The wire: how an agent's model requests show whose they are, and how to stop it there.
//!
//! A [`WireClient`] recognises its agent by the head of a request and reads from it what the agent says
//! about the conversation. Bodies belong to the model APIs, not to the agents, and are read by the
//! proxy; a dialect adds what only its agent's authors could know: what a tool is for, which "user"
//! text a person typed, and which refusal the agent takes as final instead of trying again.

use std::fmt;

use belay_core::event::Author;
use belay_core::{SessionKey, ToolKind};
use serde_json::{Value, json};

/// The head of a model request.
pub trait RequestHead {
    /// The value of a header, whatever its case.
    fn header(&self, name: &str) -> Option<&str>;

    /// Path and query, without prefixes meant for us.
    fn path(&self) -> &str;
}

/// Who asks, as far as the head shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestIdentity {
    /// Canonical agent id.
    pub agent: &'static str,
    /// The conversation, when the agent names it.
    pub session: Option<SessionKey>,
    /// For a sub-agent: who started it.
    pub parent: Option<SessionKey>,
    /// Not a turn of any conversation: a title, a token count.
    pub auxiliary: bool,
    /// Where the agent works.
    pub cwd: Option<String>,
    /// Version of the agent.
    pub version: Option<String>,
}

/// A refusal the agent takes as final: one request fails, a person reads why, nothing retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalRefusal {
    /// HTTP status.
    pub status: u16,
    /// Header lines beside the length.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: String,
}

/// How one agent speaks to models.
pub trait WireClient: Sync + fmt::Debug {
    /// Id of the agent.
    fn agent(&self) -> &'static str;

    /// Who asks, if it is this agent.
    fn identify(&self, head: &dyn RequestHead) -> Option<RequestIdentity>;

    /// What one of the agent's tools does, where its name tells.
    fn kind_of(&self, _name: &str, _input: &Value) -> Option<ToolKind> {
        None
    }

    /// What somebody said in a text in the user's role, and who; `None` when it is the program
    /// talking to itself.
    fn user_prompt<'t>(&self, text: &'t str) -> Option<(Author, &'t str)> {
        typed(text).map(|typed| (Author::Person, typed))
    }

    /// Whether a request without tools is beside the conversation. Agents that always offer tools
    /// ask for titles and summaries without them.
    fn always_offers_tools(&self) -> bool {
        true
    }

    /// The refusal it takes as final.
    fn refuse(&self, code: &str, message: &str) -> FinalRefusal {
        payment_required_refusal(code, message)
    }
}

/// The client that sent a request, and what its head shows.
pub fn recognise(head: &dyn RequestHead) -> (&'static dyn WireClient, RequestIdentity) {
    let clients = crate::registry::AGENTS.iter().filter_map(|agent| agent.wire);
    let known = clients.into_iter().find_map(|client| Some((client, client.identify(head)?)));
    known.unwrap_or_else(|| (&UnknownClient, RequestIdentity::default()))
}

/// The client of an agent, by id or alias; [`UnknownClient`] if it has none of its own.
pub fn client(agent: &str) -> &'static dyn WireClient {
    crate::registry::find(agent).and_then(|agent| agent.wire).unwrap_or(&UnknownClient)
}

/// A program we know nothing about.
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

/// What a person typed: a text in the user's role without the tagged context that programs put in
/// front of it.
fn typed(text: &str) -> Option<&str> {
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

/// What every agent but Codex takes as final: nobody retries a bill.
pub(crate) fn payment_required_refusal(code: &str, message: &str) -> FinalRefusal {
    let error = json!({ "type": "error", "error": { "type": "billing_error", "code": code, "message": message } });
    FinalRefusal {
        status: 402,
        headers: vec![("content-type", "application/json"), ("x-should-retry", "false")],
        body: error.to_string(),
    }
}

/// The version in a user agent such as `claude-cli/2.1.325 (external, sdk-cli)`, if it begins so.
pub(crate) fn version_of(head: &dyn RequestHead, product: &str) -> Option<String> {
    let rest = head.header("user-agent")?.strip_prefix(product)?.strip_prefix('/')?;
    Some(rest.split([' ', '/', '(']).next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests;
