//! The file that keeps limits and quotas over restarts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use belay_fs::{FileMode, Links};
use belay_ipc::views::QuotaView;
use serde::{Deserialize, Serialize};

use super::quotas::KnownQuota;
use super::{AccountId, EndedEarly, Limit, State};

/// A larger file is not ours.
const MAX_BYTES: u64 = 1024 * 1024;

#[derive(Debug)]
pub(super) struct LimitFile {
    path: PathBuf,
    /// Earlier versions kept the quotas in a file of their own.
    old_quotas: PathBuf,
    /// Held while the file is replaced, so that what is older never comes last.
    writing: Mutex<()>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Content {
    Current {
        limits: BTreeMap<AccountId, Limit>,
        quotas: Vec<KnownQuota>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        ended_early: BTreeMap<AccountId, EndedEarly>,
    },
    /// As earlier versions wrote it.
    Limits(BTreeMap<AccountId, Limit>),
}

impl LimitFile {
    pub(super) fn new(state_dir: &Path) -> Self {
        Self {
            path: state_dir.join("limits.json"),
            old_quotas: state_dir.join("quotas.json"),
            writing: Mutex::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self) -> State {
        let limits = match read_json(&self.path) {
            Some(Content::Current { limits, quotas, ended_early }) => {
                return State { limits, ended_early, quotas: quotas.into_iter().collect(), ..State::default() };
            }
            Some(Content::Limits(limits)) => limits,
            None => BTreeMap::new(),
        };
        let quotas: Vec<QuotaView> = read_json(&self.old_quotas).unwrap_or_default();
        State { limits, quotas: quotas.into_iter().map(KnownQuota::from).collect(), ..State::default() }
    }

    /// Replaces the file by what `content` returns, if anything.
    pub(super) fn write(&self, content: impl FnOnce() -> Option<serde_json::Result<Vec<u8>>>) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = content() else { return Ok(()) };
        belay_fs::atomic_write(&self.path, &bytes?, FileMode::Private)?;
        match std::fs::remove_file(&self.old_quotas) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

pub(super) fn encode(state: &State) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Content::Current {
        limits: state.limits.clone(),
        quotas: state.quotas.known().cloned().collect(),
        ended_early: state.ended_early.clone(),
    })
}

fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    let text = belay_fs::read_regular_text(path, Links::Refuse, MAX_BYTES).ok()?;
    serde_json::from_str(&text).ok()
}
