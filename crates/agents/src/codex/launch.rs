//! Launches Codex. Command-line overrides are a separate configuration layer, and hooks in it are trusted by the hash
//! of their command.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;

use super::ID;
use super::hook::{EVENTS, status_message};
use super::install::trust;
use crate::launch::{LaunchCommand, LaunchContext, Launcher};

/// Builds the launch command.
#[derive(Debug)]
pub(crate) struct CodexLauncher;

/// The parts of the user's configuration that determine the upstream.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CodexConfig {
    model_provider: Option<String>,
    openai_base_url: Option<String>,
    model_providers: std::collections::BTreeMap<String, CodexProvider>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CodexProvider {
    base_url: Option<String>,
}

impl Launcher for CodexLauncher {
    fn build_launch(&self, context: &LaunchContext<'_>) -> LaunchCommand {
        let mut launch = LaunchCommand::default();
        let mut typed = context.args.to_vec();
        if context.proxy.is_some() {
            route_through_proxy(context, &mut launch, &mut typed);
        }
        if let Some(command) = context.hook_command(ID) {
            hooks(&command, &mut launch);
        }
        // Overrides may precede the subcommand; the user's own follow and take precedence.
        launch.args.extend(typed);
        launch
    }
}

/// Points Codex at the proxy. The user's own override of the base URL is removed, because the proxy has it now.
fn route_through_proxy(context: &LaunchContext<'_>, launch: &mut LaunchCommand, args: &mut Vec<OsString>) {
    let config = config(context);
    let overrides = overrides(context);
    let typed = |name: &str| overrides.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let provider = typed("model_provider").or(config.model_provider).unwrap_or_else(|| "openai".to_owned());
    let mut set = |name: &str, base: String| {
        remove_override(args, name);
        launch.arg("-c");
        launch.arg(format!("{name}={}", json!(base)));
    };
    if provider == "openai" {
        let own = typed("openai_base_url").or(config.openai_base_url).or_else(|| context.env_var("OPENAI_BASE_URL"));
        let own = own.and_then(|own| context.resolve_nested(own));
        // Without a custom provider, the login type (subscription or key) determines the upstream.
        let upstream = if own.is_some() { "openai" } else { "codex" };
        if let Some(base) = context.proxy_url(upstream) {
            set("openai_base_url", base);
        }
        if let Some(own) = own {
            launch.add_upstream("openai", &own);
        }
        return;
    }
    let name = format!("model_providers.{provider}.base_url");
    let own = typed(&name).or_else(|| config.model_providers.get(&provider)?.base_url.clone());
    match (own, context.proxy_url(&provider)) {
        (Some(own), Some(base)) => {
            set(&name, base);
            launch.add_upstream(&provider, &own);
        }
        _ => launch.note_bypass(format!("Codex's configuration has no base URL for the provider `{provider}`")),
    }
}

/// The user's configuration, as far as it is readable; a selected profile takes precedence.
fn config(context: &LaunchContext<'_>) -> CodexConfig {
    let home: PathBuf = context.env_var("CODEX_HOME").map_or_else(|| context.user.home.join(".codex"), Into::into);
    let read = |file: &str| -> CodexConfig {
        toml::from_str(&std::fs::read_to_string(home.join(file)).unwrap_or_default()).unwrap_or_default()
    };
    let mut config = read("config.toml");
    if let Some(profile) = context.flag_value("--profile").or_else(|| context.flag_value("-p")) {
        let profile = read(&format!("{profile}.config.toml"));
        config.model_provider = profile.model_provider.or(config.model_provider);
        config.openai_base_url = profile.openai_base_url.or(config.openai_base_url);
        config.model_providers.extend(profile.model_providers);
    }
    config
}

/// Removes an override from the arguments.
fn remove_override(args: &mut Vec<OsString>, name: &str) {
    let is_it = |pair: &str| pair.split_once('=').is_some_and(|(known, _)| known.trim() == name);
    let mut at = 0;
    while at < args.len() {
        let next = args.get(at + 1).and_then(|arg| arg.to_str());
        let width = match args[at].to_str() {
            Some("-c" | "--config") if next.is_some_and(is_it) => 2,
            Some(arg) if arg.strip_prefix("--config=").is_some_and(is_it) => 1,
            _ => 0,
        };
        drop(args.drain(at..at + width));
        at += usize::from(width == 0);
    }
}

/// The user's overrides on the command line.
fn overrides(context: &LaunchContext<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut args = context.args.iter().filter_map(|arg| arg.to_str());
    while let Some(arg) = args.next() {
        let pair = match arg {
            "-c" | "--config" => args.next(),
            other => other.strip_prefix("--config="),
        };
        if let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) {
            found.push((name.trim().to_owned(), value.trim().trim_matches(['"', '\'']).to_owned()));
        }
    }
    found
}

fn hooks(command: &str, launch: &mut LaunchCommand) {
    let mut trusted = Vec::new();
    for event in EVENTS {
        let (quoted, name, timeout) = (json!(command), trust::event_key(event.name), event.timeout.as_secs());
        launch.arg("-c");
        let status = status_message(event);
        let shown = status.map_or_else(String::new, |status| format!(",statusMessage={}", json!(status)));
        launch.arg(format!(
            "hooks.{}=[{{hooks=[{{type=\"command\",command={quoted},timeout={timeout}{shown}}}]}}]",
            event.name
        ));
        let hash = trust::hash(&name, command, timeout, status);
        trusted.push(format!("\"/<session-flags>/config.toml:{name}:0:0\"={{trusted_hash=\"{hash}\"}}"));
    }
    launch.arg("-c");
    launch.arg(format!("hooks.state={{{}}}", trusted.join(",")));
}
