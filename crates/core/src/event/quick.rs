//! Reading events that are as they should be: straight from the text, without a tree of values in between. Whatever
//! is unusual or wrong is left to the thorough way, which can say what and why.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Body, Event, SCHEMA_VERSION, Source};
use crate::key::{MAX_ID_BYTES, SessionKey};
use crate::time::Time;

/// The fields every event has.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default = "super::schema_version")]
    v: u16,
    id: String,
    session: SessionKey,
    #[serde(default)]
    parent: Option<SessionKey>,
    #[serde(default)]
    source: Source,
    #[serde(default)]
    at: Time,
    #[serde(default)]
    batch: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// The event, if there is nothing to say about it.
pub(super) fn read(json: &[u8]) -> Option<Event> {
    let head: Head<'_> = serde_json::from_slice(json).ok()?;
    let known = (1..=SCHEMA_VERSION).contains(&head.v);
    let named = [&head.id, &head.session.agent, &head.session.id].into_iter().all(|name| is_name(name));
    if !known || !named {
        return None;
    }
    let body = body(&head.kind, json)?;
    let Head { v, id, session, parent, source, at, batch, cwd, .. } = head;
    Some(Event { v, id, session, parent, source, at, batch, cwd, body })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_ID_BYTES && !text.chars().any(char::is_control)
}

fn body(kind: &str, json: &[u8]) -> Option<Body> {
    fn part<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
        serde_json::from_slice(json).ok()
    }
    Some(match kind {
        "tool_called" => Body::ToolCalled(part(json)?),
        "tool_returned" => Body::ToolReturned(part(json)?),
        "model_asked" => Body::ModelAsked(part(json)?),
        "model_answered" => Body::ModelAnswered(part(json)?),
        "learned" => Body::Learned(part(json)?),
        "file_changed" => Body::FileChanged(part(json)?),
        "check_ran" => Body::CheckRan(part(json)?),
        "prompt" => Body::Prompt(part(json)?),
        "turn_ended" => Body::TurnEnded(part(json)?),
        "session_started" => Body::SessionStarted(part(json)?),
        "tick" => Body::Tick,
        _ => return None,
    })
}
