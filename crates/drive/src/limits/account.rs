//! Which sessions and runs share a login, and with it usage limits.

use std::fmt;
use std::path::{Path, PathBuf};

use belay_agents::AgentSpec;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;

/// An account: the agent, and the agent's own directory if a variable moves it, because that is where its login is. Two
/// keys that are used with one directory count as one account, which errs towards waiting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(String);

impl AccountId {
    /// The account of a run, by its environment.
    pub fn from_environment(agent: &AgentSpec, env: &Environment) -> Self {
        let dir = agent.home_env.and_then(|name| env.get(name)).filter(|dir| !dir.is_empty());
        // Without a slash at the end.
        let dir: Option<PathBuf> = dir.map(|dir| Path::new(dir).components().collect());
        let home = env.get("HOME").map(Path::new);
        Self::new(agent, dir.filter(|dir| home.is_none_or(|home| !agent.is_default_home(dir, home))))
    }

    /// The account of a session that something else may have started, by the place of its session file. `home`: the user's
    /// home directory.
    pub fn from_transcript(agent: &AgentSpec, transcript: Option<&Path>, home: Option<&Path>) -> Self {
        Self::new(agent, transcript.zip(home).and_then(|(transcript, home)| agent.moved_home(transcript, home)))
    }

    /// The account of a program that is not a known agent, or one that was stored.
    pub fn from_name(name: &str) -> Self {
        Self(name.to_owned())
    }

    fn new(agent: &AgentSpec, moved_to: Option<PathBuf>) -> Self {
        match moved_to {
            Some(dir) => Self(format!("{} ({})", agent.id, dir.display())),
            None => Self(agent.id.to_owned()),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
