//! The environment: one snapshot, and the registry of every variable Belay reads.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The environment as it was when we looked. Tests make their own; nothing else reads the process's.
#[derive(Clone, Debug, Default)]
pub struct EnvSnapshot(BTreeMap<String, OsString>);

impl EnvSnapshot {
    pub fn from_process() -> Self {
        Self(std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect())
    }

    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// Names that start with `BELAY_`.
    pub fn belay_variables(&self) -> impl Iterator<Item = &str> {
        self.names("BELAY_")
    }

    /// Names that start so.
    pub fn names(&self, prefix: &'static str) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(move |name| name.starts_with(prefix))
    }
}

impl<K: Into<String>, V: Into<OsString>> FromIterator<(K, V)> for EnvSnapshot {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// One variable.
#[derive(Debug)]
pub struct Variable {
    pub name: &'static str,
    /// The configuration key it sets, if it sets one.
    pub key: Option<&'static str>,
    /// What it does, in one sentence.
    pub what: &'static str,
    /// A value as one would write it.
    pub example: &'static str,
}

/// Every environment variable Belay reads. `docs/reference/environment.md` is made from this table.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "BELAY_HOME",
        key: None,
        what: "One folder for state and user configuration together. Same as `--home`.",
        example: "/srv/belay",
    },
    Variable {
        name: "BELAY_LISTEN",
        key: Some("serve.listen"),
        what: "Address of the page and the HTTP API. Loopback only.",
        example: "127.0.0.1:9000",
    },
    Variable {
        name: "BELAY_HTTP",
        key: Some("serve.http"),
        what: "Whether the resident process answers HTTP at all.",
        example: "false",
    },
    Variable {
        name: "BELAY_IDLE_EXIT",
        key: Some("serve.idle_exit"),
        what: "How long the resident process stays without anything to do.",
        example: "30m",
    },
    Variable {
        name: "BELAY_AUTOSTART",
        key: Some("hooks.autostart"),
        what: "Whether a hook may start the resident process.",
        example: "false",
    },
    Variable {
        name: "BELAY_DRY_RUN",
        key: Some("detect.dry_run"),
        what: "Record what would have been done, and do none of it.",
        example: "true",
    },
    Variable {
        name: "BELAY_LOG",
        key: Some("log.level"),
        what: "How much is written to the log: error, warn, info, debug or trace.",
        example: "debug",
    },
    Variable {
        name: "BELAY_WEBHOOK_URL",
        key: Some("webhook.url"),
        what: "Where incidents are posted.",
        example: "https://hooks.example.com/belay",
    },
    Variable {
        name: "BELAY_WEBHOOK_SECRET",
        key: None,
        what: "The secret that signs webhooks, instead of the file `webhook.secret_file` names.",
        example: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    },
    Variable {
        name: "CI",
        key: None,
        what: "Set to anything but `0` or `false`: nobody sits here, so nothing pops up, and hooks write `belay-result.json`.",
        example: "true",
    },
    Variable {
        name: "SSL_CERT_FILE",
        key: None,
        what: "Certificates to trust when posting to a webhook over https, instead of the system's.",
        example: "/etc/ssl/own-ca.pem",
    },
    Variable {
        name: "BELAY_SESSION",
        key: None,
        what: "Set by `belay run` for the agent: the key of the run, by which its hooks and its requests are one session.",
        example: "qwen:0190d1e0-7c1e-7d3a-b8f2-0a1b2c3d4e5f",
    },
    Variable {
        name: "BELAY_UPSTREAMS",
        key: None,
        what: "Set by `belay run` for the agent: the model APIs the user had chosen, so that a run within the run finds them.",
        example: r#"{"anthropic":"https://llm.example.com"}"#,
    },
    Variable {
        name: "HOME",
        key: None,
        what: "The user's home folder; the search for a project file stops there.",
        example: "/home/user",
    },
    Variable {
        name: "XDG_STATE_HOME",
        key: None,
        what: "State lives in `belay` below it (default `~/.local/state`).",
        example: "/home/user/.local/state",
    },
    Variable {
        name: "XDG_CONFIG_HOME",
        key: None,
        what: "The user's `belay/config.toml` lives below it (default `~/.config`).",
        example: "/home/user/.config",
    },
    Variable {
        name: "XDG_RUNTIME_DIR",
        key: None,
        what: "Holds the socket where the path in the state folder would be too long.",
        example: "/run/user/1000",
    },
    Variable {
        name: "NO_COLOR",
        key: None,
        what: "Set to anything: no colours. `CLICOLOR_FORCE=1` forces them.",
        example: "1",
    },
];

/// The reference page.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Environment variables\n\n\
         A variable that sets a configuration key stands above the user's and the project's file and below\n\
         `--set KEY=VALUE`. An empty variable counts as absent. This page is made from the registry in\n\
         `crates/config/src/env.rs`.\n\n\
         | variable | sets | what it does | example |\n|---|---|---|---|\n",
    );
    for Variable { name, key, what, example } in VARIABLES {
        let key = key.map_or_else(String::new, |key| format!("`{key}`"));
        page.push_str(&format!("| `{name}` | {key} | {what} | `{example}` |\n"));
    }
    page
}
