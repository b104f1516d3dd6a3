//! Starting an agent on the rope: for one run, and without touching its configuration.
//!
//! A [`Recipe`] turns what the user typed into what is started: arguments and environment that point
//! the agent's model requests at the proxy and its hooks at `belay hook`, and nothing that outlives
//! the run. Where the user has pointed the agent at a model API of their own, the recipe says so, and
//! the proxy relays to that one: a key never goes anywhere but where it would have gone.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use belay_core::SessionKey;
use serde_json::{Value, json};

use crate::table::UserDirs;

/// What a run is given.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Where the proxy is (`http://127.0.0.1:8787`); `None` when it stays out of this run.
    pub proxy: Option<&'a str>,
    /// Minted for this run, a UUID.
    pub run: &'a str,
    /// The program hooks call; `None` when hooks stay out of this run.
    pub belay: Option<&'a Path>,
    /// The user's home and environment.
    pub user: &'a UserDirs,
    /// What the user typed after the agent's name.
    pub args: &'a [OsString],
    /// A folder of this run's own, readable by the user only.
    pub scratch: &'a Path,
}

/// What is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
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
pub trait Recipe: Sync {
    /// Id of the agent.
    fn agent(&self) -> &'static str;

    fn launch(&self, setting: &Setting<'_>) -> Launch;
}

/// Every recipe there is.
static RECIPES: &[&dyn Recipe] = &[
    &crate::claude_code::launch::Start,
    &crate::codex::launch::Start,
    &crate::copilot::launch::Start,
    &crate::gemini::launch::Start,
    &crate::opencode::launch::Start,
    &crate::qwen::launch::Start,
];

/// What is started for a command, by the agent's id or alias or as any other command.
pub fn launch(agent: Option<&str>, setting: &Setting<'_>) -> Launch {
    match agent.and_then(|agent| RECIPES.iter().find(|recipe| recipe.agent() == agent)) {
        Some(recipe) => recipe.launch(setting),
        None => any_command(agent.unwrap_or("unknown"), setting),
    }
}

/// A command we know nothing about: the variables that most programs take a base URL from.
fn any_command(agent: &str, setting: &Setting<'_>) -> Launch {
    let key = SessionKey::new(agent, setting.run);
    let mut launch = Launch { args: setting.args.to_vec(), session: Some(key.clone()), ..Launch::default() };
    for (variable, upstream, below) in [
        ("OPENAI_BASE_URL", "openai", "/v1"),
        ("OPENAI_API_BASE", "openai", "/v1"),
        ("ANTHROPIC_BASE_URL", "anthropic", ""),
        ("ANTHROPIC_API_BASE", "anthropic", ""),
        ("GOOGLE_GEMINI_BASE_URL", "gemini", ""),
        ("OPENROUTER_API_BASE", "openrouter", "/v1"),
    ] {
        launch.point(setting, &key, variable, upstream, below);
    }
    launch
}

impl Setting<'_> {
    /// The user's own value of a variable.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
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

    /// The base URL under which this run reaches an upstream.
    pub(crate) fn base(&self, key: &SessionKey, upstream: &str) -> Option<String> {
        self.proxy.map(|proxy| format!("{}/s/{}/{upstream}", proxy.trim_end_matches('/'), segment(&key.to_string())))
    }

    /// The command line of a hook, for agents that run it by a shell.
    pub(crate) fn hook(&self, agent: &str) -> Option<String> {
        self.belay.map(|belay| format!("{} hook {agent}", quoted(&belay.display().to_string())))
    }
}

impl Launch {
    /// Points a variable at an upstream. One that the user has set already names the upstream.
    pub(crate) fn point(
        &mut self,
        setting: &Setting<'_>,
        key: &SessionKey,
        variable: &str,
        upstream: &str,
        below: &str,
    ) {
        let own = setting.var(variable);
        let Some(base) = setting.base(key, upstream) else { return };
        match own {
            Some(own) => {
                self.upstream(upstream, &own);
                self.env.push((variable.to_owned(), base));
            }
            None => self.env.push((variable.to_owned(), format!("{base}{below}"))),
        }
    }

    /// A model API of the user's own choice.
    pub(crate) fn upstream(&mut self, name: &str, url: &str) {
        if !self.upstreams.iter().any(|(known, _)| known == name) {
            self.upstreams.push((name.to_owned(), url.to_owned()));
        }
    }

    pub(crate) fn set(&mut self, variable: &str, value: impl Into<String>) {
        self.env.push((variable.to_owned(), value.into()));
    }

    pub(crate) fn arg(&mut self, arg: impl AsRef<OsStr>) {
        self.args.push(arg.as_ref().to_owned());
    }
}

/// Hooks in Claude's shape: `{"PreToolUse": [{"hooks": [{"type": "command", ...}]}], ...}`.
pub(crate) fn claude_hooks(events: &[&str], command: &str, timeout: u64) -> Value {
    let hook = json!([{ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] }]);
    Value::Object(events.iter().map(|event| ((*event).to_owned(), hook.clone())).collect())
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
