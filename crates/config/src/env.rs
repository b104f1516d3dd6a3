//! The environment: a snapshot, and the registry of every variable that Belay reads.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::user_database;

/// A snapshot of the environment. Nothing else reads the process's environment; tests build their own snapshot.
#[derive(Clone, Debug, Default)]
pub struct EnvSnapshot(BTreeMap<String, OsString>);

impl EnvSnapshot {
    pub fn from_process() -> Self {
        let env = Self::raw();
        if env.get("HOME").is_some() { env } else { env.with_home_of_user() }
    }

    fn raw() -> Self {
        Self(std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect())
    }

    /// The environment of a hook belongs to the agent: a repository sets variables there by an agent's settings or by a
    /// `.env` file. Only what neither loosens, redirects nor moves anything is taken from it. Also returns the names of
    /// the variables that a person may expect to have an effect, or that change what a hook does and cannot be refused.
    pub fn for_hook() -> (Self, Vec<String>) {
        let env = Self::raw();
        let suspicious = env.suspicious_in_hook().map(str::to_owned).collect();
        let taken = env.0.into_iter().filter(|(name, _)| HOOK_VARIABLES.contains(&name.as_str())).collect();
        (Self(taken).with_runtime_dir_of_user(), suspicious)
    }

    /// With the home directory of the user database instead of `HOME`. Without an entry there, `HOME` decides.
    #[must_use]
    pub fn with_home_of_user(mut self) -> Self {
        if let Some(home) = user_database::home_dir() {
            self.0.insert("HOME".to_owned(), home.into_os_string());
        }
        self
    }

    /// With the directory that the system made for the user's sockets instead of `XDG_RUNTIME_DIR`.
    #[must_use]
    pub fn with_runtime_dir_of_user(mut self) -> Self {
        match user_database::runtime_dir() {
            Some(dir) => self.0.insert("XDG_RUNTIME_DIR".to_owned(), dir.into_os_string()),
            None => self.0.remove("XDG_RUNTIME_DIR"),
        };
        self
    }

    /// Without the variables that set a configuration key or that hold its secret.
    #[must_use]
    pub fn without_settings(&self) -> Self {
        Self(self.0.clone().into_iter().filter(|(name, _)| !name.starts_with("BELAY_")).collect())
    }

    fn suspicious_in_hook(&self) -> impl Iterator<Item = &str> {
        let is_ignored = |name: &str| name.starts_with("BELAY_") && !HOOK_VARIABLES.contains(&name);
        let names = self.0.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.as_str());
        names.filter(move |name| (is_ignored(name) && !RUN_VARIABLES.contains(name)) || LOADER_VARIABLES.contains(name))
    }

    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// Whether this is an unattended run: `CI` is set.
    pub fn is_ci(&self) -> bool {
        self.text("CI").is_some_and(|ci| !matches!(ci, "0" | "false"))
    }

    /// Names that start with `BELAY_`.
    pub fn belay_variables(&self) -> impl Iterator<Item = &str> {
        self.names("BELAY_")
    }

    /// The first executable file with this name in `PATH`.
    pub fn find_executable(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(self.get("PATH")?)
            .map(|dir| dir.join(name))
            .find(|file| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok())
    }

    /// Every variable, for programs that Belay starts.
    pub fn iter(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.0.iter().map(|(name, value)| (name.into(), value.clone()))
    }

    /// Names that start with `prefix`.
    pub fn names(&self, prefix: &'static str) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(move |name| name.starts_with(prefix))
    }
}

