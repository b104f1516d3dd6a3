//! Paths and layered configuration.
//!
//! # Theory of operation
//!
//! [`Paths`] holds the paths of the state directory, the user's configuration file and the socket. It is computed once
//! from the environment and `--home`; no other code builds these paths.
//!
//! [`Loader`] merges five layers of TOML. Later layers override earlier ones:
//!
//! 1. the built-in document (`default.toml` next to this file, and core's `rules.toml` under `detect`)
//! 2. the user's file
//! 3. the project's `.belay.toml`, searched from the working directory upwards
//! 4. `BELAY_*` environment variables ([`env::VARIABLES`])
//! 5. `--set KEY=VALUE` and other flags
//!
//! Tables merge key by key. Allow-lists, custom patterns and prices are combined. Every other value replaces the one
//! below. The merged table is deserialized into a typed [`Config`]. Positions in files are computed only for errors and
//! for `belay config`, so that loading stays fast enough for a hook.
//!
//! # A project file may be hostile
//!
//! It comes with a repository, so it may only tighten detection ([`project_limits`] defines the tighter direction of each
//! key). Values that loosen detection apply after the user has trusted the exact content ([`trust`]). Values that would
//! redirect traffic, alerts or credentials never apply.

mod diagnostic;
mod drive_model;
mod edit;
pub mod env;
mod explain;
mod key;
mod layer;
mod load;
mod model;
mod paths;
mod project;
pub mod project_limits;
mod proxy_model;
mod rules_by_dir;
mod schema;
mod source_position;
pub mod trust;
mod units;
mod user_database;
mod validate;

pub use diagnostic::{ConfigError, Diagnostic, Position};
pub use drive_model::{AgentConfig, DriveConfig, ReviewConfig};
pub use edit::{Edit, EditError};
pub use env::EnvSnapshot;
pub use explain::{Entry, Explained};
pub use key::ConfigKey;
pub use layer::{Layer, Source};
pub use load::{LoadedConfig, Loader, Strictness, built_in_text};
pub use model::{
    ApprovalsConfig, Config, HooksConfig, LogConfig, LogLevel, NotifyConfig, RetentionConfig, ServeConfig,
    ServeTlsConfig, WebhookConfig, WebhookFormat,
};
pub use paths::{PathArgs, PathError, Paths};
pub use project::{PROJECT_FILE, PROJECT_PROMPTS, ProjectFile};
pub use proxy_model::{AuthMode, CompatConfig, ProxyConfig, UpstreamConfig};
pub use rules_by_dir::{DiagnosticSink, RulesByDir};
pub use schema::json_schema;
pub use units::{ByteSize, DurationSetting, ListenAddr};
