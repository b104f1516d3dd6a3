//! Which conversation of which agent.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One agent conversation. Hooks, proxy and transcript of the same conversation give the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionKey {
    /// Canonical agent id: `claude-code`, `codex`, ... (`belay_agents::table` knows the aliases).
    pub agent: String,
    /// The agent's own session id, untouched; may hold any character.
    pub id: String,
}

/// Longest agent id and native id we take: enough for every agent seen, short enough for an index.
pub const MAX_ID_BYTES: usize = 512;

impl SessionKey {
    pub fn new(agent: impl Into<String>, id: impl Into<String>) -> Self {
        Self { agent: agent.into(), id: id.into() }
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
