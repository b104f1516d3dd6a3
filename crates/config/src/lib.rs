//! Where Belay keeps its things, and what it was told to do.
//!
//! # Theory of operation
//!
//! [`Paths`] answers "where": the state folder, the user's configuration file, the socket. It is
//! computed once from the environment and from `--home`, and nothing else in Belay builds a path.
//!
//! [`Loader`] answers "what": five layers of TOML, each over the one before it:
//!
//! 1. the built-in document (`default.toml` beside this file, and core's `rules.toml` under `detect`)
//! 2. the user's file
//! 3. the project's `.belay.toml`, found upwards from the working folder
//! 4. `BELAY_*` environment variables ([`env::VARIABLES`])
//! 5. `--set KEY=VALUE` and other flags
//!
//! A layer is a plain table; tables merge key by key, allow-lists, patterns and prices add up, anything
//! else replaces what was below. The
//! merged table becomes a typed [`Config`]. Only when that fails, or when somebody asks where a
//! value comes from, are the files read again with positions: the common case stays quick enough
//! for a hook.
//!
//! # A project file may be hostile
//!
//! It comes with a repository. It may tighten detection and nothing else ([`project_limits`] says for each
//! key which way is tighter); what loosens it counts only once the user trusts that very content
//! ([`trust`]), and what would redirect traffic, alerts or credentials never counts.

pub mod atomic_file;
mod diagnostic;
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
mod rules_by_folder;
mod schema;
mod source_position;
pub mod trust;
mod units;
mod validate;

pub use diagnostic::{ConfigError, Diagnostic, Position};
pub use edit::{Edit, EditError};
pub use env::EnvSnapshot;
pub use explain::{Entry, Explained};
pub use key::ConfigKey;
pub use layer::{Layer, Source};
pub use load::{LoadedConfig, Loader, Strictness, built_in_text};
pub use model::{
    Config, HooksConfig, LogConfig, LogLevel, NotifyConfig, RetentionConfig, ServeConfig, WebhookConfig, WebhookFormat,
};
pub use paths::{PathError, Paths};
pub use project::{PROJECT_FILE, ProjectFile};
pub use proxy_model::{AuthMode, CompatConfig, ProxyConfig, UpstreamConfig};
pub use rules_by_folder::{DiagnosticSink, RulesByFolder};
pub use schema::json_schema;
pub use units::{ByteSize, DurationSetting, LoopbackAddr};
