//! Launches opencode: configuration in the environment overrides the user's files, and a directory of this run contains
//! the plugin that calls our hooks.

use serde_json::{Map, Value, json};

use super::install::plugin;
use crate::install::BelayCommand;
use crate::launch::{LaunchCommand, LaunchContext, Launcher, read_json};

/// Builds the launch command.
#[derive(Debug)]
pub(crate) struct OpencodeLauncher;

/// opencode's names of the known APIs, and the path below their base URLs.
const PROVIDERS: &[(&str, &str, &str)] = &[
    ("anthropic", "anthropic", "/v1"),
    ("openai", "openai", "/v1"),
    ("google", "gemini", "/v1beta"),
    ("openrouter", "openrouter", "/v1"),
];

impl Launcher for OpencodeLauncher {
    fn build_launch(&self, context: &LaunchContext<'_>) -> LaunchCommand {
        let mut launch = LaunchCommand { args: context.args.to_vec(), ..LaunchCommand::default() };
        if context.proxy.is_some() {
            let config = providers(context, &mut launch);
            launch.set_env("OPENCODE_CONFIG_CONTENT", config.to_string());
        }
        if let Some(belay) = context.belay {
            hooks(context, belay, &mut launch);
        }
        launch
    }
}

/// An additional configuration directory with our plugin.
fn hooks(context: &LaunchContext<'_>, belay: &BelayCommand, launch: &mut LaunchCommand) {
    const CONFIG_CONTENT_VAR: &str = "OPENCODE_CONFIG_DIR";
    if context.env_var(CONFIG_CONTENT_VAR).is_some() {
        let note = format!(
            "{CONFIG_CONTENT_VAR} is set, so hooks cannot be added for one run; install them with `belay init`"
        );
        return launch.notes.push(note);
    }
    let dir = context.scratch.join("opencode");
    let mut source = plugin(belay);
    // opencode also waits for a package in the user's directory. Its commands must not inherit the npm settings.
    for (variable, value) in [("npm_config_fetch_retries", "0"), ("npm_config_fetch_timeout", "10000")] {
        if context.env_var(variable).is_none() {
            launch.set_env(variable, value);
            source.push_str(&format!("\ndelete process.env.{variable};\n"));
        }
    }
    launch.files.push((dir.join("plugin/belay.js"), source));
    // Before it loads a plugin, opencode downloads a package for every configuration directory that lacks it: at every
    // run, and offline that takes minutes. Our plugin does not need it, so the lock files of an installed package are
    // created.
    let installed = json!({ "packages": { "": { "dependencies": { "@opencode-ai/plugin": "*" } } } });
    launch.files.push((dir.join("package-lock.json"), installed.to_string()));
    launch.files.push((dir.join("node_modules/.package-lock.json"), "{}".to_owned()));
    launch.set_env(CONFIG_CONTENT_VAR, dir.display().to_string());
}

/// Base URLs of all providers, including those that the user added.
fn providers(context: &LaunchContext<'_>, launch: &mut LaunchCommand) -> Value {
    let own = context.env_var("OPENCODE_CONFIG_CONTENT").and_then(|text| serde_json::from_str(&text).ok());
    let mut config: Value = own.filter(Value::is_object).unwrap_or_else(|| json!({}));
    let mut bases: Map<String, Value> = Map::new();
    for (provider, upstream, below) in PROVIDERS {
        bases.extend(context.proxy_url(upstream).map(|base| ((*provider).to_owned(), format!("{base}{below}").into())));
    }
    for file in files(context).iter().chain([&config.clone()]) {
        let Some(providers) = file.get("provider").and_then(Value::as_object) else { continue };
        for (provider, definition) in providers {
            let url = definition.pointer("/options/baseURL").and_then(Value::as_str);
            let url = url.map(|url| with_variables(url, context)).and_then(|url| context.resolve_nested(url));
            let Some(url) = url else { continue };
            launch.upstreams.retain(|(name, _)| name != provider);
            launch.add_upstream(provider, &url);
            bases.extend(context.proxy_url(provider).map(|base| (provider.clone(), base.into())));
        }
    }
    for (provider, base) in bases {
        config["provider"][provider]["options"]["baseURL"] = base;
    }
    config
}

/// The user's configuration files, least important first.
fn files(context: &LaunchContext<'_>) -> Vec<Value> {
    let config = context.env_var("XDG_CONFIG_HOME").map_or_else(|| context.user.home.join(".config"), Into::into);
    // From the root of the project down to here: the nearest one wins.
    let project = context.project();
    let inside = context.dir.ancestors().take_while(|dir| dir.starts_with(&project)).collect::<Vec<_>>();
    let inside = inside.iter().rev().flat_map(|dir| [dir.to_path_buf(), dir.join(".opencode")]);
    let dirs = std::iter::once(config.join("opencode")).chain(inside);
    let files = dirs.flat_map(|dir| ["opencode.json", "opencode.jsonc"].map(|name| dir.join(name)));
    let own = context.env_var("OPENCODE_CONFIG").map(std::path::PathBuf::from);
    files.chain(own).filter_map(|file| read_json(&file)).collect()
}

/// `{env:NAME}` as opencode reads it.
fn with_variables(text: &str, context: &LaunchContext<'_>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{env:") {
        let (name, tail) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(&context.env_var(name).unwrap_or_default());
        rest = tail;
    }
    out + rest
}
