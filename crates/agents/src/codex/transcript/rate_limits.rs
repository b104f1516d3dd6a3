//! The limits of a ChatGPT account: Codex records with each response what its backend says about them.

use std::time::Duration;

use belay_core::Timestamp;
use serde::Deserialize;

use super::record::Line;
use crate::lenient_json::LenientOption;
use crate::quota::{ReportedQuota, window_name};

const PROVIDER: &str = "ChatGPT";

/// `token_count`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenCount {
    rate_limits: LenientOption<RateLimits>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RateLimits {
    primary: LenientOption<Window>,
    secondary: LenientOption<Window>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Window {
    used_percent: LenientOption<f64>,
    window_minutes: LenientOption<u64>,
    /// Seconds since 1970; since version 0.47.
    resets_at: LenientOption<i64>,
    resets_in_seconds: LenientOption<u64>,
}

/// The limits of the newest line that has any.
pub(super) fn newest(tail: &str) -> Option<(Timestamp, Vec<ReportedQuota>)> {
    tail.lines().rev().filter(|line| line.contains("\"rate_limits\"")).find_map(|line| {
        let line: Line<'_> = serde_json::from_str(line).ok()?;
        let count: TokenCount = serde_json::from_str(line.payload?.get()).ok()?;
        let limits = count.rate_limits.0?;
        let at = line.timestamp.0;
        let windows = [("primary", limits.primary.0), ("secondary", limits.secondary.0)];
        let quotas: Vec<_> = windows.into_iter().filter_map(|(name, window)| window?.quota(name, at)).collect();
        (at.is_known() && !quotas.is_empty()).then_some((at, quotas))
    })
}

impl Window {
    fn quota(&self, name: &str, at: Timestamp) -> Option<ReportedQuota> {
        let used = self.used_percent.0.filter(|used| used.is_finite() && *used >= 0.0)?;
        let limit = self.window_minutes.0.map_or_else(|| name.to_owned(), window_name);
        let reset = self.resets_at.0.and_then(|seconds| seconds.checked_mul(1000)).map(Timestamp::from_millis);
        let reset = reset.or_else(|| Some(at + Duration::from_secs(self.resets_in_seconds.0?)));
        Some(ReportedQuota::new(PROVIDER, &limit, used, reset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(limits: &str) -> String {
        format!(
            r#"{{"timestamp":"2026-11-15T18:00:00.000Z","type":"event_msg","payload":{{"type":"token_count","info":null,"rate_limits":{limits}}}}}"#
        )
    }

    fn read(tail: &str) -> Vec<(String, f32, Option<String>)> {
        let quotas = newest(tail).map(|(_, quotas)| quotas).unwrap_or_default();
        quotas
            .into_iter()
            .map(|quota| (quota.limit, quota.used_percent, quota.resets_at.map(|at| at.to_string())))
            .collect()
    }

    #[test]
    fn the_newest_limits_of_either_version_are_read() {
        let old = line(
            r#"{"primary":{"used_percent":12.5,"window_minutes":299,"resets_in_seconds":600},"secondary":{"used_percent":40.0,"window_minutes":10080,"resets_in_seconds":86400}}"#,
        );
        let expected = [
            ("5 hours".to_owned(), 12.5, Some("2026-11-15T18:10:00.000Z".to_owned())),
            ("week".to_owned(), 40.0, Some("2026-11-16T18:00:00.000Z".to_owned())),
        ];
        assert_eq!(read(&old), expected);
        let new = line(
            r#"{"limit_id":"codex","primary":{"used_percent":99,"window_minutes":300,"resets_at":1763230200},"secondary":null}"#,
        );
        let none = line(r#"{"limit_id":"codex","primary":null,"secondary":null}"#);
        let tail = format!("half a line\"rate_limits\"\n{old}\n{new}\n{none}\n");
        assert_eq!(read(&tail), [("5 hours".to_owned(), 99.0, Some("2025-11-15T18:10:00.000Z".to_owned()))]);
    }

    #[test]
    fn what_is_not_a_limit_is_ignored() {
        for limits in ["null", "7", r#"{"primary":{"used_percent":"many"}}"#, r#"{"primary":{"used_percent":-1}}"#] {
            assert_eq!(read(&line(limits)), [], "{limits}");
        }
        assert_eq!(read("{\"rate_limits\""), []);
    }
}
