//! Quotas of accounts, as their providers last reported them. In memory: after a restart, the next response tells.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use belay_core::{Digest, Timestamp};
use belay_ipc::views::QuotaView;
use belay_proxy::ReportedQuota;

use crate::sync::lock;

/// Maximum number of quotas; the one reported longest ago is dropped.
const MAX_QUOTAS: usize = 64;
/// A quota without a reset time is shown for this long.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Digits of an account's digest that tell it from others.
const ACCOUNT_DIGITS: usize = 4;

/// The latest quotas by account and limit.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<BTreeMap<(String, String), QuotaView>>);

impl Quotas {
    pub(crate) fn report(&self, account: Option<Digest>, quotas: Vec<ReportedQuota>, now: Timestamp) {
        let mut known = lock(&self.0);
        for ReportedQuota { provider, limit, used_percent, resets_at } in quotas {
            let account = match account {
                Some(digest) => format!("{provider} {:.ACCOUNT_DIGITS$}", digest.to_string()),
                None => provider.to_owned(),
            };
            let view =
                QuotaView { account: account.clone(), limit: limit.clone(), used_percent, resets_at, reported_at: now };
            known.insert((account, limit), view);
        }
        while known.len() > MAX_QUOTAS {
            let oldest = known.iter().min_by_key(|(_, quota)| quota.reported_at).map(|(key, _)| key.clone());
            oldest.map(|key| known.remove(&key));
        }
    }

    /// The quotas that still hold, by account.
    pub(crate) fn view(&self, now: Timestamp) -> Vec<QuotaView> {
        let holds = |quota: &QuotaView| match quota.resets_at {
            Some(at) => at > now,
            None => now.saturating_since(quota.reported_at) < MAX_AGE,
        };
        lock(&self.0).values().filter(|quota| holds(quota)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(limit: &str, used_percent: f32, resets_at: Option<Timestamp>) -> ReportedQuota {
        ReportedQuota { provider: "Anthropic", limit: limit.to_owned(), used_percent, resets_at }
    }

    #[test]
    fn the_last_report_holds_until_the_reset() {
        let (quotas, now) = (Quotas::default(), Timestamp::from_millis(1_760_000_000_000));
        let later = |seconds: u64| now + Duration::from_secs(seconds);
        quotas.report(None, vec![quota("5 hours", 10.0, Some(later(60))), quota("requests", 5.0, None)], now);
        quotas.report(None, vec![quota("5 hours", 20.0, Some(later(60)))], later(1));
        quotas.report(Some(Digest(7)), vec![quota("5 hours", 90.0, Some(later(600)))], later(2));
        let shown = |at: Timestamp| quotas.view(at).iter().map(|quota| quota.used_percent).collect::<Vec<_>>();
        assert_eq!(shown(later(3)), [20.0, 5.0, 90.0]);
        assert_eq!(shown(later(60)), [5.0, 90.0], "the limit was reset");
        assert_eq!(shown(later(2 * 86_400)), [] as [f32; 0]);
    }

    #[test]
    fn the_number_of_quotas_is_bounded() {
        let quotas = Quotas::default();
        for n in 0..200 {
            let at = Timestamp::from_millis(1_760_000_000_000 + n);
            quotas.report(None, vec![quota(&format!("limit {n}"), 1.0, None)], at);
        }
        let view = quotas.view(Timestamp::from_millis(1_760_000_000_200));
        assert_eq!(view.len(), MAX_QUOTAS);
        assert!(view.iter().any(|quota| quota.limit == "limit 199"));
    }
}
