//! The settings, edited through the same writer as `belay config set`.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use belay_config::{ConfigKey, Entry, LoadedConfig, Source};
use belay_core::redact::redact;
use belay_dashboard::model::{SettingView, SettingsPage, SettingsSection};

use super::super::api::config;
use super::super::blocking;
use super::super::error::ApiError;
use super::super::signed_request::SignedForm;
use super::{FragmentQuery, respond};
use crate::audits;
use crate::state::DaemonState;

pub(super) async fn page(
    State(daemon): State<Arc<DaemonState>>,
    headers: HeaderMap,
    Query(query): Query<FragmentQuery>,
) -> Response {
    respond(&daemon, &headers, query.fragment, |daemon, _| view(daemon)).await
}

pub(super) async fn save(State(daemon): State<Arc<DaemonState>>, form: SignedForm) -> Result<Response, ApiError> {
    let fields = &form.fields;
    let key = fields.get("key").ok_or_else(|| ApiError::bad_request("key: no key is named"))?.to_owned();
    let unset = fields.get("unset").is_some();
    // An empty value is a value of its own, unless nothing was typed over a secret.
    let value = fields.all("value").next().map(str::to_owned);
    if !unset && value.as_deref().is_none_or(|value| value.is_empty() && is_secret(&key)) {
        return Err(ApiError::bad_request(format!("{key}: no value is given")));
    }
    let message = blocking(&daemon, move |daemon| {
        config::write(daemon, &key, value.as_deref().filter(|_| !unset))?;
        Ok(if unset { format!("{key} has its default again.") } else { format!("{key} is saved.") })
    })
    .await?;
    Ok(form.done(&message, "/settings"))
}

fn view(daemon: &DaemonState) -> Result<SettingsPage, ApiError> {
    let loaded = config::load(daemon)?;
    let can_be_tried = audits::settings(&daemon.config)?;
    let mut sections: Vec<SettingsSection> = Vec::new();
    for entry in loaded.entries() {
        let section = section_of(&entry.key);
        if sections.last().is_none_or(|last| last.name != section) {
            let description = ConfigKey::parse(&section).and_then(|key| loaded.explain(&key)?.description);
            let description = description.unwrap_or_default();
            sections.push(SettingsSection { name: section, description, keys: Vec::new() });
        }
        if let Some(last) = sections.last_mut() {
            let mut setting = setting(&loaded, &entry);
            setting.can_be_tried = can_be_tried.iter().any(|(key, _)| *key == setting.key);
            last.keys.push(setting);
        }
    }
    Ok(SettingsPage { sections, file: daemon.config.paths.config_file().display().to_string() })
}

/// The section of a key: everything but its last part.
fn section_of(key: &ConfigKey) -> String {
    let parts = key.parts();
    parts[..parts.len().saturating_sub(1)].join(".")
}

fn setting(loaded: &LoadedConfig, entry: &Entry) -> SettingView {
    let explained = loaded.explain(&entry.key);
    let key = entry.key.to_string();
    let secret = matches!(entry.value, toml::Value::String(_)) && is_secret(&key);
    let value = match &entry.value {
        toml::Value::String(text) => redact(text).into_owned(),
        other => redact(&other.to_string()).into_owned(),
    };
    let fixed = match &entry.source {
        Source::Env(name) => Some(format!("Set by the environment variable {name}.")),
        Source::Flag(flag) => Some(format!("Set by {flag} on the command line.")),
        _ if matches!(entry.value, toml::Value::Array(_) | toml::Value::Table(_)) => {
            Some("Edit it in the file.".to_owned())
        }
        _ => None,
    };
    SettingView {
        description: explained.as_ref().and_then(|explained| explained.description.clone()).unwrap_or_default(),
        choices: match entry.value {
            toml::Value::Boolean(_) => vec!["true".to_owned(), "false".to_owned()],
            _ => explained.map(|explained| explained.choices).unwrap_or_default(),
        },
        value: if secret && !value.is_empty() { "••••••".to_owned() } else { value },
        source: match entry.position {
            Some(position) => format!("{}:{}", entry.source, position.line),
            None => entry.source.to_string(),
        },
        changed: !matches!(entry.source, Source::BuiltIn),
        secret,
        fixed,
        can_be_tried: false,
        key,
    }
}

/// Whether the name of a key says that its value is a secret.
fn is_secret(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    ["secret", "token", "password", "key"].iter().any(|word| last == *word || last.ends_with(&format!("_{word}")))
}
