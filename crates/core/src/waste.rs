//! An estimate of the waste that a hold avoided.

use std::time::Duration;

use crate::effect::Spend;
use crate::time::Timestamp;

/// A loop would hardly have run longer than this without anybody noticing.
const MAX_AVOIDED: Duration = Duration::from_secs(60 * 60);

/// The part of a hold that counts, from `since` on: its first hour, so that a hold that is forgotten does not count anew
/// every day.
pub fn counted_hold(opened_at: Timestamp, closed_at: Timestamp, since: Timestamp) -> Duration {
    closed_at.min(opened_at + MAX_AVOIDED).saturating_since(opened_at.max(since))
}

/// What a loop would have cost while it was held: its own burn rate times the time held, for at most one hour, and at
/// most what was left of the budget. In millionths of a US dollar.
pub fn avoided_micros(spent_in_loop: &Spend, held: Duration, budget_left_micros: Option<u64>) -> u64 {
    if spent_in_loop.millis == 0 {
        return 0;
    }
    let held = u64::try_from(held.min(MAX_AVOIDED).as_millis()).unwrap_or(u64::MAX);
    let micros = u128::from(spent_in_loop.max_cost_micros()) * u128::from(held) / u128::from(spent_in_loop.millis);
    u64::try_from(micros).unwrap_or(u64::MAX).min(budget_left_micros.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(cost_micros: u64, minutes: u64) -> Spend {
        Spend { cost_micros, millis: minutes * 60_000, ..Spend::default() }
    }

    #[test]
    fn a_loop_goes_on_at_its_own_rate_for_at_most_an_hour_and_the_budget() {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        let a_dollar_in_ten_minutes = spent(1_000_000, 10);
        assert_eq!(avoided_micros(&a_dollar_in_ten_minutes, minutes(20), None), 2_000_000);
        assert_eq!(avoided_micros(&a_dollar_in_ten_minutes, minutes(24 * 60), None), 6_000_000);
        assert_eq!(avoided_micros(&a_dollar_in_ten_minutes, minutes(20), Some(500_000)), 500_000);
        assert_eq!(avoided_micros(&spent(1_000_000, 0), minutes(20), None), 0, "no rate is known");
        let assumed = Spend { unpriced_micros: 1_000_000, ..spent(0, 10) };
        assert_eq!(avoided_micros(&assumed, minutes(10), None), 1_000_000, "an assumed price counts");
    }

    #[test]
    fn only_the_first_hour_of_a_hold_counts() {
        let at = |hour: i64| Timestamp::from_millis(hour * 3_600_000);
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        assert_eq!(counted_hold(at(10), at(30), at(0)), hours(1));
        assert_eq!(counted_hold(at(10), at(60), at(24)), hours(0), "it counted yesterday");
        let late = Timestamp::from_millis(at(24).millis() - 1_800_000);
        assert_eq!(counted_hold(late, at(30), at(24)), Duration::from_secs(1800));
    }
}
