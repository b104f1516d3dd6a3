//! The bound on numbers that sensors report.

use super::{Body, Event, OperatorDecision, SharedSpend, TokenCost, Usage};
use crate::effect::Spend;

/// Largest number of tokens, millionths of a dollar, milliseconds, bytes or calls that one event can report. Larger
/// numbers count as this one, so that sums over all events of a store fit into 64 bits.
pub const MAX_AMOUNT: u64 = 1 << 48;

fn bound(amounts: &mut [&mut u64]) {
    for amount in amounts {
        **amount = (**amount).min(MAX_AMOUNT);
    }
}

fn bound_usage(usage: &mut Usage) {
    let Usage { input, output, cache_read, cache_write, cache_write_1h } = usage;
    bound(&mut [input, output, cache_read, cache_write, cache_write_1h]);
}

fn bound_optional(amount: &mut Option<u64>) {
    bound(amount.as_mut().as_mut_slice());
}

fn bound_cost(cost: &mut TokenCost) {
    bound(&mut [&mut cost.tokens, &mut cost.cost_micros]);
}

impl Event {
    /// Limits every number to [`MAX_AMOUNT`].
    pub fn bound_amounts(&mut self) {
        match &mut self.body {
            Body::ToolReturned(returned) => bound_optional(&mut returned.duration_ms),
            Body::Learned(fact) => fact.usage.iter_mut().for_each(bound_usage),
            Body::ModelAsked(asked) => bound_optional(&mut asked.bytes),
            Body::ModelAnswered(answered) => {
                answered.usage.iter_mut().for_each(bound_usage);
                bound_optional(&mut answered.cost_micros);
            }
            Body::Compacted(compacted) => bound_optional(&mut compacted.before),
            Body::SubAgentsSpent(spent) => {
                let Spend { calls, usage, cost_micros, unpriced_micros, millis } = &mut spent.beneath;
                bound_usage(usage);
                bound(&mut [calls, cost_micros, unpriced_micros, millis]);
            }
            Body::SharedSpent(SharedSpend { project, account, .. }) => {
                bound_cost(project);
                bound_cost(account);
            }
            Body::Operator(operator) => match &mut operator.decision {
                OperatorDecision::Resume { cooldown_secs, .. } => bound_optional(cooldown_secs),
                OperatorDecision::Budget(budget) => {
                    bound_optional(&mut budget.tokens);
                    bound_optional(&mut budget.cost_micros);
                }
                _ => {}
            },
            _ => {}
        }
    }
}