impl<K: Into<String>, V: Into<OsString>> FromIterator<(K, V)> for EnvSnapshot {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// What a hook takes from its environment.
const HOOK_VARIABLES: &[&str] =
    &["BELAY_SESSION", "BELAY_HOOK_TIMEOUT", "CI", "PATH", "LANG", "LC_ALL", "USER", "LOGNAME"];

/// What `belay run` sets for the agent's own commands.
const RUN_VARIABLES: &[&str] = &["BELAY_HOME", "BELAY_UPSTREAMS"];

/// Variables that load code into every program, also into a hook.
const LOADER_VARIABLES: &[&str] = &["LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"];

/// An environment variable.
#[derive(Debug)]
pub struct Variable {
    pub name: &'static str,
    /// The configuration key that it sets, if any.
    pub key: Option<&'static str>,
    /// Its effect, in one sentence.
    pub what: &'static str,
    /// An example value.
    pub example: &'static str,
}

/// Every environment variable that Belay reads. `docs/reference/environment.md` is generated from this table.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "BELAY_HOME",
        key: None,
        what: "Directory for both state and user configuration. Same as `--home`.",
        example: "/srv/belay",
    },
    Variable {
        name: "BELAY_LISTEN",
        key: Some("serve.listen"),
        what: "Address of the page, the proxy and the HTTP API.",
        example: "127.0.0.1:9000",
    },
    Variable {
        name: "BELAY_HTTP",
        key: Some("serve.http"),
        what: "Whether the resident process serves HTTP.",
        example: "false",
    },
    Variable {
        name: "BELAY_IDLE_EXIT",
        key: Some("serve.idle_exit"),
        what: "The resident process exits after this long without work.",
        example: "30m",
    },
    Variable {
        name: "BELAY_HOOK_TIMEOUT",
        key: None,
        what: "How long a hook waits for the resident process before it decides in-process. Default 50ms, maximum 5s.",
        example: "200ms",
    },
    Variable {
        name: "BELAY_DRY_RUN",
        key: Some("detect.dry_run"),
        what: "Record interventions without carrying them out.",
        example: "true",
    },
    Variable {
        name: "BELAY_LOG",
        key: Some("log.level"),
        what: "Log level: error, warn, info, debug or trace.",
        example: "debug",
    },
    Variable {
        name: "BELAY_WEBHOOK_URL",
        key: Some("webhook.url"),
        what: "URL that receives incidents.",
        example: "https://hooks.example.com/belay",
    },
    Variable {
        name: "BELAY_WEBHOOK_SECRET",
        key: None,
        what: "Secret that signs webhooks. Takes precedence over `webhook.secret_file`.",
        example: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    },
    Variable {
        name: "CI",
        key: None,
        what: "Any value except `0` and `false` marks an unattended run: no desktop notifications, and hooks write `belay-result.json`.",
        example: "true",
    },
    Variable {
        name: "SSL_CERT_FILE",
        key: None,
        what: "Certificates to trust for webhooks over HTTPS, instead of the system's.",
        example: "/etc/ssl/own-ca.pem",
    },
    Variable {
        name: "BELAY_SESSION",
        key: None,
        what: "Set by `belay run` and `belay exec` for the agent: the key of the run. It ties the agent's hooks and requests to one session.",
        example: "qwen:0190d1e0-7c1e-7d3a-b8f2-0a1b2c3d4e5f",
    },
    Variable {
        name: "BELAY_UPSTREAMS",
        key: None,
        what: "Set by `belay run` for the agent: the model APIs that the user had configured. A nested run uses them.",
        example: r#"{"anthropic":"https://llm.example.com"}"#,
    },
    Variable {
        name: "HOME",
        key: None,
        what: "The user's home directory. The search for a project file stops there.",
        example: "/home/user",
    },
    Variable {
        name: "XDG_STATE_HOME",
        key: None,
        what: "Base directory of the state directory `belay` (default `~/.local/state`).",
        example: "/home/user/.local/state",
    },
    Variable {
        name: "XDG_CONFIG_HOME",
        key: None,
        what: "Base directory of `belay/config.toml` (default `~/.config`).",
        example: "/home/user/.config",
    },
    Variable {
        name: "XDG_RUNTIME_DIR",
        key: None,
        what: "Holds the socket if its path in the state directory would be too long.",
        example: "/run/user/1000",
    },
    Variable {
        name: "NO_COLOR",
        key: None,
        what: "Any value disables colours. `CLICOLOR_FORCE=1` forces them.",
        example: "1",
    },
];

/// The reference page.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Environment variables\n\n\
         A variable that sets a configuration key overrides the user's and the project's file; `--set KEY=VALUE`\n\
         overrides the variable. An empty variable counts as unset. Hooks take no setting from their environment, which\n\
         belongs to the agent. This page is generated from the registry in\n\
         `crates/config/src/env.rs`.\n\n\
         | variable | key | effect | example |\n|---|---|---|---|\n",
    );
    for Variable { name, key, what, example } in VARIABLES {
        let key = key.map_or_else(String::new, |key| format!("`{key}`"));
        page.push_str(&format!("| `{name}` | {key} | {what} | `{example}` |\n"));
    }
    page
}
