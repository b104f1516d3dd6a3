//! The typed configuration. Defaults are in `default.toml`; the comments here are what
//! `belay config explain` and the JSON Schema say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use belay_core::Rules;

use crate::proxy_model::{CompatConfig, ProxyConfig};
use crate::units::{ByteSize, DurationSetting, LoopbackAddr};

/// Belay's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The resident process.
    pub serve: ServeConfig,
    /// How long history is kept.
    pub store: RetentionConfig,
    /// Hooks inside the agents.
    pub hooks: HooksConfig,
    /// The relay between agents and models.
    pub proxy: ProxyConfig,
    /// Clients of the tools Belay takes over from.
    pub compat: CompatConfig,
    /// Telling a person at this machine.
    pub notify: NotifyConfig,
    /// Telling another program.
    pub webhook: WebhookConfig,
    /// The log files.
    pub log: LogConfig,
    /// Detection: thresholds, ladder, budgets, allow-lists, custom patterns.
    pub detect: Rules,
}

/// The resident process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServeConfig {
    /// Address of the page and the HTTP API; loopback only.
    pub listen: LoopbackAddr,
    /// Answer HTTP at all; the Unix socket is always there.
    pub http: bool,
    /// Leave after this long without anything to do.
    pub idle_exit: DurationSetting,
    /// How often sessions that may stall are looked at.
    pub tick: DurationSetting,
}

/// How long history is kept: whichever bound is reached first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionConfig {
    /// Oldest events kept.
    pub keep_for: DurationSetting,
    /// Largest size of the store.
    pub keep_bytes: ByteSize,
}

/// Hooks inside the agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HooksConfig {
    /// A hook that finds no resident process starts one.
    pub autostart: bool,
    /// One that a hook has started leaves after this long without anything to do.
    pub idle_exit: DurationSetting,
}

/// Telling a person at this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyConfig {
    /// Desktop notifications for incidents.
    pub desktop: bool,
}

/// Telling another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// Where incidents are posted; empty for nowhere.
    pub url: String,
    /// Shape of the body.
    pub format: WebhookFormat,
    /// File that holds the signing secret (`whsec_...`); empty for unsigned, unless BELAY_WEBHOOK_SECRET is set.
    pub secret_file: String,
}

/// Shape of a webhook's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookFormat {
    /// Belay's own, with Standard Webhooks headers.
    Belay,
    /// The shape of heartbeat's webhook.
    Heartbeat,
}

/// The log files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// How much is written.
    pub level: LogLevel,
    /// A log file that grows beyond this is put aside and a new one begun.
    pub max_bytes: ByteSize,
    /// How many files are kept.
    pub keep_files: u16,
}

/// How much is written to the log.
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
