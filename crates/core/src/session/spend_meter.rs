//! Meters a session: total, daily and per-minute tokens and cost, and the usage of the context window.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::effect::Spend;
use crate::event::Usage;
use crate::time::Timestamp;

/// Minutes over which the speed of spending is measured.
const RATE_WINDOW_MINUTES: i64 = 5;
/// Minutes of spending that are kept for display.
pub const BURN_MINUTES: i64 = 24;
/// For how many calls it is known what had been spent when they were made.
const MAX_CALL_MARKS: usize = 24;
const MINUTE_MILLIS: i64 = 60_000;
const DAY_MILLIS: i64 = 86_400_000;

/// The meter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpendMeter {
    /// Tokens and money by minute, newest last.
    minutes: VecDeque<(i64, u64, u64)>,
    /// Day, tokens, money.
    today: (i64, u64, u64),
    /// What had been spent when the last calls were made: ordinal, tokens by kind, money.
    miles: VecDeque<(u64, [u64; 4], u64)>,
    /// Tokens in the model's window at the latest answer, and how many it takes.
    pub fill: (u64, u64),
    /// The model in use has no price.
    #[serde(default)]
    pub(super) unpriced: bool,
    /// The operator knows that a model has no price.
    #[serde(default)]
    pub(super) unpriced_warned: bool,
}

impl SpendMeter {
    /// A call is made.
    pub(super) fn mark_call(&mut self, call: u64, spent: &Spend) {
        if self.miles.len() == MAX_CALL_MARKS {
            self.miles.pop_front();
        }
        let Usage { input, output, cache_read, cache_write, cache_write_1h: _ } = spent.usage;
        self.miles.push_back((call, [input, output, cache_read, cache_write], spent.cost_micros));
    }

    /// What has been spent since a call was made; at least that, when it was long ago.
    pub fn since(&self, call: u64, spent: &Spend) -> (Usage, u64) {
        let then = self.miles.iter().rev().find(|(made, ..)| *made <= call).or_else(|| self.miles.front());
        let Some((_, [input, output, cache_read, cache_write], cost)) = then.copied() else {
            return (spent.usage, spent.cost_micros);
        };
        // For how long tokens are kept is not remembered per call. It is part of the cost.
        let cache_write_1h = spent.usage.cache_write_1h;
        let before = Usage { input, output, cache_read, cache_write, cache_write_1h };
        (spent.usage.saturating_sub(&before), spent.cost_micros.saturating_sub(cost))
    }

    pub(super) fn add(&mut self, tokens: u64, cost: u64, at: Timestamp) {
        if !at.is_known() {
            return;
        }
        let (minute, day) = (at.millis().div_euclid(MINUTE_MILLIS), at.millis().div_euclid(DAY_MILLIS));
        if self.today.0 != day {
            self.today = (day, 0, 0);
        }
        self.today.1 = self.today.1.saturating_add(tokens);
        self.today.2 = self.today.2.saturating_add(cost);
        match self.minutes.back_mut() {
            Some((newest, many, sum)) if *newest >= minute => {
                *many = many.saturating_add(tokens);
                *sum = sum.saturating_add(cost);
            }
            _ => self.minutes.push_back((minute, tokens, cost)),
        }
        while self.minutes.front().is_some_and(|(oldest, ..)| *oldest <= minute - BURN_MINUTES) {
            self.minutes.pop_front();
        }
    }

    /// The day of the latest answer, and the tokens and money spent on it.
    pub fn today(&self) -> (i64, u64, u64) {
        self.today
    }

    /// Tokens and money per minute over the last minutes.
    pub fn per_minute(&self) -> (u64, u64) {
        let sum = |(tokens, cost): (u64, u64), (_, more, dearer): &(i64, u64, u64)| {
            (tokens.saturating_add(*more), cost.saturating_add(*dearer))
        };
        let newest = self.minutes.back().map_or(0, |(minute, ..)| *minute);
        let recent = self.minutes.iter().filter(|(minute, ..)| *minute > newest - RATE_WINDOW_MINUTES);
        let (tokens, cost) = recent.fold((0, 0), sum);
        (tokens / RATE_WINDOW_MINUTES.unsigned_abs(), cost / RATE_WINDOW_MINUTES.unsigned_abs())
    }

    /// Tokens and money by minute since 1970, oldest first.
    pub fn minutes(&self) -> impl Iterator<Item = (i64, u64, u64)> + '_ {
        self.minutes.iter().copied()
    }

    /// How full the model's window is, in percent; `None` when its size is unknown.
    pub fn context_fill_percent(&self) -> Option<u32> {
        let (tokens, window) = self.fill;
        (window > 0).then(|| u32::try_from(tokens.saturating_mul(100) / window).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_since_a_call_has_no_cache_writes_of_before() {
        let usage = |written: u64| Usage { cache_write: written, cache_write_1h: written, ..Usage::default() };
        let spent = |written: u64| Spend { usage: usage(written), ..Spend::default() };
        let mut meter = SpendMeter::default();
        meter.mark_call(0, &spent(5_000));
        let (since, _) = meter.since(0, &spent(5_100));
        assert_eq!(since.cache_write, 100);
        assert!(since.cache_write_1h <= since.cache_write, "{since:?}");
    }
}
