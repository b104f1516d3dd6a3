//! The sections `[proxy]` and `[compat]`.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteSize, DurationSetting};

/// The relay between agents and models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyConfig {
    /// Relay model requests at all.
    pub enabled: bool,
    /// How long a request of a held session is kept open for a person's decision before it is refused.
    pub hold: DurationSetting,
    /// Put a nudge into the next request, where no hook can tell the agent.
    pub nudge: bool,
    /// End an answer that has begun to repeat itself while it streams.
    pub cut_chanting: bool,
    /// Let sockets that carry turns pass unseen, instead of asking agents for plain requests.
    pub sockets: bool,
    /// Longest request body that is looked at.
    pub inspect_bytes: ByteSize,
    /// What all requests in flight may hold in memory together.
    pub buffer_bytes: ByteSize,
    /// Model APIs by name; the name is also the path prefix that chooses one.
    pub upstreams: BTreeMap<String, UpstreamConfig>,
}

/// A model API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Base URL; the request's path is appended to it.
    pub url: String,
    /// Whose credential the upstream gets.
    #[serde(default)]
    pub auth: AuthMode,
    /// Variable in Belay's environment that holds the key, where the key is not the agent's own.
    #[serde(default)]
    pub key_env: String,
    /// Header that carries the key, where `auth` is "header".
    #[serde(default = "api_key_header")]
    pub header: String,
    /// Plain http to another machine is fine.
    #[serde(default)]
    pub plaintext: bool,
    /// File with certificates to trust beside those of the machine (PEM); empty for none.
    #[serde(default)]
    pub ca_file: String,
    /// How long a connection may take.
    #[serde(default = "connect")]
    pub connect: DurationSetting,
    /// How long nothing may move before a request is given up.
    #[serde(default = "quiet")]
    pub quiet: DurationSetting,
}

/// Whose credential an upstream gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// The agent's own, untouched.
    #[default]
    Incoming,
    /// The key from `key_env`, as `Authorization: Bearer`.
    Bearer,
    /// The key from `key_env`, in the header named by `header`.
    Header,
}

/// Clients of the tools Belay takes over from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompatConfig {
    /// Take Loop Watchdog's decisions (resume, kill, ...) from this machine without the token.
    pub tokenless: bool,
}

fn api_key_header() -> String {
    "x-api-key".to_owned()
}

fn connect() -> DurationSetting {
    DurationSetting::new(Duration::from_secs(10))
}

fn quiet() -> DurationSetting {
    DurationSetting::new(Duration::from_secs(600))
}
