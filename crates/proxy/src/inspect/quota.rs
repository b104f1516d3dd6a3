//! What the headers of a response say about the quota of an account.

use std::time::Duration;

use belay_agents::quota::{ReportedQuota, window_name};
use belay_core::Timestamp;

/// Prefixes of headers that report limits.
const PREFIXES: &[&str] = &["anthropic-ratelimit-", "x-ratelimit-", "x-codex-"];

/// Whether a header reports a limit.
pub(crate) fn is_limit_header(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)))
}

/// The quotas that headers report, read at `now`.
pub(crate) fn read_quotas(headers: &[(String, String)], now: Timestamp) -> Vec<ReportedQuota> {
    let headers = LimitHeaders(headers);
    let mut quotas = Vec::new();
    for (window, limit) in [("5h", "5 hours"), ("7d", "week"), ("7d_opus", "week, Opus"), ("7d_sonnet", "week, Sonnet")]
    {
        let name = |what: &str| format!("anthropic-ratelimit-unified-{window}-{what}");
        if let Some(used) = headers.number(&name("utilization")) {
            let resets_at = headers.text(&name("reset")).and_then(|text| point_in_time(text, now));
            quotas.push(ReportedQuota::new("Anthropic", limit, used * 100.0, resets_at));
        }
    }
    for (kind, limit) in [
        ("requests", "requests"),
        ("tokens", "tokens"),
        ("input-tokens", "input tokens"),
        ("output-tokens", "output tokens"),
    ] {
        let name = |what: &str| format!("anthropic-ratelimit-{kind}-{what}");
        quotas.extend(headers.remaining("Anthropic", limit, &name("limit"), &name("remaining"), &name("reset"), now));
    }
    for (kind, limit) in [("requests", "requests"), ("tokens", "tokens")] {
        let name = |what: &str| format!("x-ratelimit-{what}-{kind}");
        quotas.extend(headers.remaining("OpenAI", limit, &name("limit"), &name("remaining"), &name("reset"), now));
    }
    for window in ["primary", "secondary"] {
        let name = |what: &str| format!("x-codex-{window}-{what}");
        let Some(used) = headers.number(&name("used-percent")) else { continue };
        let limit = headers
            .number(&name("window-minutes"))
            .map_or_else(|| window.to_owned(), |minutes| window_name(minutes as u64));
        let resets_at = headers.text(&name("reset-at")).and_then(|text| point_in_time(text, now));
        let resets_at = resets_at.or_else(|| Some(now + seconds(headers.number(&name("reset-after-seconds"))?)?));
        quotas.push(ReportedQuota::new("ChatGPT", &limit, used, resets_at));
    }
    quotas
}

/// The headers of a response that report limits.
struct LimitHeaders<'h>(&'h [(String, String)]);

impl<'h> LimitHeaders<'h> {
    fn text(&self, name: &str) -> Option<&'h str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
    }

    /// A quota of which a limit and what remains of it are known.
    fn remaining(
        &self,
        provider: &'static str,
        what: &str,
        limit: &str,
        remaining: &str,
        reset: &str,
        now: Timestamp,
    ) -> Option<ReportedQuota> {
        let (limit, remaining) = (self.number(limit).filter(|limit| *limit > 0.0)?, self.number(remaining)?);
        let resets_at = self.text(reset).and_then(|text| point_in_time(text, now));
        Some(ReportedQuota::new(provider, what, (1.0 - remaining / limit) * 100.0, resets_at))
    }
}

/// Seconds since 1970, a time in RFC 3339, or a duration such as `6m0s` or `120ms`.
fn point_in_time(text: &str, now: Timestamp) -> Option<Timestamp> {
    /// Numbers from here on are seconds since 1970: this is in 2001.
    const FIRST_EPOCH_SECOND: f64 = 1e9;
    match text.parse::<f64>() {
        Ok(number) if number >= FIRST_EPOCH_SECOND => Some(Timestamp::from_millis((number * 1e3) as i64)),
        Ok(number) => Some(now + seconds(number)?),
        Err(_) => Timestamp::parse(text).or_else(|| Some(now + duration(text)?)),
    }
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

/// A duration as OpenAI writes it: `1h2m3.5s`, `120ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let each = match &after[..unit] {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        sum = sum.checked_add(seconds(number.parse::<f64>().ok()? * each)?)?;
        rest = &after[unit..];
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_760_000_000_000;

    fn read(headers: &[(&str, &str)]) -> Vec<(&'static str, String, f32, Option<i64>)> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert!(headers.iter().all(|(name, _)| is_limit_header(name)));
        let quotas = read_quotas(&headers, Timestamp::from_millis(NOW)).into_iter();
        quotas
            .map(|q| (q.provider, q.limit, q.used_percent, q.resets_at.map(|at| (at.millis() - NOW) / 1000)))
            .collect()
    }

    #[test]
    fn each_provider_reports_in_its_own_way() {
        let subscription = read(&[
            ("anthropic-ratelimit-unified-5h-utilization", "0.25"),
            ("anthropic-ratelimit-unified-5h-reset", "1760003600"),
            ("Anthropic-Ratelimit-Unified-7d-Utilization", "0.5"),
        ]);
        assert_eq!(
            subscription,
            [("Anthropic", "5 hours".to_owned(), 25.0, Some(3600)), ("Anthropic", "week".to_owned(), 50.0, None)]
        );
        let key = read(&[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "40"),
            ("anthropic-ratelimit-requests-reset", "2025-10-09T08:53:30Z"),
        ]);
        assert_eq!(key, [("Anthropic", "requests".to_owned(), 20.0, Some(10))]);
        let openai = read(&[
            ("x-ratelimit-limit-tokens", "1000"),
            ("x-ratelimit-remaining-tokens", "250"),
            ("x-ratelimit-reset-tokens", "6m0.5s"),
        ]);
        assert_eq!(openai, [("OpenAI", "tokens".to_owned(), 75.0, Some(360))]);
        let codex = read(&[
            ("x-codex-primary-used-percent", "12.5"),
            ("x-codex-primary-window-minutes", "300"),
            ("x-codex-primary-reset-after-seconds", "60"),
            ("x-codex-secondary-used-percent", "80"),
            ("x-codex-secondary-window-minutes", "10080"),
        ]);
        assert_eq!(
            codex,
            [("ChatGPT", "5 hours".to_owned(), 12.5, Some(60)), ("ChatGPT", "week".to_owned(), 80.0, None)]
        );
    }

    #[test]
    fn hostile_values_are_ignored() {
        assert_eq!(
            read(&[
                ("x-codex-primary-used-percent", "NaN"),
                ("x-ratelimit-limit-tokens", "0"),
                ("x-ratelimit-remaining-tokens", "-1"),
                ("anthropic-ratelimit-unified-5h-utilization", "1e999"),
            ]),
            []
        );
        let odd = read(&[
            ("anthropic-ratelimit-unified-5h-utilization", "7"),
            ("anthropic-ratelimit-unified-5h-reset", "1e300h"),
        ]);
        assert_eq!(odd, [("Anthropic", "5 hours".to_owned(), 100.0, None)]);
        assert!(!is_limit_header("x-codé") && !is_limit_header("content-type"));
    }
}
