//! Starting an agent under supervision for one run, without changing its configuration.
//!
//! A [`Launcher`] turns the user's command line into a [`LaunchCommand`]: arguments and environment that point the
//! agent's model requests at the proxy and its hooks at `belay hook`. Nothing outlives the run. If the user has
//! configured another model API, the launcher reports it and the proxy relays to it, so a key is never sent to a
//! host that would not have received it without Belay.

mod dotenv;
mod proxy_nesting;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use belay_core::SessionKey;
use belay_fs::Links;
use belay_fs::repository::Repository;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::install::BelayCommand;
use crate::install::jsonc_edit::JsoncDocument;
use crate::registry::UserDirs;

/// The inputs of a launch.
#[derive(Debug)]
pub struct LaunchContext<'a> {
    /// URL of the proxy (`http://127.0.0.1:8787`); `None` if this run does not use it.
    pub proxy: Option<&'a str>,
    /// Canonical id of the agent; for an unknown agent the name of its command.
    pub agent: &'a str,
    /// Id of this run, a UUID.
    pub run: &'a str,
    /// What hooks call; `None` if this run installs no hooks.
    pub belay: Option<&'a BelayCommand>,
    /// The user's home and environment.
    pub user: &'a UserDirs,
    /// The user's arguments after the agent's name.
    pub args: &'a [OsString],
    /// The working directory of the agent.
    pub dir: &'a Path,
    /// A directory for this run, readable only by the user.
    pub scratch: &'a Path,
}

/// The command to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchCommand {
    /// All arguments, including the user's.
    pub args: Vec<OsString>,
    /// Environment variables to set.
    pub env: Vec<(String, String)>,
    /// Files to write before the start.
    pub files: Vec<(PathBuf, String)>,
    /// The session, if its id is known before the start.
    pub session: Option<SessionKey>,
    /// Model APIs that the user has configured for this agent: name and base URL.
    pub upstreams: Vec<(String, String)>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The login or trust dialog that the agent shows before it starts its session, by its own files. Only for agents
    /// that report the start of their session right after it.
    pub dialog: Option<String>,
}

