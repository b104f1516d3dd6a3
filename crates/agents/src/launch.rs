//! Starting an agent on the rope: for one run, and without touching its configuration.
//!
//! A [`Recipe`] turns what the user typed into what is started: arguments and environment that point
//! the agent's model requests at the proxy and its hooks at `belay hook`, and nothing that outlives
//! the run. Where the user has pointed the agent at a model API of their own, the recipe says so, and
//! the proxy relays to that one: a key never goes anywhere but where it would have gone.

mod dotenv;
mod proxy_nesting;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use belay_core::SessionKey;
use serde_json::{Value, json};

use crate::install::jsonc_edit::JsoncDocument;
use crate::registry::UserDirs;

/// What a run is given.
#[derive(Debug)]
pub struct LaunchContext<'a> {
    /// Where the proxy is (`http://127.0.0.1:8787`); `None` when it stays out of this run.
    pub proxy: Option<&'a str>,
    /// Canonical id of the agent; the command's own name where it is none we know.
    pub agent: &'a str,
    /// Minted for this run, a UUID.
    pub run: &'a str,
    /// The program hooks call; `None` when hooks stay out of this run.
    pub belay: Option<&'a Path>,
    /// The user's home and environment.
    pub user: &'a UserDirs,
    /// What the user typed after the agent's name.
    pub args: &'a [OsString],
    /// Where the agent works.
    pub folder: &'a Path,
    /// A folder of this run's own, readable by the user only.
    pub scratch: &'a Path,
}

/// What is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchCommand {
    /// All arguments, the user's among them.
    pub args: Vec<OsString>,
    /// Variables that are set.
    pub env: Vec<(String, String)>,
    /// Files to be written first.
    pub files: Vec<(PathBuf, String)>,
    /// The session, where its id is known before it starts.
    pub session: Option<SessionKey>,
    /// Model APIs the user had chosen for this agent: name and base URL.
    pub upstreams: Vec<(String, String)>,
    /// What the person should know.
    pub notes: Vec<String>,
}

/// How one agent is started.
pub trait Launcher: Sync + fmt::Debug {
    fn build_launch(&self, setting: &LaunchContext<'_>) -> LaunchCommand;
}

/// What is started, by the agent's recipe or as any other command.
pub fn launch(setting: &LaunchContext<'_>) -> LaunchCommand {
    let mut launch = match crate::registry::find(setting.agent).and_then(|agent| agent.launch) {
        Some(launcher) => launcher.build_launch(setting),
        None => any_command(setting),
    };
    launch.export_upstreams(setting);
    launch.exempt_from_forward_proxy(setting);
    launch
}

/// A command we know nothing about: the variables that most programs take a base URL from.
fn any_command(setting: &LaunchContext<'_>) -> LaunchCommand {
    let mut launch =
        LaunchCommand { args: setting.args.to_vec(), session: Some(setting.run_key()), ..LaunchCommand::default() };
    for (variable, upstream, below) in [
        ("OPENAI_BASE_URL", "openai", "/v1"),
        ("OPENAI_API_BASE", "openai", "/v1"),
        ("ANTHROPIC_BASE_URL", "anthropic", ""),
        ("ANTHROPIC_API_BASE", "anthropic", ""),
        ("GOOGLE_GEMINI_BASE_URL", "gemini", ""),
        ("OPENROUTER_API_BASE", "openrouter", "/v1"),
    ] {
        launch.set_base_url(setting, variable, upstream, below);
    }
    launch
}

impl LaunchContext<'_> {
    /// The user's own value of a variable.
    pub(crate) fn env_var(&self, name: &str) -> Option<String> {
        (self.user.lookup)(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
    }

    /// Whether the user passes one of these flags, alone or with a value.
    pub(crate) fn has_flag(&self, flags: &[&str]) -> bool {
        self.args.iter().filter_map(|arg| arg.to_str()).any(|arg| {
            flags.iter().any(|flag| arg == *flag || arg.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
        })
    }

    /// The value of a flag, as `--flag value` or `--flag=value`.
    pub(crate) fn flag_value(&self, flag: &str) -> Option<&str> {
        let mut args = self.args.iter().filter_map(|arg| arg.to_str());
        while let Some(arg) = args.next() {
            if arg == flag {
                return args.next();
            }
            if let Some(value) = arg.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
                return Some(value);
            }
        }
        None
    }

    /// The session the user names, new or taken up again: a flag's value that is an id, not a number in
    /// a list or a word such as `latest`.
    pub(crate) fn named_session(&self, flags: &[&str]) -> Option<&str> {
        let is_id = |id: &&str| id.len() == 36 && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
        flags.iter().find_map(|flag| self.flag_value(flag).filter(is_id))
    }

    /// The work tree the agent works in, or the folder itself.
    pub(crate) fn project(&self) -> &Path {
        self.folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(self.folder)
    }

    /// What the run goes by: in base URLs, and in the environment its hooks inherit.
    pub fn run_key(&self) -> SessionKey {
        SessionKey::new(self.agent, self.run)
    }

    /// The base URL under which this run reaches an upstream.
    pub(crate) fn proxy_url(&self, upstream: &str) -> Option<String> {
        let key = segment(&self.run_key().to_string());
        self.proxy.map(|proxy| format!("{}/s/{key}/{upstream}", proxy.trim_end_matches('/')))
    }

    /// The command line of a hook, for agents that run it by a shell.
    pub(crate) fn hook_command(&self, agent: &str) -> Option<String> {
        self.belay.map(|belay| format!("{} hook {agent}", quoted(&belay.display().to_string())))
    }
}

impl LaunchCommand {
    /// Points a variable at an upstream. One that the user has set already names the upstream.
    pub(crate) fn set_base_url(&mut self, setting: &LaunchContext<'_>, variable: &str, upstream: &str, below: &str) {
        let own = setting.user_base_url(variable);
        let Some(base) = setting.proxy_url(upstream) else { return };
        match own {
            Some(own) => {
                self.add_upstream(upstream, &own);
                self.env.push((variable.to_owned(), base));
            }
            None => self.env.push((variable.to_owned(), format!("{base}{below}"))),
        }
    }

