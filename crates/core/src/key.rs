//! Which conversation of which agent.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// One agent conversation. Hooks, proxy and transcript of the same conversation give the same key.
/// Every event has one, so copies share their text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionKey {
    /// Canonical agent id: `claude-code`, `codex`, ... (`belay_agents::table` knows the aliases).
    #[serde(deserialize_with = "shared")]
    pub agent: Arc<str>,
    /// The agent's own session id, untouched; may hold any character.
    #[serde(deserialize_with = "shared")]
    pub id: Arc<str>,
}

/// Longest agent id and native id we take: enough for every agent seen, short enough for an index.
pub const MAX_ID_BYTES: usize = 512;

impl SessionKey {
    pub fn new(agent: impl AsRef<str>, id: impl AsRef<str>) -> Self {
        Self { agent: agent.as_ref().into(), id: id.as_ref().into() }
    }

    /// Reads `agent:native-id`; the native id may contain further colons.
    pub fn parse(text: &str) -> Option<Self> {
        let (agent, id) = text.split_once(':')?;
        (!agent.is_empty() && !id.is_empty()).then(|| Self::new(agent, id))
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.agent, self.id)
    }
}

/// Reads text that is shared from the start; serde would first make some that is not.
fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    struct SessionKeyVisitor;
    impl Visitor<'_> for SessionKeyVisitor {
        type Value = Arc<str>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Arc<str>, E> {
            Ok(text.into())
        }
    }
    deserializer.deserialize_str(SessionKeyVisitor)
}
