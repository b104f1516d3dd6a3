//! Usage limits of accounts, kept over restarts.
//!
//! An account that has reached its limit is not asked again before the limit resets: every driven agent of the account
//! waits, not only the one that ran into the limit.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belay_agents::AgentSpec;
use belay_core::Timestamp;
use belay_fs::{FileMode, Links};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;

/// How long a limit lasts if the agent does not say.
const UNKNOWN_LIMIT: Duration = Duration::from_secs(15 * 60);
/// An agent that names a later time is not believed: its clock or ours is wrong.
const MAX_LIMIT: Duration = Duration::from_secs(8 * 24 * 3600);
/// A larger file is not ours.
const MAX_BYTES: u64 = 1024 * 1024;

/// The known limits, in one file.
#[derive(Debug)]
pub struct Limits {
    path: PathBuf,
    by_account: Mutex<BTreeMap<String, Limit>>,
}

/// A limit of one account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    pub until: Timestamp,
    /// The agent's words.
    pub message: String,
}

/// The account of an agent: its login is in the agent's own directory, which a variable may move.
pub fn account(agent: &AgentSpec, env: &Environment) -> String {
    match agent.home_env.and_then(|name| env.get(name)) {
        Some(dir) => format!("{} ({})", agent.id, dir.to_string_lossy()),
        None => agent.id.to_owned(),
    }
}

impl Limits {
    /// Reads the limits of earlier processes. A damaged file counts as empty: the next limit tells again.
    pub fn load(path: PathBuf) -> Self {
        let text = belay_fs::read_regular_text(&path, Links::Refuse, MAX_BYTES).unwrap_or_default();
        let by_account = serde_json::from_str(&text).unwrap_or_default();
        Self { path, by_account: Mutex::new(by_account) }
    }

    /// Records a limit. Returns until when it holds.
    pub fn record(&self, account: &str, until: Option<Timestamp>, message: &str, now: Timestamp) -> Timestamp {
        let until = until.filter(|until| *until > now && *until < now + MAX_LIMIT).unwrap_or(now + UNKNOWN_LIMIT);
        let mut limits = self.lock();
        limits.retain(|_, limit| limit.until > now);
        limits.insert(account.to_owned(), Limit { until, message: message.to_owned() });
        if let Err(error) = save(&self.path, &limits) {
            tracing::warn!(%error, "cannot store usage limits; a restart forgets them");
        }
        until
    }

    /// The limit of an account that holds now.
    pub fn active(&self, account: &str, now: Timestamp) -> Option<Limit> {
        self.lock().get(account).filter(|limit| limit.until > now).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Limit>> {
        self.by_account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn save(path: &Path, limits: &BTreeMap<String, Limit>) -> io::Result<()> {
    belay_fs::replace_file(path, &serde_json::to_vec(limits)?, FileMode::Private)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    #[test]
    fn a_limit_holds_for_its_account_until_it_resets_and_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("limits.json");
        let limits = Limits::load(path.clone());
        assert_eq!(limits.record("codex", Some(at(500)), "weekly limit", at(100)), at(500));
        let limits = Limits::load(path);
        assert_eq!(limits.active("codex", at(499)).unwrap().message, "weekly limit");
        assert_eq!(limits.active("codex", at(500)), None);
        assert_eq!(limits.active("claude-code", at(200)), None);
    }

    #[test]
    fn a_limit_without_a_credible_end_is_retried_after_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits::load(dir.path().join("limits.json"));
        for until in [None, Some(at(50)), Some(at(100_000_000))] {
            assert_eq!(limits.record("codex", until, "", at(100)), at(100 + 900));
        }
    }

    #[test]
    fn a_moved_configuration_directory_is_another_account() {
        let env = Environment::default().with([("CODEX_HOME", "/work/second")]);
        let account = |agent: &str| account(belay_agents::find(agent).unwrap(), &env);
        assert_eq!(account("codex"), "codex (/work/second)");
        assert_eq!(account("claude"), "claude-code");
    }
}
