//! Quotas of accounts, as their providers last reported them: in the headers of responses that pass the proxy, and in the
//! session files of agents.

use std::collections::BTreeMap;
use std::time::Duration;

use belay_agents::quota::ReportedQuota;
use belay_core::{Digest, Timestamp};
use belay_ipc::views::QuotaView;
use serde::{Deserialize, Serialize};

use super::AccountId;

/// Maximum number of quotas; the one reported longest ago is dropped.
pub(super) const MAX_QUOTAS: usize = 64;
/// A quota without a reset time is shown for this long.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// A report of a session file adds nothing to one of the proxy that is at most this much older.
const MAX_LAG: Duration = Duration::from_secs(5 * 60);
/// Digits of a credential's digest that tell it from others.
const CREDENTIAL_DIGITS: usize = 4;
/// A quota that is used up. Providers round.
const USED_UP_PERCENT: f32 = 99.5;

/// The latest quotas, by what people see as the account (the provider and the credential) and by limit.
#[derive(Debug, Default)]
pub(super) struct Quotas(BTreeMap<(String, String), KnownQuota>);

/// A reported quota.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KnownQuota {
    /// Whose runs it limits, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limits: Option<AccountId>,
    #[serde(flatten)]
    view: QuotaView,
}

impl From<QuotaView> for KnownQuota {
    fn from(view: QuotaView) -> Self {
        Self { limits: None, view }
    }
}

impl FromIterator<KnownQuota> for Quotas {
    fn from_iter<I: IntoIterator<Item = KnownQuota>>(known: I) -> Self {
        let key = |known: &KnownQuota| (known.view.account.clone(), known.view.limit.clone());
        Self(known.into_iter().take(MAX_QUOTAS).map(|known| (key(&known), known)).collect())
    }
}

impl Quotas {
    pub(super) fn known(&self) -> impl Iterator<Item = &KnownQuota> {
        self.0.values()
    }

    /// Returns whether something is new.
    pub(super) fn report(
        &mut self,
        account: &AccountId,
        credential: Option<Digest>,
        quotas: Vec<ReportedQuota>,
        at: Timestamp,
    ) -> bool {
        let mut is_new = false;
        for ReportedQuota { provider, limit, used_percent, resets_at } in quotas {
            let name = match credential {
                Some(digest) => format!("{provider} {:.CREDENTIAL_DIGITS$}", digest.to_string()),
                None => provider.to_owned(),
            };
            let key = (name.clone(), limit.clone());
            if self.0.get(&key).is_some_and(|newer| newer.view.reported_at > at) {
                continue;
            }
            let view = QuotaView { account: name, limit, used_percent, resets_at, reported_at: at };
            self.0.insert(key, KnownQuota { limits: Some(account.clone()), view });
            is_new = true;
        }
        while self.0.len() > MAX_QUOTAS {
            let oldest = self.0.iter().min_by_key(|(_, known)| known.view.reported_at).map(|(key, _)| key.clone());
            oldest.map(|key| self.0.remove(&key));
        }
        is_new
    }

    /// When the last of the account's quotas that are used up resets.
    pub(super) fn resets_at(&self, account: &AccountId, now: Timestamp) -> Option<Timestamp> {
        let used_up = self
            .0
            .values()
            .filter(|known| known.limits.as_ref() == Some(account) && known.view.used_percent >= USED_UP_PERCENT);
        used_up.filter_map(|known| known.view.resets_at).filter(|at| *at > now).max()
    }

    /// The quotas that still hold, by account.
    pub(super) fn view(&self, now: Timestamp) -> Vec<QuotaView> {
        let views = || self.0.values().map(|known| &known.view);
        let holds = |quota: &&QuotaView| match quota.resets_at {
            Some(at) => at > now,
            None => now.saturating_since(quota.reported_at) < MAX_AGE,
        };
        // A session file does not name the account. If the proxy knows it, one report is enough. The agent may have left the
        // proxy since.
        let is_repeated = |quota: &QuotaView| {
            let named = format!("{} ", quota.account);
            let mut others = views().filter(|other| other.limit == quota.limit).filter(holds);
            others.any(|other| {
                let lag = quota.reported_at.saturating_since(other.reported_at);
                other.account.starts_with(&named) && lag <= MAX_LAG
            })
        };
        views().filter(holds).filter(|quota| !is_repeated(quota)).cloned().collect()
    }
}
