//! Quotas of accounts, as their providers last reported them: in the headers of responses that pass the proxy, and in the
//! session files of agents. They are kept in a file, so that they are known after a restart.

mod session_files;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use belay_agents::quota::ReportedQuota;
use belay_config::Paths;
use belay_core::{Digest, Timestamp};
use belay_fs::{FileMode, Links};
use belay_ipc::views::QuotaView;

use crate::sync::lock;

pub(crate) use session_files::SessionFileQuotas;

/// Maximum number of quotas; the one reported longest ago is dropped.
const MAX_QUOTAS: usize = 64;
/// A quota without a reset time is shown for this long.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// A report of a session file adds nothing to one of the proxy that is at most this much older.
const MAX_LAG: Duration = Duration::from_secs(5 * 60);
/// Digits of an account's digest that tell it from others.
const ACCOUNT_DIGITS: usize = 4;
/// Maximum size of the file that is read back.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// The latest quotas.
#[derive(Debug)]
pub(crate) struct Quotas {
    file: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By account and limit.
    quotas: BTreeMap<(String, String), QuotaView>,
    /// Something was reported since the file was written.
    is_dirty: bool,
}

impl Quotas {
    /// Reads what was known before the last restart. Without a readable file, the next report tells.
    pub(crate) fn load(paths: &Paths) -> Self {
        let file = paths.state().join("quotas.json");
        let text = belay_fs::read_regular_text(&file, Links::Refuse, MAX_FILE_BYTES).ok();
        let stored: Vec<QuotaView> = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let quotas =
            stored.into_iter().take(MAX_QUOTAS).map(|quota| ((quota.account.clone(), quota.limit.clone()), quota));
        Self { file, known: Mutex::new(Known { quotas: quotas.collect(), is_dirty: false }) }
    }

    /// Writes the file, if there is something new.
    pub(crate) fn save(&self) {
        let bytes = {
            let mut known = lock(&self.known);
            if !std::mem::take(&mut known.is_dirty) {
                return;
            }
            serde_json::to_vec(&known.quotas.values().collect::<Vec<_>>())
        };
        // Without the lock: the proxy reports while a response passes, and must not wait for the disk.
        let written = bytes
            .map_err(std::io::Error::other)
            .and_then(|bytes| belay_fs::atomic_write(&self.file, &bytes, FileMode::Private));
        if let Err(error) = written {
            tracing::warn!(%error, file = %self.file.display(), "cannot store the quotas");
            lock(&self.known).is_dirty = true;
        }
    }

    /// Records what a provider reported `at` a time. An older report does not replace a newer one.
    pub(crate) fn report(&self, account: Option<Digest>, quotas: Vec<ReportedQuota>, at: Timestamp) {
        let mut known = lock(&self.known);
        for ReportedQuota { provider, limit, used_percent, resets_at } in quotas {
            let account = match account {
                Some(digest) => format!("{provider} {:.ACCOUNT_DIGITS$}", digest.to_string()),
                None => provider.to_owned(),
            };
            let key = (account.clone(), limit.clone());
            if known.quotas.get(&key).is_some_and(|newer| newer.reported_at > at) {
                continue;
            }
            known.quotas.insert(key, QuotaView { account, limit, used_percent, resets_at, reported_at: at });
            known.is_dirty = true;
        }
        while known.quotas.len() > MAX_QUOTAS {
            let oldest = known.quotas.iter().min_by_key(|(_, quota)| quota.reported_at).map(|(key, _)| key.clone());
            oldest.map(|key| known.quotas.remove(&key));
        }
    }

    /// The quotas that still hold, by account.
    pub(crate) fn view(&self, now: Timestamp) -> Vec<QuotaView> {
        let known = lock(&self.known);
        let holds = |quota: &QuotaView| match quota.resets_at {
            Some(at) => at > now,
            None => now.saturating_since(quota.reported_at) < MAX_AGE,
        };
        // A session file does not name the account. If the proxy knows it, one report is enough. The agent may have left the
        // proxy since.
        let is_repeated = |quota: &QuotaView| {
            let named = format!("{} ", quota.account);
            let mut others = known.quotas.values().filter(|other| other.limit == quota.limit && holds(other));
            others.any(|other| {
                let lag = quota.reported_at.saturating_since(other.reported_at);
                other.account.starts_with(&named) && lag <= MAX_LAG
            })
        };
        known.quotas.values().filter(|quota| holds(quota) && !is_repeated(quota)).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
