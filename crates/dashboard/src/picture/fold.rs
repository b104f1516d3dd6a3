//! Folding: of many equal rounds, two at each end are drawn, the rest is one line of words.

use std::time::Duration;

use belay_ipc::views::{CallView, Round};

use crate::words;

/// Equal rounds up to this number are all drawn.
const MAX_EQUAL_ROUNDS: usize = 6;

/// Rounds that are drawn before and after a fold.
const KEPT_ROUNDS: usize = 2;

/// Calls that are not drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) calls: u64,
    /// Rounds of the finding among them; 0 if the calls are simply not part of the window.
    pub(crate) rounds: u64,
    pub(crate) time: Duration,
    pub(crate) cost_micros: u64,
}

impl Fold {
    /// "2,480 rounds alike", "6 h 12 min, $214.30"
    pub(crate) fn words(&self) -> [String; 2] {
        let count = match self.rounds {
            0 => format!("{} left out", words::pluralize(self.calls, "call")),
            1 => "1 round alike".to_owned(),
            rounds => format!("{} rounds alike", words::grouped(rounds)),
        };
        [count, format!("{}, {}", words::duration(self.time), words::dollars(self.cost_micros))]
    }

    /// The calls between two that are drawn.
    pub(crate) fn between(before: &CallView, after: &CallView, hidden: &[CallView], rounds: &[Round]) -> Self {
        let inside = |round: &&Round| round.first > before.call && round.last < after.call;
        let known: u64 = hidden.iter().map(|call| call.cost_micros).sum();
        // Calls that are not in the window are only known by what they added up to.
        let added = after.since_progress_micros.saturating_sub(before.since_progress_micros);
        Self {
            calls: after.call.saturating_sub(before.call).saturating_sub(1),
            rounds: rounds.iter().filter(inside).count() as u64,
            time: after.at.saturating_since(before.at),
            cost_micros: known.max(added),
        }
    }
}

/// Ranges of call numbers that are not drawn.
pub(crate) fn folded_ranges(calls: &[CallView], rounds: &[Round]) -> Vec<(u64, u64)> {
    let (Some(first), Some(last)) = (calls.first(), calls.last()) else { return Vec::new() };
    let visible: Vec<&Round> =
        rounds.iter().filter(|round| round.first >= first.call && round.last <= last.call).collect();
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < visible.len() {
        let shape = pairs(calls, visible[start]);
        // A round that is not in the window was left out by the server, because it is like its neighbours.
        let alike = |round: &&&Round| {
            let pairs = pairs(calls, round);
            pairs.is_empty() || pairs == shape
        };
        let run = visible[start..].iter().take_while(alike).count().max(1);
        if run > MAX_EQUAL_ROUNDS {
            let from = visible[start + KEPT_ROUNDS].first;
            let to = visible[start + run - 1 - KEPT_ROUNDS].last;
            ranges.push((from, to));
        }
        start += run;
    }
    ranges
}

fn pairs<'a>(calls: &'a [CallView], round: &Round) -> Vec<&'a str> {
    calls.iter().filter(|call| (round.first..=round.last).contains(&call.call)).map(|call| call.pair.as_str()).collect()
}
