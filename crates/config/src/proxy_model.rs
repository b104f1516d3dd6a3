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
    /// Relay model requests.
    pub enabled: bool,
    /// How long a request of a held session waits for a decision before it is refused.
    pub hold_timeout: DurationSetting,
    /// Insert a nudge into the next request if no hook can deliver it.
    pub nudge: bool,
    /// Cut a streaming response that repeats itself.
    pub cut_repetition: bool,
    /// Relay WebSockets without inspection instead of asking the agent for plain requests.
    pub allow_websockets: bool,
    /// Longest request body that is inspected.
    pub max_inspected_bytes: ByteSize,
    /// Memory limit of all requests in flight.
    pub max_buffered_bytes: ByteSize,
    /// Model APIs by name; the name is also the path prefix that selects it.
    pub upstreams: BTreeMap<String, UpstreamConfig>,
}

/// A model API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Base URL; the request's path is appended to it.
    pub url: String,
    /// Which credential is sent to the upstream.
    #[serde(default)]
    pub auth: AuthMode,
    /// Environment variable of Belay that holds the key, unless `auth` is "incoming".
    #[serde(default)]
    pub key_env: String,
    /// Header that carries the key if `auth` is "header".
    #[serde(default = "api_key_header")]
    pub header: String,
    /// Allow plain HTTP to another machine.
    #[serde(default)]
    pub allow_plaintext: bool,
    /// PEM file with certificates to trust in addition to the system's; empty for none.
    #[serde(default)]
    pub ca_file: String,
    /// Timeout for connecting.
    #[serde(default = "connect_timeout")]
    pub connect_timeout: DurationSetting,
    /// A request fails after this long without any byte in either direction.
    #[serde(default = "idle_timeout")]
    pub idle_timeout: DurationSetting,
}

/// Which credential is sent to an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// The agent's own, unchanged.
    #[default]
    Incoming,
    /// The key from `key_env`, as `Authorization: Bearer`.
    Bearer,
    /// The key from `key_env`, in the header named by `header`.
    Header,
}

/// Compatibility with the tools that Belay replaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompatConfig {
    /// Accept Loop Watchdog's decisions (resume, kill, ...) from this machine without the token.
    pub loop_watchdog_without_token: bool,
    /// Pause a session at this many reported rounds: the same files changed, the same failure. Counts only events posted to
    /// Loop Watchdog's events API; 0 = never.
    pub pause_at: u32,
}

fn api_key_header() -> String {
    "x-api-key".to_owned()
}

fn connect_timeout() -> DurationSetting {
    DurationSetting::new(Duration::from_secs(10))
}

fn idle_timeout() -> DurationSetting {
    DurationSetting::new(Duration::from_secs(600))
}
