//! Tokens and money: prices, budgets, the clock of progress.

use super::evidence::occasion;
use super::{Budget, Session};
use crate::detect::Trigger;
use crate::effect::{Effect, Spent};
use crate::event::{Event, ModelAnswered, Usage};
use crate::rules::Rules;

impl Session {
    /// Books what an answer cost; the table fills in what the sensor does not know.
    pub(super) fn spend(
        &mut self,
        event: &Event,
        model: Option<&str>,
        usage: Option<&Usage>,
        told: Option<u64>,
        rules: &Rules,
    ) {
        let named = model.or(self.facts.model.as_deref()).map(str::to_owned);
        let cost = self.meter.take(named.as_deref(), usage, told, event.at, &rules.prices);
        for spent in [&mut self.spent, &mut self.clock.since] {
            if let Some(usage) = usage {
                spent.usage.add(usage);
            }
            spent.cost_micros = spent.cost_micros.saturating_add(cost);
        }
    }

    /// How full the window is, after a real turn.
    pub(super) fn fill(&mut self, answer: &ModelAnswered, rules: &Rules) {
        if let Some(usage) = answer.usage.filter(|_| !answer.auxiliary) {
            let named = answer.model.as_deref().or(self.facts.model.as_deref()).map(str::to_owned);
            self.meter.filled(named.as_deref(), &usage, &rules.prices);
        }
    }

    pub(super) fn look_at_spending(&mut self, event: &Event, rules: &Rules, effects: &mut Vec<Effect>) {
        if event.at.is_known() && self.clock.at.is_known() {
            self.clock.since.millis = u64::try_from(event.at.since(self.clock.at).as_millis()).unwrap_or(u64::MAX);
        }
        self.limits = limits(&self.budget, rules);
        self.examine(occasion(Trigger::Spent, self.newest(), event), rules, effects);
    }

    /// Sub-agents spent something: it counts here too.
    pub(super) fn spent_beneath(&mut self, event: &Event, beneath: &Spent, rules: &Rules, effects: &mut Vec<Effect>) {
        let tokens = beneath.usage.total().saturating_sub(self.beneath.usage.total());
        let cost = beneath.cost_micros.saturating_sub(self.beneath.cost_micros);
        self.meter.book(tokens, cost, event.at);
        self.beneath = *beneath;
        self.look_at_spending(event, rules, effects);
    }

    /// Whether there is a budget that what sub-agents cost could use up.
    pub fn has_budget(&self, rules: &Rules) -> bool {
        limits(&self.budget, rules).iter().any(|limit| *limit > 0)
    }

    /// What may still be spent before a budget is used up; `None` where there is no such limit.
    pub fn left(&self) -> Budget {
        let used = self.used();
        let left = |at: usize| (self.limits[at] > 0).then(|| self.limits[at].saturating_sub(used[at]));
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Budget { tokens: least(left(0), left(2)), cost_micros: least(left(1), left(3)) }
    }

    /// What counts against each limit.
    fn used(&self) -> [u64; 5] {
        let (day_tokens, day_cost) = self.meter.today();
        let tokens = self.spent.usage.total().saturating_add(self.beneath.usage.total());
        let cost = self.spent.cost_micros.saturating_add(self.beneath.cost_micros);
        [tokens, cost, day_tokens, day_cost, self.meter.per_minute()]
    }

    /// The budget that is used up most: percent of it, and its name.
    pub(crate) fn budget_use(&self) -> Option<(u32, &'static str)> {
        let used = self.used();
        let percent = |(at, limit): (usize, &u64)| {
            (*limit > 0).then(|| (u32::try_from(used[at].saturating_mul(100) / limit).unwrap_or(u32::MAX), NAMES[at]))
        };
        self.limits.iter().enumerate().filter_map(percent).max_by_key(|(percent, _)| *percent)
    }
}

const NAMES: [&str; 5] = [
    "session's token budget",
    "session's money budget",
    "day's token budget",
    "day's money budget",
    "limit of money per minute",
];

/// Limits in the order of [`NAMES`]; 0 for none. What an operator set wins.
fn limits(own: &Budget, rules: &Rules) -> [u64; 5] {
    let micros = |usd: f64| (usd.max(0.0) * 1e6) as u64;
    let budget = &rules.budget;
    [
        own.tokens.unwrap_or(budget.session_tokens),
        own.cost_micros.unwrap_or_else(|| micros(budget.session_usd)),
        budget.day_tokens,
        micros(budget.day_usd),
        micros(budget.usd_per_minute),
    ]
}
