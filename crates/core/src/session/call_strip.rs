//! The calls of a whole session in at most [`MAX_BUCKETS`] buckets.
//!
//! When the buckets are full, neighbours merge and their width doubles: the cost of a call does not grow with the
//! session.

use serde::{Deserialize, Serialize};

/// Maximum number of buckets.
pub const MAX_BUCKETS: usize = 128;

/// A summary of all calls of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallStrip {
    /// Calls per bucket, as a power of two.
    width_log2: u32,
    buckets: Vec<CallBucket>,
    /// Calls before this ordinal are already counted as part of a finding.
    counted_in_findings: u64,
}

/// Consecutive calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u32)", into = "(u32, u32, u32)")]
pub struct CallBucket {
    pub calls: u32,
    /// Calls whose pair of action and outcome was new.
    pub new: u32,
    /// Calls that belong to a finding.
    pub in_finding: u32,
}

impl From<(u32, u32, u32)> for CallBucket {
    fn from((calls, new, in_finding): (u32, u32, u32)) -> Self {
        Self { calls, new, in_finding }
    }
}

impl From<CallBucket> for (u32, u32, u32) {
    fn from(CallBucket { calls, new, in_finding }: CallBucket) -> Self {
        (calls, new, in_finding)
    }
}

impl CallBucket {
    fn merge(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            new: self.new.saturating_add(other.new),
            in_finding: self.in_finding.saturating_add(other.in_finding),
        }
    }
}

impl CallStrip {
    pub fn buckets(&self) -> &[CallBucket] {
        &self.buckets
    }

    /// Number of calls that a bucket stands for.
    pub fn bucket_calls(&self) -> u64 {
        1 << self.width_log2
    }

    /// Number of different pairs of action and outcome so far.
    pub fn distinct(&self) -> u64 {
        self.buckets.iter().map(|bucket| u64::from(bucket.new)).sum()
    }

    pub(super) fn record_call(&mut self, ordinal: u64) {
        let bucket = self.bucket(ordinal);
        bucket.calls = bucket.calls.saturating_add(1);
    }

    pub(super) fn record_new(&mut self, ordinal: u64) {
        let bucket = self.bucket(ordinal);
        bucket.new = bucket.new.saturating_add(1);
    }

    /// Counts the calls of a finding's evidence, oldest first. A finding that grows counts each call once.
    pub(crate) fn record_finding(&mut self, evidence: impl Iterator<Item = u64>) {
        for ordinal in evidence {
            if ordinal >= self.counted_in_findings {
                self.counted_in_findings = ordinal + 1;
                let bucket = self.bucket(ordinal);
                bucket.in_finding = bucket.in_finding.saturating_add(1);
            }
        }
    }

    fn bucket(&mut self, ordinal: u64) -> &mut CallBucket {
        // Ordinals of a session are consecutive, so this merges once per doubling.
        while ordinal >> self.width_log2 >= MAX_BUCKETS as u64 && self.width_log2 < 63 {
            self.buckets = self
                .buckets
                .chunks(2)
                .map(|pair| pair.iter().fold(CallBucket::default(), |sum, bucket| sum.merge(*bucket)))
                .collect();
            self.width_log2 += 1;
        }
        let at = usize::try_from(ordinal >> self.width_log2).unwrap_or(MAX_BUCKETS - 1).min(MAX_BUCKETS - 1);
        if self.buckets.len() <= at {
            self.buckets.resize(at + 1, CallBucket::default());
        }
        &mut self.buckets[at]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn buckets_are_bounded_and_lose_no_call(calls in 0_u64..3000, new_every in 1_u64..7) {
            let mut strip = CallStrip::default();
            for ordinal in 0..calls {
                strip.record_call(ordinal);
                if ordinal % new_every == 0 {
                    strip.record_new(ordinal);
                }
            }
            prop_assert!(strip.buckets().len() <= MAX_BUCKETS);
            let sum: u64 = strip.buckets().iter().map(|bucket| u64::from(bucket.calls)).sum();
            prop_assert_eq!(sum, calls);
            prop_assert_eq!(strip.distinct(), calls.div_ceil(new_every));
            prop_assert!(strip.buckets().iter().all(|bucket| u64::from(bucket.calls) <= strip.bucket_calls()));
        }
    }

    #[test]
    fn a_finding_that_grows_counts_each_call_once() {
        let mut strip = CallStrip::default();
        (0..10).for_each(|ordinal| strip.record_call(ordinal));
        strip.record_finding([4, 5, 6].into_iter());
        strip.record_finding([4, 5, 6, 7].into_iter());
        let in_finding: u32 = strip.buckets().iter().map(|bucket| bucket.in_finding).sum();
        assert_eq!(in_finding, 4);
    }
}