/// How one agent is started.
pub trait Launcher: Sync + fmt::Debug {
    fn build_launch(&self, context: &LaunchContext<'_>) -> LaunchCommand;
}

/// Builds the command with the agent's launcher, or like any other command.
pub fn launch(context: &LaunchContext<'_>) -> LaunchCommand {
    let mut launch = match crate::registry::find(context.agent).and_then(|agent| agent.launch) {
        Some(launcher) => launcher.build_launch(context),
        None => any_command(context),
    };
    launch.export_upstreams(context);
    launch.exempt_from_forward_proxy(context);
    launch
}

/// An unknown command: sets the usual variables for base URLs.
fn any_command(context: &LaunchContext<'_>) -> LaunchCommand {
    let mut launch =
        LaunchCommand { args: context.args.to_vec(), session: Some(context.run_key()), ..LaunchCommand::default() };
    for (upstream, below, variables) in [
        ("openai", "/v1", &["OPENAI_BASE_URL", "OPENAI_API_BASE"][..]),
        ("anthropic", "", &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"]),
        ("gemini", "", &["GOOGLE_GEMINI_BASE_URL"]),
        ("openrouter", "/v1", &["OPENROUTER_API_BASE"]),
    ] {
        launch.set_base_urls(context, variables, upstream, below);
    }
    launch
}

impl LaunchContext<'_> {
    /// The value of a variable in the user's environment.
    pub(crate) fn env_var(&self, name: &str) -> Option<String> {
        (self.user.lookup)(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
    }

    /// Whether the user passes one of these flags, with or without a value.
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

    /// The session that the user names: the value of a flag if it is an id, not an index or a keyword such as
    /// `latest`.
    pub(crate) fn named_session(&self, flags: &[&str]) -> Option<&str> {
        let is_id = |id: &&str| id.len() == 36 && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
        flags.iter().find_map(|flag| self.flag_value(flag).filter(is_id))
    }

    /// The id of the session: the one that the user names by one of `id_flags`, or else `new_id`, which is passed with
    /// `--session-id`. `None` if one of `resume_flags` continues a session whose id is not known.
    pub(crate) fn session_flag(
        &self,
        launch: &mut LaunchCommand,
        id_flags: &[&str],
        resume_flags: &[&str],
        new_id: &str,
    ) -> Option<String> {
        if let Some(id) = self.named_session(id_flags) {
            return Some(id.to_owned());
        }
        if self.has_flag(resume_flags) {
            return None;
        }
        launch.arg("--session-id");
        launch.arg(new_id);
        Some(new_id.to_owned())
    }

    /// The work tree of the agent's directory, or the directory itself.
    pub(crate) fn project(&self) -> PathBuf {
        Repository::find(self.dir).map_or_else(|| self.dir.to_owned(), |repository| repository.root)
    }

    /// The key of the run in base URLs and in the environment of its hooks.
    pub fn run_key(&self) -> SessionKey {
        SessionKey::new(self.agent, self.run)
    }

    /// The base URL of an upstream for this run.
    pub(crate) fn proxy_url(&self, upstream: &str) -> Option<String> {
        let key = self.run_key().to_string();
        let key = utf8_percent_encode(&key, SEGMENT);
        self.proxy.map(|proxy| format!("{}/s/{key}/{upstream}", proxy.trim_end_matches('/')))
    }

    /// The command line of a hook, for agents that run it in a shell.
    pub(crate) fn hook_command(&self, agent: &str) -> Option<String> {
        self.belay.map(|belay| belay.to_fail_open_shell(&format!("hook {agent}")))
    }
}

impl LaunchCommand {
    /// Sets a variable to the proxy's URL of an upstream. The user's own value becomes the upstream.
    pub(crate) fn set_base_url(&mut self, context: &LaunchContext<'_>, variable: &str, upstream: &str, below: &str) {
        let own = context.user_base_url(variable);
        let Some(base) = context.proxy_url(upstream) else { return };
        match own {
            Some(own) => {
                self.add_upstream(upstream, &own);
                self.env.push((variable.to_owned(), base));
            }
            None => self.env.push((variable.to_owned(), format!("{base}{below}"))),
        }
    }

    /// Sets all base-URL variables of one API. If the user has set some of them, only these are set: a program that
    /// prefers another one must not find it.
    fn set_base_urls(&mut self, context: &LaunchContext<'_>, variables: &[&str], upstream: &str, below: &str) {
        let is_set = |variable: &&&str| context.env_var(variable).is_some();
        let own: Vec<&&str> = variables.iter().filter(is_set).collect();
        for variable in if own.is_empty() { variables.iter().collect() } else { own } {
            let url = context.user_base_url(variable);
            let other = self.upstreams.iter().any(|(name, known)| name == upstream && Some(known) != url.as_ref());
            let name = if other { variable.to_ascii_lowercase() } else { upstream.to_owned() };
            self.set_base_url(context, variable, &name, below);
        }
    }

    /// Notes that requests bypass the proxy, and why.
    pub(crate) fn note_bypass(&mut self, reason: impl fmt::Display) {
        self.notes.push(format!("{reason}: requests do not pass the proxy; only hooks observe this run"));
    }

    /// A model API that the user has chosen.
    pub(crate) fn add_upstream(&mut self, name: &str, url: &str) {
        if !self.upstreams.iter().any(|(known, _)| known == name) {
            self.upstreams.push((name.to_owned(), url.to_owned()));
        }
    }

    /// Copies the system-wide settings into a file of this run and adds hooks. This layer leaves the user's own
    /// settings untouched.
    pub(crate) fn with_system_settings(&mut self, context: &LaunchContext<'_>, place: &SystemSettings, hooks: Value) {
        let own = context.env_var(place.variable).unwrap_or_else(|| place.file.to_owned());
        let text = belay_fs::read_regular_text(Path::new(&own), Links::Follow, MAX_SETTINGS_BYTES).unwrap_or_default();
        let settings = serde_json::from_str(&text).ok().filter(Value::is_object);
        let mut settings = settings.unwrap_or_else(|| json!({}));
        add_hooks(&mut settings, &hooks);
        let path = context.scratch.join("settings.json");
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

/// Where an agent reads system-wide settings.
pub(crate) struct SystemSettings {
    /// Variable with the path of the file.
    pub(crate) variable: &'static str,
    /// The default path.
    pub(crate) file: &'static str,
}

/// Hooks in Claude Code's format, from names and timeouts:
/// `{"PreToolUse": [{"hooks": [{"type": "command", ...}]}], ...}`.
pub(crate) fn claude_hooks(events: impl Iterator<Item = (&'static str, u64)>, command: &str) -> Value {
    let hook = |timeout: u64| json!([{ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] }]);
    Value::Object(events.map(|(event, timeout)| (event.to_owned(), hook(timeout))).collect())
}

/// A larger settings file is not read.
const MAX_SETTINGS_BYTES: u64 = 4 * 1024 * 1024;

/// A settings file, which may contain comments.
pub(crate) fn read_json(file: &Path) -> Option<Value> {
    JsoncDocument::new(&belay_fs::read_regular_text(file, Links::Follow, MAX_SETTINGS_BYTES).ok()?).ok()?.get(&[])
}

/// Adds hooks in Claude Code's format to existing settings.
pub(crate) fn add_hooks(settings: &mut Value, hooks: &Value) {
    for (event, added) in hooks.as_object().into_iter().flatten() {
        match (settings["hooks"][event].as_array_mut(), added.as_array()) {
            (Some(list), Some(added)) => list.extend_from_slice(added),
            _ => settings["hooks"][event] = added.clone(),
        }
    }
}

/// Everything but the unreserved characters of a URL and the colon of a session key.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

#[cfg(test)]
mod tests;
