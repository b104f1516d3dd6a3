//! The configuration with the origin of each value, and edits of the user's file.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use belay_config::{ConfigKey, Edit, LoadedConfig, Loader, Source, Strictness};
use belay_core::redact::redact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::blocking;
use super::super::error::ApiError;
use super::super::signed_request::SignedJson;
use super::ApiResult;
use crate::state::DaemonState;

/// The effective configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConfigView {
    /// The file that edits go to.
    pub(crate) file: String,
    pub(crate) values: Vec<ConfigValueView>,
    /// What is wrong with it.
    pub(crate) problems: Vec<String>,
}

/// One value. Secrets are masked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConfigValueView {
    pub(crate) key: String,
    pub(crate) value: Value,
    /// The value in TOML.
    pub(crate) text: String,
    /// built-in, user, project, environment or flag.
    pub(crate) layer: String,
    /// The file or variable.
    pub(crate) origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
}

pub(in super::super) async fn config(State(daemon): State<Arc<DaemonState>>) -> ApiResult {
    let view = blocking(&daemon, view).await?;
    Ok(Json(view).into_response())
}

pub(crate) fn load(daemon: &DaemonState) -> Result<LoadedConfig, ApiError> {
    let source = &daemon.config;
    let loaded = Loader::new(&source.paths, &source.env).strictness(Strictness::Lenient).load();
    loaded.map_err(|error| ApiError::bad_request(error.to_string()))
}

pub(crate) fn view(daemon: &DaemonState) -> Result<ConfigView, ApiError> {
    let loaded = load(daemon)?;
    let values = loaded.entries().into_iter().map(|entry| ConfigValueView {
        key: entry.key.to_string(),
        value: masked(serde_json::to_value(&entry.value).unwrap_or_default()),
        text: redact(&entry.value.to_string()).into_owned(),
        layer: entry.source.as_str().to_owned(),
        origin: entry.source.to_string(),
        line: entry.position.map(|position| position.line),
    });
    Ok(ConfigView {
        file: daemon.config.paths.config_file().display().to_string(),
        values: values.collect(),
        problems: daemon.config.problems(),
    })
}

/// A value with secrets redacted.
fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(masked).collect(),
        Value::Object(map) => map.into_iter().map(|(name, value)| (name, masked(value))).collect(),
        other => other,
    }
}

/// A new value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetValueBody {
    /// The value as `belay config set` takes it; null removes it from the file.
    pub(crate) value: Option<String>,
}

pub(in super::super) async fn set(
    State(daemon): State<Arc<DaemonState>>,
    Path(key): Path<String>,
    SignedJson { body: SetValueBody { value }, .. }: SignedJson<SetValueBody>,
) -> ApiResult {
    let view = blocking(&daemon, move |daemon| {
        write(daemon, &key, value.as_deref())?;
        view(daemon)
    });
    Ok(Json(view.await?).into_response())
}

/// Sets or removes a value in the user's file, with the same writer as `belay config set`.
pub(crate) fn write(daemon: &DaemonState, key: &str, value: Option<&str>) -> Result<(), ApiError> {
    let parsed = ConfigKey::parse(key)
        .ok_or_else(|| ApiError::bad_request(format!("invalid key `{key}`; use the form section.name")))?;
    let file = daemon.config.paths.config_file().to_path_buf();
    let failed = |error: belay_config::EditError| ApiError::bad_request(error.to_string());
    let mut edit = Edit::open(&file, Source::User(file.clone())).map_err(failed)?;
    match value {
        Some(value) => edit.set(&parsed, value).map_err(failed)?,
        None => drop(edit.unset(&parsed)),
    }
    edit.save().map_err(failed)
}
