//! Session keys.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::digest::Digest;
use crate::redact::redact;

/// Identifies one agent conversation. Hooks, proxy and transcript of the same conversation share a key. Clones
/// share their text, because every event has one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionKey {
    /// Canonical agent id: `claude-code`, `codex`, ... (`belay_agents::table` knows the aliases).
    #[serde(deserialize_with = "shared")]
    pub agent: Arc<str>,
    /// The agent's session id; a digest if it looks like a secret.
    #[serde(deserialize_with = "shared")]
    pub id: Arc<str>,
}

/// Maximum length of agent id and session id.
pub const MAX_ID_BYTES: usize = 512;

/// Why a text cannot be the id of an event, an agent or a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("must not be empty")]
    Empty,
    #[error("is {bytes} bytes long; at most {MAX_ID_BYTES} are kept")]
    TooLong { bytes: usize },
    /// Ids are printed on terminals and in logs.
    #[error("must not hold control characters")]
    ControlCharacter,
}

/// A field with an id that cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidId {
    /// The field as events name it: `id`, `session.agent`, `session.id`.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: IdError,
}

/// Checks the id of an event, an agent or a session: the one rule for all of them.
pub fn validate_id(text: &str) -> Result<(), IdError> {
    match text.len() {
        0 => Err(IdError::Empty),
        bytes if bytes > MAX_ID_BYTES => Err(IdError::TooLong { bytes }),
        _ if text.chars().any(char::is_control) => Err(IdError::ControlCharacter),
        _ => Ok(()),
    }
}

/// What replaces an id that must not be stored. Equal ids stay equal.
pub(crate) fn redacted_id(text: &str) -> String {
    format!("redacted-{}", Digest::from_bytes(text))
}

/// One part of a key without secrets. Does not allocate for ordinary ids.
pub(crate) fn redact_key_part(text: &str) -> Cow<'_, str> {
    match redact(text) {
        Cow::Borrowed(text) => Cow::Borrowed(text),
        Cow::Owned(_) => Cow::Owned(redacted_id(text)),
    }
}

/// The agent of the guided trial's sessions.
pub const TRIAL_AGENT: &str = "trial";

impl SessionKey {
    /// The key of a session of the guided trial.
    pub fn trial(id: impl AsRef<str>) -> Self {
        Self::new(TRIAL_AGENT, id)
    }

    /// Whether the session belongs to the guided trial: it alerts nobody and counts in no figure.
    pub fn is_trial(&self) -> bool {
        &*self.agent == TRIAL_AGENT
    }

    /// The key of a session. An id that looks like a secret becomes a digest, here and when a key is deserialized.
    pub fn new(agent: impl AsRef<str>, id: impl AsRef<str>) -> Self {
        let part = |text: &str| redact_key_part(text).as_ref().into();
        Self { agent: part(agent.as_ref()), id: part(id.as_ref()) }
    }

    /// Parses `agent:native-id`; the native id may contain colons.
    pub fn parse(text: &str) -> Option<Self> {
        let (agent, id) = text.split_once(':')?;
        let key = Self::new(agent, id);
        key.validate().is_ok().then_some(key)
    }

    /// A short name for a message: a prefix of a UUID that is long enough to be unique in practice, else the whole key.
    /// Commands take any unique prefix.
    pub fn short_id(&self) -> String {
        let bytes = self.id.as_bytes();
        let is_uuid = bytes.len() == 36
            && bytes.iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            });
        match is_uuid {
            // A UUID of version 7 starts with its time: 48 bits of milliseconds.
            true if bytes[14] == b'7' => self.id[..13].to_owned(),
            true => self.id[..8].to_owned(),
            false => self.to_string(),
        }
    }

    /// Checks both ids.
    pub fn validate(&self) -> Result<(), InvalidId> {
        for (field, text) in [("session.agent", &self.agent), ("session.id", &self.id)] {
            validate_id(text).map_err(|problem| InvalidId { field, problem })?;
        }
        Ok(())
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.agent, self.id)
    }
}

/// Deserialises directly into an `Arc`; serde would allocate a `String` first.
fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    struct SessionKeyVisitor;
    impl Visitor<'_> for SessionKeyVisitor {
        type Value = Arc<str>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Arc<str>, E> {
            Ok(redact_key_part(text).as_ref().into())
        }
    }
    deserializer.deserialize_str(SessionKeyVisitor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_of_uuids_are_prefixes() {
        let short = |id: &str| SessionKey::new("codex", id).short_id();
        assert_eq!(short("f19b2c3d-1111-4222-8333-444455556666"), "f19b2c3d");
        assert_eq!(short("01a1b2c3-d4e5-7222-8333-444455556666"), "01a1b2c3-d4e5");
        assert_eq!(short("ses_01"), "codex:ses_01");
    }

    #[test]
    fn ids_are_bounded_and_printable() {
        assert_eq!(validate_id(&"é".repeat(MAX_ID_BYTES / 2)), Ok(()));
        assert_eq!(validate_id(""), Err(IdError::Empty));
        assert_eq!(validate_id(&"x".repeat(MAX_ID_BYTES + 1)), Err(IdError::TooLong { bytes: MAX_ID_BYTES + 1 }));
        assert_eq!(validate_id("a\u{85}b"), Err(IdError::ControlCharacter));
    }

    #[test]
    fn a_key_names_the_id_that_is_wrong() {
        let problem = |agent, id| SessionKey::new(agent, id).validate().unwrap_err().to_string();
        assert_eq!(problem("", "s1"), "session.agent: must not be empty");
        assert_eq!(problem("codex", "s\n1"), "session.id: must not hold control characters");
        assert_eq!(SessionKey::parse("codex:a:b"), Some(SessionKey::new("codex", "a:b")));
        assert_eq!(SessionKey::parse("codex:a\n").or(SessionKey::parse(":a")).or(SessionKey::parse("codex:")), None);
    }
}
