//! The environment of driven agents.
//!
//! Work is filed from a shell whose PATH, toolchains and logins the resident process does not have, so that its
//! environment is captured and stored with the work, readable only by the user. It never reaches the log, the API or
//! an artifact: the type has no `Display`, and its `Debug` shows names only.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use belay_fs::{FileMode, Links};

/// Environment variables of driven work.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

/// A larger stored environment is not read. The kernel's own limit is far lower.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Variables of the process that starts work and of nobody else.
const OWN_VARIABLES: &[&str] = &["BELAY_SESSION", "BELAY_HOME", "BELAY_WEBHOOK_SECRET", "_", "SHLVL", "OLDPWD", "PWD"];

impl Environment {
    /// Captures variables, without those of an agent's session: an agent that files work is not part of it.
    pub fn capture(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let nested: Vec<&str> = belay_agents::AGENTS
            .iter()
            .flat_map(|agent| agent.session_env.into_iter().chain(agent.nested_env.iter().copied()))
            .collect();
        let is_own =
            |name: &OsString| name.to_str().is_some_and(|name| OWN_VARIABLES.contains(&name) || nested.contains(&name));
        Self(variables.into_iter().filter(|(name, _)| !is_own(name)).collect())
    }

    /// Adds variables, which replace others of the same name.
    #[must_use]
    pub fn with(mut self, variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>) -> Self {
        self.0.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    pub fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(std::ffi::OsStr::new(name))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter()
    }

    /// The variables, for a program that gets exactly these.
    pub fn variables(&self) -> Option<Vec<(OsString, OsString)>> {
        Some(self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Stores the variables in a file that only the user can read.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (name, value) in &self.0 {
            // As in /proc/PID/environ: neither part can contain a zero byte.
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(b'=');
            bytes.extend_from_slice(value.as_bytes());
            bytes.push(0);
        }
        belay_fs::replace_file(path, &bytes, FileMode::Private)
    }

    pub fn load(path: &Path) -> io::Result<Self> {
        let bytes = belay_fs::read_regular(path, Links::Refuse, MAX_BYTES)?;
        let pairs = bytes.split(|byte| *byte == 0).filter_map(|pair| {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (&pair[..equals], &pair[equals + 1..]);
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        });
        Ok(Self(pairs.collect()))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pairs: &[(&str, &str)]) -> Environment {
        Environment::capture(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    #[test]
    fn variables_of_an_agents_session_are_left_out() {
        let env = captured(&[("PATH", "/bin"), ("CLAUDECODE", "1"), ("CODEX_THREAD_ID", "7"), ("BELAY_SESSION", "x")]);
        assert_eq!(env, captured(&[("PATH", "/bin")]));
    }

    #[test]
    fn a_stored_environment_is_read_back_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("env");
        let env = captured(&[("PATH", "/bin"), ("EMPTY", ""), ("LINES", "a\nb=c")]);
        env.save(&path).unwrap();
        assert_eq!(Environment::load(&path).unwrap(), env);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn values_are_never_printed() {
        assert_eq!(format!("{:?}", captured(&[("API_KEY", "hunter2")])), r#"{"API_KEY"}"#);
    }
}
