//! The typed configuration. Defaults are in `default.toml`. `belay config explain` and the JSON Schema show the doc
//! comments of this file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use belay_core::Rules;

use crate::drive_model::{AgentConfig, DriveConfig, ReviewConfig};
use crate::proxy_model::{CompatConfig, ProxyConfig};
use crate::units::{ByteSize, DurationSetting, ListenAddr};

/// Belay's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The resident process.
    pub serve: ServeConfig,
    /// Retention of the history.
    pub store: RetentionConfig,
    /// Hooks inside the agents.
    pub hooks: HooksConfig,
    /// The relay between agents and models.
    pub proxy: ProxyConfig,
    /// Answering agents' permission prompts through Belay.
    pub approvals: ApprovalsConfig,
    /// Agents by id.
    pub agents: BTreeMap<String, AgentConfig>,
    /// Agents that Belay starts by itself.
    pub drive: DriveConfig,
    /// Review loops.
    pub review: ReviewConfig,
    /// Compatibility with the tools that Belay replaces.
    pub compat: CompatConfig,
    /// Notifications on this machine.
    pub notify: NotifyConfig,
    /// Incidents posted to a URL.
    pub webhook: WebhookConfig,
    /// The log files.
    pub log: LogConfig,
    /// Detection: thresholds, ladder, budgets, allow-lists, custom patterns.
    pub detect: Rules,
}

impl Config {
    /// The configured program of an agent.
    pub fn agent_program(&self, id: &str) -> Option<PathBuf> {
        let program = &self.agents.get(id)?.program;
        (!program.is_empty()).then(|| program.into())
    }

    /// The rules of detection. Rounds that Loop Watchdog's clients report have the ladder of `[compat]`, unless the
    /// pattern has one of its own.
    pub fn rules(self) -> Rules {
        let mut rules = self.detect;
        rules.patterns.reported_rounds.pause_at.get_or_insert(self.compat.pause_at);
        rules
    }
}

/// The resident process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServeConfig {
    /// Address of the page, the proxy and the HTTP API. An address that other machines can reach requires `serve.tls`.
    pub listen: ListenAddr,
    /// Serve HTTP. The Unix socket is always available.
    pub http: bool,
    /// Exit after this long without work.
    pub idle_exit: DurationSetting,
    /// How often to check sessions for stalls.
    pub tick: DurationSetting,
    /// TLS, for an address that other machines can reach.
    pub tls: ServeTlsConfig,
}

/// The certificate of the resident process. Loopback addresses are served without TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServeTlsConfig {
    /// File with the certificate and its chain (PEM); empty for none.
    pub cert: String,
    /// File with the private key of the certificate (PEM); empty for none.
    pub key: String,
    /// Create a self-signed certificate in the state directory. Clients recognise it by its fingerprint.
    pub self_signed: bool,
}

/// Retention of the history: the first limit reached applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionConfig {
    /// Maximum age of an event.
    pub max_age: DurationSetting,
    /// Maximum size of the store.
    pub max_bytes: ByteSize,
}

/// Hooks inside the agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HooksConfig {
    /// A hook starts the resident process if none runs.
    pub autostart: bool,
    /// A resident process started by a hook exits after this long without work.
    pub idle_exit: DurationSetting,
}

/// Answering agents' permission prompts through Belay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalsConfig {
    /// Offer permission prompts to `belay approvals` and the dashboard before the agent's terminal asks.
    pub enabled: bool,
    /// How long a prompt is offered; then the agent's terminal asks. At most nine minutes, and less than the agent waits
    /// for its hook.
    pub wait: DurationSetting,
}

/// Notifications on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyConfig {
    /// Desktop notifications for incidents.
    pub desktop: bool,
}

/// Incidents posted to a URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// URL that receives incidents; empty to disable.
    pub url: String,
    /// Format of the body.
    pub format: WebhookFormat,
    /// File that holds the signing secret (`whsec_...`); empty for unsigned, unless BELAY_WEBHOOK_SECRET is set.
    pub secret_file: String,
}

/// Format of a webhook's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookFormat {
    /// Belay's own, with Standard Webhooks headers.
    Belay,
    /// The format of heartbeat's webhook.
    Heartbeat,
}

/// The log files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// Verbosity.
    pub level: LogLevel,
    /// A log file is rotated when it exceeds this size.
    pub max_bytes: ByteSize,
    /// Number of rotated files to keep.
    pub max_files: u16,
}

/// Verbosity of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}