    /// A model API of the user's own choice.
    pub(crate) fn add_upstream(&mut self, name: &str, url: &str) {
        if !self.upstreams.iter().any(|(known, _)| known == name) {
            self.upstreams.push((name.to_owned(), url.to_owned()));
        }
    }

    /// Settings for all users in a file of this run, with hooks added to whatever they hold already: the
    /// one layer that stands beside the user's own and leaves it untouched.
    pub(crate) fn with_system_settings(&mut self, setting: &LaunchContext<'_>, place: &SystemSettings, hooks: Value) {
        let own = setting.env_var(place.variable).unwrap_or_else(|| place.file.to_owned());
        let text = std::fs::read_to_string(own).unwrap_or_default();
        let settings = serde_json::from_str(&text).ok().filter(Value::is_object);
        let mut settings = settings.unwrap_or_else(|| json!({}));
        add_hooks(&mut settings, &hooks);
        let path = setting.scratch.join("settings.json");
        self.set_env(place.variable, path.display().to_string());
        self.files.push((path, settings.to_string()));
    }

    pub(crate) fn set_env(&mut self, variable: &str, value: impl Into<String>) {
        self.env.push((variable.to_owned(), value.into()));
    }

    pub(crate) fn arg(&mut self, arg: impl AsRef<OsStr>) {
        self.args.push(arg.as_ref().to_owned());
    }
}

/// Where an agent reads settings for all users.
pub(crate) struct SystemSettings {
    /// Names the file.
    pub(crate) variable: &'static str,
    /// The file without it.
    pub(crate) file: &'static str,
}

/// Hooks in Claude's shape, from names and timeouts: `{"PreToolUse": [{"hooks": [{"type": "command", ...}]}], ...}`.
pub(crate) fn claude_hooks(events: impl Iterator<Item = (&'static str, u64)>, command: &str) -> Value {
    let hook = |timeout: u64| json!([{ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] }]);
    Value::Object(events.map(|(event, timeout)| (event.to_owned(), hook(timeout))).collect())
}

/// A file of settings, with comments and all.
pub(crate) fn read_json(file: &Path) -> Option<Value> {
    JsoncDocument::new(&std::fs::read_to_string(file).ok()?).ok()?.get(&[])
}

/// Adds hooks in Claude's shape to those that settings hold already.
pub(crate) fn add_hooks(settings: &mut Value, hooks: &Value) {
    for (event, added) in hooks.as_object().into_iter().flatten() {
        match (settings["hooks"][event].as_array_mut(), added.as_array()) {
            (Some(list), Some(added)) => list.extend_from_slice(added),
            _ => settings["hooks"][event] = added.clone(),
        }
    }
}

/// A text as one segment of a path.
fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
